package main

import (
	"context"
	"os"
	"os/signal"
)

// signals gives a context that ends with the first interrupt. A second one calls
// hurry.
func signals(hurry func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 4)
	signal.Notify(got, os.Interrupt)
	go func() {
		for range got {
			again := ctx.Err() != nil
			cancel()
			if hurry != nil && again {
				hurry()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		close(got)
		cancel()
	}
}

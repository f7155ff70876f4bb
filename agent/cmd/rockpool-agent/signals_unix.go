//go:build unix

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals gives a context that ends with the first TERM or INT. A second one, or
// QUIT at any time, calls hurry.
func signals(hurry func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 4)
	signal.Notify(got, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	go func() {
		for sig := range got {
			again := ctx.Err() != nil
			cancel()
			if hurry != nil && (again || sig == syscall.SIGQUIT) {
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

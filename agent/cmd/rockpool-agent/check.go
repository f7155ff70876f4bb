package main

import (
	"fmt"
	"log/slog"

	"rockpool/agent"
)

type checkCommand struct{}

// Run does what a start does before it touches the network.
func (c *checkCommand) Run(d *desk) error {
	cfg, err := d.load()
	if err != nil {
		return err
	}
	ctx, stop := signals(nil)
	defer stop()
	if err := agent.New(cfg, slog.New(slog.DiscardHandler)).Check(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(d.out, "rockpool-agent: configuration is good")
	return err
}

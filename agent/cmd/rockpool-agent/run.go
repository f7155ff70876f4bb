package main

import (
	"context"
	"errors"

	"rockpool/agent"
)

type runCommand struct{}

// Run works as a node until a signal ends it.
func (c *runCommand) Run(d *desk) error {
	cfg, err := d.load()
	if err != nil {
		return err
	}
	a := agent.New(cfg, agent.NewLog(cfg, d.errs))
	ctx, stop := signals(a.Hurry)
	defer stop()
	if err := a.Run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

package main

import (
	"fmt"

	"rockpool/agent"
)

type leaveCommand struct {
	Now bool `help:"End running jobs now; they get their next attempts elsewhere."`
}

// Run takes the node out of its fleet, by the agent that runs or without one.
func (c *leaveCommand) Run(d *desk) error {
	cfg, err := d.look()
	if err != nil {
		return err
	}
	ctx, stop := signals(nil)
	defer stop()
	if err := agent.Leave(ctx, cfg, c.Now); err != nil {
		return err
	}
	_, err = fmt.Fprintln(d.out, "the node has left its fleet; rockpool-agent join brings it back")
	return err
}

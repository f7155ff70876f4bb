package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"rockpool/agent"
)

type doctorCommand struct {
	Idle   time.Duration `default:"15s" help:"How long a connection is left silent, to see whether something cuts it; 0s: not at all."`
	Output string        `short:"o" enum:"text,json" default:"text" placeholder:"text|json" help:"How to print."`
}

// Run looks for what keeps the node from its control plane. It fails when
// something does.
func (c *doctorCommand) Run(d *desk) error {
	cfg, err := d.look()
	if err != nil {
		return err
	}
	ctx, stop := signals(nil)
	defer stop()
	found, err := agent.Doctor(ctx, cfg, c.Idle)
	if err != nil {
		return usageError{err}
	}
	if err := c.print(d, found); err != nil {
		return err
	}
	for _, f := range found {
		if agent.Ill(f) {
			return errors.New(f.Check + " fails: what to do stands behind it")
		}
	}
	return nil
}

func (c *doctorCommand) print(d *desk, found []agent.Finding) error {
	if c.Output == "json" {
		encoder := json.NewEncoder(d.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(found)
	}
	table := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	for _, f := range found {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", f.Verdict, f.Check, f.Text)
	}
	return table.Flush()
}

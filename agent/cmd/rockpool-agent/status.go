package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"rockpool/agent"
)

type statusCommand struct {
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"text|json" help:"How to print."`
}

// statusWait is how long the agent may take to answer.
const statusWait = 10 * time.Second

// Run asks the agent that runs on this machine.
func (c *statusCommand) Run(d *desk) error {
	cfg, err := d.look()
	if err != nil {
		return err
	}
	d.warn(cfg)
	ctx, cancel := context.WithTimeout(context.Background(), statusWait)
	defer cancel()
	status, err := agent.AskStatus(ctx, cfg)
	if err != nil {
		return fmt.Errorf("%w (%s)", err, cfg.StateDir)
	}
	if c.Output == "json" {
		encoder := json.NewEncoder(d.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(status)
	}
	return printStatus(d.out, status, time.Now())
}

func printStatus(to io.Writer, s agent.Status, now time.Time) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { _, _ = fmt.Fprintf(table, "%s\t%v\n", name, value) }
	row("node", orNone(s.Node, "not registered yet"))
	row("server", s.Server)
	row("session", s.Session)
	if r := s.Refusal; r != nil {
		row("refused", fmt.Sprintf("%s for %s: %s", r.Code, now.Sub(r.Since).Round(time.Second), r.Detail))
		if r.Advice != "" {
			row("what to do", r.Advice)
		}
	}
	row("process", agent.Short(s.Process))
	row("machine", orNone(agent.Short(s.Machine), "nothing names it"))
	row("pool", orNone(s.Pool, "none yet"))
	row("epoch", s.Epoch)
	acked := "none yet"
	if s.LastAck != nil {
		acked = fmt.Sprintf("%s ago", now.Sub(*s.LastAck).Round(time.Second))
	}
	row("last acknowledged", acked)
	work := "taken"
	if !s.Accepting {
		work = "not taken: " + s.Reason
	}
	row("new work", work)
	row("slots", fmt.Sprintf("%d of %d used", s.Used, s.Slots))
	row("spooled results", s.Spooled)
	row("backend", s.Backend)
	row("runners", strings.Join(s.Runners, ", "))
	row("isolation", orNone(strings.Join(s.Isolation, ", "), "process groups only"))
	for _, r := range s.Running {
		row("job", fmt.Sprintf("%s attempt %d %s", r.Job, r.Attempt, r.Phase))
	}
	row("version", s.Version)
	return table.Flush()
}

func orNone(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

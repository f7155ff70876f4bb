package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"rockpool/agent"
	"rockpool/shared/wire"
)

type runnerCommand struct {
	Test runnerTestCommand `cmd:"" help:"Run a runner's self-test, and then the runner once as a job would have it."`
}

type runnerTestCommand struct {
	Name   string            `arg:"" help:"Runner's name."`
	Input  map[string]string `mapsep:"none" placeholder:"NAME=FILE" help:"Input. Repeat for more."`
	Param  map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Parameter. Repeat for more."`
	Keep   string            `placeholder:"DIR" type:"existingdir" help:"Folder for the outputs (default: they are dropped)."`
	Output string            `short:"o" enum:"text,json" default:"text" placeholder:"text|json" help:"How to print."`
}

// Run needs no control plane, and disturbs no agent that runs.
func (c *runnerTestCommand) Run(d *desk) error {
	cfg, err := d.load()
	if err != nil {
		return err
	}
	ctx, stop := signals(nil)
	defer stop()
	result, err := agent.TestRunner(ctx, cfg, agent.Trial{Runner: c.Name, Inputs: c.Input, Params: c.Param, Keep: c.Keep})
	if err != nil {
		return err
	}
	if err := c.print(d.out, result); err != nil {
		return err
	}
	if result.Status != wire.ResultSucceeded {
		return fmt.Errorf("runner %s ended %s: %s: %s", c.Name, result.Status, result.Reason, result.Detail)
	}
	return nil
}

// printed is a result for programs.
type printed struct {
	Status   string          `json:"status"`
	Reason   string          `json:"reason,omitempty"`
	Detail   string          `json:"detail,omitempty"`
	ExitCode *int64          `json:"exitCode,omitempty"` // none: no program ran
	RunMs    int64           `json:"runMs"`
	Output   json.RawMessage `json:"output,omitempty"`
	Outputs  []string        `json:"outputs,omitempty"`
	Log      string          `json:"log,omitempty"` // its head
}

func (c *runnerTestCommand) print(to io.Writer, r wire.Result) error {
	p := printed{string(r.Status), r.Reason, r.Detail, r.ExitCode, r.RunMs, r.Output, nil, wire.CleanText(string(r.Head), len(r.Head))}
	for _, out := range r.Outputs {
		p.Outputs = append(p.Outputs, fmt.Sprintf("%s %s %d bytes", out.Name, out.Digest, out.Size))
	}
	if c.Output == "json" {
		encoder := json.NewEncoder(to)
		encoder.SetIndent("", "  ")
		return encoder.Encode(p)
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { _, _ = fmt.Fprintf(table, "%s\t%v\n", name, value) }
	row("status", p.Status)
	if p.ExitCode != nil {
		row("exit code", *p.ExitCode)
	}
	row("took", fmt.Sprintf("%d ms", p.RunMs))
	if len(p.Output) > 0 {
		row("output", string(p.Output))
	}
	for _, out := range p.Outputs {
		row("file", out)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := to.Write(r.Head)
	return err
}

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rockpool/agent"
)

type installCommand struct {
	Path string `default:"${unit}" placeholder:"FILE" help:"Where the unit is written; - only prints it."`
	User string `placeholder:"NAME" help:"Who the agent runs as (default: a user of its own, which exists only while it runs)."`
}

// Run prints the unit and writes it.
func (c *installCommand) Run(d *desk) error {
	text, err := agent.UnitFor(d.file, c.User, d.environ, d.flags)
	if err != nil {
		return usageError{err}
	}
	if _, err := io.WriteString(d.out, text); err != nil || c.Path == "-" {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return fmt.Errorf("--path: %w", err)
	}
	if err := os.WriteFile(c.Path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("--path: %w", err)
	}
	_, err = fmt.Fprintf(d.errs, "written to %s; start it with: systemctl daemon-reload && systemctl enable --now %s\n", c.Path, filepath.Base(c.Path))
	return err
}

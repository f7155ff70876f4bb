package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"rockpool/agent"
)

type runCommand struct{}

// Run works as a node until a signal ends it.
func (c *runCommand) Run(d *desk) error {
	cfg, err := d.load()
	if err != nil {
		return err
	}
	a := agent.New(cfg, newLog(cfg, d.errs))
	ctx, stop := signals(a.Hurry)
	defer stop()
	if err := a.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func newLog(cfg agent.Config, to io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // validated
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

// Command rockpool-agent runs a node: it holds one outbound session with the
// control plane and runs the jobs that its owner allows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"rockpool/agent"
	"rockpool/shared/buildinfo"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 64
)

const usage = `usage: rockpool-agent [run | check | version] [--config FILE] [--SETTING VALUE …]

  run      work as a node (the default)
  check    validate configuration, state directory and runners, and exit
  version  print this build

Settings come from defaults, then the file (--config, ROCKPOOL_AGENT_CONFIG or
` + agent.DefaultConfigFile + `), then ROCKPOOL_AGENT_… variables, then flags:
`

func main() { os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)) }

// run is the program without its process.
func run(args, environ []string, out, errs io.Writer) int {
	command := "run"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	if command == "version" && len(args) == 0 {
		_, _ = fmt.Fprintln(out, "rockpool-agent", buildinfo.Get())
		return exitOK
	}
	if command != "run" && command != "check" {
		_, _ = fmt.Fprintf(errs, "rockpool-agent: unknown command %q: use run, check or version\n", command)
		return exitUsage
	}
	file, flags, err := parseFlags(args, out, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return fail(errs, err, exitUsage)
	}
	cfg, err := agent.LoadConfig(file, environ, flags)
	if err != nil {
		return fail(errs, err, exitUsage)
	}
	if command == "check" {
		return check(cfg, out, errs)
	}
	return work(cfg, errs)
}

func fail(errs io.Writer, err error, code int) int {
	_, _ = fmt.Fprintln(errs, "rockpool-agent:", err)
	return code
}

// parseFlags makes a flag of every setting that the file is not the only place for.
func parseFlags(args []string, out, errs io.Writer) (file string, given map[string]string, err error) {
	given = map[string]string{}
	set := flag.NewFlagSet("rockpool-agent", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&file, "config", "", "settings file (TOML)")
	for _, s := range agent.Settings() {
		if s.FileOnly {
			continue
		}
		take := func(value string) error {
			given[s.Name] = value
			return nil
		}
		name := strings.NewReplacer("_", "-", ".", "-").Replace(s.Name)
		if s.Default == "true" || s.Default == "false" {
			set.BoolFunc(name, s.Help, take)
		} else {
			set.Func(name, s.Help, take)
		}
	}
	err = set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprint(out, usage)
		set.SetOutput(out)
		set.PrintDefaults()
	case err == nil && set.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q: see --help", set.Arg(0))
	}
	return file, given, err
}

func check(cfg agent.Config, out, errs io.Writer) int {
	ctx, stop := signals(nil)
	defer stop()
	if err := agent.New(cfg, slog.New(slog.DiscardHandler)).Check(ctx); err != nil {
		return fail(errs, err, exitError)
	}
	_, _ = fmt.Fprintln(out, "rockpool-agent: configuration is good")
	return exitOK
}

func work(cfg agent.Config, errs io.Writer) int {
	a := agent.New(cfg, newLog(cfg, errs))
	ctx, stop := signals(a.Hurry)
	defer stop()
	if err := a.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fail(errs, err, exitError)
	}
	return exitOK
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

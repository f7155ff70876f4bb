// Command rockpool-agent runs a node: it holds one outbound session with the
// control plane and runs the jobs that its owner allows. Each command has a file
// here; what it does stands in package agent.
//
//go:generate sh -c "go run . docs > ../../../docs/agent-cli.md"
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"rockpool/agent"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 64
)

const description = `A node of an edge fleet.

Settings come from defaults, then the file (--config, ROCKPOOL_AGENT_CONFIG, the user's own folder or ` + agent.DefaultConfigFile + `), then ROCKPOOL_AGENT_… variables, then flags. Exit codes: 0 ok, 1 error, 64 the command line or a setting is wrong.`

// commands is the whole command line.
type commands struct {
	Config       string `placeholder:"FILE" help:"Settings file (TOML)."`
	kong.Plugins        // a flag of every setting that the file is not the only place for

	Run     runCommand     `cmd:"" default:"withargs" help:"Work as a node (the default)."`
	Check   checkCommand   `cmd:"" help:"Validate configuration, state directory and runners, and exit."`
	Join    joinCommand    `cmd:"" help:"Register this machine's node and write its settings."`
	Status  statusCommand  `cmd:"" help:"Show what the agent on this machine does."`
	Install installCommand `cmd:"" help:"Write a systemd unit that runs this node."`
	Doctor  doctorCommand  `cmd:"" help:"Look for what keeps this node from its control plane, and say what to do."`
	Leave   leaveCommand   `cmd:"" help:"Take this machine's node out of its fleet, for good."`
	Runner  runnerCommand  `cmd:"" help:"Try runners."`
	Version versionCommand `cmd:"" help:"Print the version of this program."`
	Docs    docsCommand    `cmd:"" hidden:"" help:"Print the reference of this command line."`
}

func main() { os.Exit(run(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)) }

// desk is what the commands work with.
type desk struct {
	in        io.Reader
	out, errs io.Writer
	environ   []string
	file      string
	flags     map[string]string // settings by name
}

// load reads the configuration.
func (d *desk) load() (agent.Config, error) { return agent.LoadConfig(d.file, d.environ, d.flags) }

// look reads what leads to the agent that runs, whatever else is refused.
func (d *desk) look() (agent.Config, error) { return agent.LookConfig(d.file, d.environ, d.flags) }

// warn says that the agent would not start again.
func (d *desk) warn(cfg agent.Config) {
	if refused := cfg.Refused(); refused != nil {
		_, _ = fmt.Fprintln(d.errs, "rockpool-agent: warning: the agent would not start again:", refused)
	}
}

// usageError is a command line that nobody could carry out.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// run is the program without its process.
func run(args, environ []string, in io.Reader, out, errs io.Writer) int {
	var line commands
	flags := newSettingFlags()
	line.Plugins = kong.Plugins{flags.target()}
	helped := false
	parser, err := kong.New(&line,
		kong.Name("rockpool-agent"), kong.Description(description), kong.Writers(out, errs),
		kong.Vars{"unit": agent.UnitPath},
		kong.Exit(func(int) { helped = true }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
	)
	if err != nil {
		return fail(errs, err)
	}
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return exitOK
	case err != nil:
		return fail(errs, usageError{err})
	}
	return fail(errs, parsed.Run(&desk{in: in, out: out, errs: errs, environ: environ, file: line.Config, flags: flags.given()}, parsed.Model))
}

// fail prints the error as one line and returns the exit code that it means.
func fail(errs io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintln(errs, "rockpool-agent:", strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.As(err, new(usageError)) || errors.As(err, new(agent.SettingError)) {
		return exitUsage
	}
	return exitError
}

// Command rockpool is the server and the command line of an edge fleet. Each
// noun of the API has a file here; none of them decides anything: they send one
// request, print the document and name the exit code.
//
//go:generate sh -c "go run . docs > ../../../docs/cli.md"
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// commands is the whole command line: nouns, then verbs.
type commands struct {
	Connection connection `embed:""`
	Output     string     `short:"o" enum:"table,json,name" default:"table" placeholder:"table|json" help:"How to print: a table, or the REST document as json; sim list also knows name."`

	Serve     serveCommand     `cmd:"" help:"Run the server."`
	Job       jobCommand       `cmd:"" help:"Submit jobs, follow and explain them."`
	Placement placementCommand `cmd:"" help:"Reserve nodes for clients outside, renew and release them."`
	Node      nodeCommand      `cmd:"" help:"Show nodes, move, hold, drain and revoke them."`
	Pool      poolCommand      `cmd:"" help:"Show, create, change and promote pools."`
	Binding   bindingCommand   `cmd:"" help:"Bind apps' work to pools."`
	Role      roleCommand      `cmd:"" help:"Show and add roles of nodes and work."`
	App       appCommand       `cmd:"" help:"Create and show apps, and where their work would go."`
	License   licenseCommand   `cmd:"" help:"Create, show and revoke licenses."`
	User      userCommand      `cmd:"" help:"Create and show users, set their roles."`
	Token     tokenCommand     `cmd:"" help:"Create, show and delete API tokens."`
	Artifact  artifactCommand  `cmd:"" help:"Upload and fetch artifacts."`
	Alarm     alarmCommand     `cmd:"" help:"Show, acknowledge and silence alarms."`
	Align     alignmentCommand `cmd:"" name:"alignment" help:"List what will fail before a request does: apps without a usable node, pools that nothing resolves to."`
	Usage     usageCommand     `cmd:"" help:"Add up what work took: slot-seconds by day, app and pool."`
	Audit     auditCommand     `cmd:"" help:"Read the audit entries, check their chain and the pools' isolation."`
	Admin     adminCommand     `cmd:"" help:"Set the server up, ask whether it is ready."`
	Load      loadCommand      `cmd:"" help:"Measure the server on this machine."`
	Sim       simCommand       `cmd:"" help:"Play scenarios with the real deciding code over a virtual fleet."`
	Version   versionCommand   `cmd:"" help:"Print the version of this program."`
	Docs      docsCommand      `cmd:"" hidden:"" help:"Print the reference of this command line."`
}

// run is the program without its process: it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	var line commands
	helped := false
	parser, err := newParser(&line, out, errs, func(int) { helped = true })
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
	if line.Output == "name" && parsed.Command() != "sim list" {
		return fail(errs, usageError{errors.New("--output name is known to sim list alone")})
	}
	desk := &desk{in: in, out: out, json: line.Output == "json", names: line.Output == "name", connection: line.Connection}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.BindToProvider(line.Connection.dial); err != nil { // for the commands that ask the server
		return fail(errs, err)
	}
	err = parsed.Run(desk, parsed.Model)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	return fail(errs, err)
}

func newParser(line *commands, out, errs io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(line,
		kong.Name("rockpool"),
		kong.Description("The control plane of an edge fleet. "+exitCodesInWords),
		kong.Writers(out, errs),
		kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Vars{"server": defaultServer, "drain_slack": drainSlack.String()},
	)
}

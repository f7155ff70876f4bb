package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"rockpool/agent"
)

type joinCommand struct {
	URL            string        `arg:"" name:"url" help:"Address of the control plane, such as https://fleet.example."`
	CredentialFile string        `placeholder:"FILE" help:"File with the license code, or with the secret of a node that an operator has made; - reads standard input. Else it is the variable ROCKPOOL_AGENT_LICENSE, or asked for."`
	Wait           time.Duration `default:"1m" help:"How long to try when the control plane can't be reached."`
}

// Run registers this machine's node and writes its settings: the URL, and every
// setting that is given as a flag.
func (c *joinCommand) Run(d *desk) error {
	ctx, stop := signals(nil)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	joined, err := agent.Join(ctx, agent.Joining{
		ServerURL: c.URL, File: d.file, Environ: d.environ, Flags: d.flags,
		Credential: func() (string, error) { return c.credential(d) },
		Warn:       func(text string) { _, _ = fmt.Fprintln(d.errs, "rockpool-agent: warning:", text) },
	})
	if err != nil {
		return err
	}
	if joined.Builtins != nil {
		_, _ = fmt.Fprintf(d.out, "no runner was declared: the built-in %s is enabled\n", strings.Join(joined.Builtins, ", "))
	}
	_, err = fmt.Fprintf(d.out, "joined as node %s in pool %s; settings are in %s\nstart it with: rockpool-agent run, or as a service with: rockpool-agent install\n", joined.NodeID, joined.Pool, joined.File)
	return err
}

// codeVariable holds a license code.
const codeVariable = "ROCKPOOL_AGENT_LICENSE"

// credential comes from one place. It is never an argument, which everybody on the
// machine could read.
func (c *joinCommand) credential(d *desk) (string, error) {
	code := ""
	for _, entry := range d.environ {
		if value, ok := strings.CutPrefix(entry, codeVariable+"="); ok {
			code = strings.TrimSpace(value)
		}
	}
	switch {
	case c.CredentialFile != "" && code != "":
		return "", usageError{fmt.Errorf("--credential-file: the credential is given twice, here and in %s: keep one", codeVariable)}
	case code != "":
		return code, nil
	case c.CredentialFile == "-":
		return firstLine(d.in)
	case c.CredentialFile != "":
		return agent.ReadCredential(c.CredentialFile)
	}
	return ask(d)
}

func firstLine(from io.Reader) (string, error) {
	content, err := io.ReadAll(io.LimitReader(from, 4<<10))
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSpace(line), err
}

// ask reads the credential from the terminal without showing it: the terminal is
// silent before it asks, for whoever types at once.
func ask(d *desk) (string, error) {
	terminal, ok := d.in.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return "", usageError{errors.New("--credential-file: name a file with the license code, set " + codeVariable + ", or run this at a terminal")}
	}
	before, err := term.MakeRaw(int(terminal.Fd()))
	if err != nil {
		return "", fmt.Errorf("read the license code: %w", err)
	}
	screen := struct {
		io.Reader
		io.Writer
	}{terminal, d.errs}
	typed, err := term.NewTerminal(screen, "").ReadPassword("License code: ")
	if err := errors.Join(err, term.Restore(int(terminal.Fd()), before)); err != nil {
		return "", fmt.Errorf("read the license code: %w", err)
	}
	return strings.TrimSpace(typed), nil
}

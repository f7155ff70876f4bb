package runner

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"rockpool/shared/wire"
)

// task is a runner ready for use: one of the configuration, or a built-in.
type task interface {
	// check says why a payload does not fit.
	check(wire.Payload) error
	// run works in the attempt's folder and fills in the result.
	run(a *attempt, r *wire.Result) error
}

// Book is what this node may run.
type Book struct {
	backend string
	environ []string // of the agent
	account *Account // that jobs run as; nil: the agent's own
	tasks   map[string]task
	names   []string // sorted
}

// NewBook checks the declarations and finds their programs. The error names the
// runner and its setting.
func NewBook(specs []Spec, builtins Builtins, backend string, environ []string) (*Book, error) {
	b := &Book{backend: backend, environ: environ, tasks: map[string]task{}}
	enabled, err := builtins.tasks()
	if err != nil {
		return nil, err
	}
	for name, t := range enabled {
		if err := b.add(name, t); err != nil {
			return nil, err
		}
	}
	for _, spec := range specs { // a copy each: prepare changes it
		if err := spec.prepare(); err != nil {
			return nil, fmt.Errorf("runner %q: %w", spec.Name, err)
		}
		if err := b.add(spec.Name, &spec); err != nil {
			return nil, err
		}
	}
	if len(b.names) == 0 {
		return nil, fmt.Errorf(`runner: none is enabled: add a [[runner]], or builtins = ["checksum"]`)
	}
	if len(b.names) > wire.MaxRunners {
		return nil, fmt.Errorf("runner: %d are declared, a node has at most %d", len(b.names), wire.MaxRunners)
	}
	slices.Sort(b.names)
	if err := b.checkBackend(); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Book) add(name string, t task) error {
	if _, twice := b.tasks[name]; twice {
		return fmt.Errorf("runner %q is declared twice", name)
	}
	b.tasks[name] = t
	b.names = append(b.names, name)
	return nil
}

// Names of the runners, sorted.
func (b *Book) Names() []string { return b.names }

// Programs are the paths of what the runners start.
func (b *Book) Programs() []string {
	var paths []string
	for _, name := range b.names {
		if t, ok := b.tasks[name].(*execTask); ok {
			paths = slices.AppendSeq(paths, maps.Values(t.programs))
		}
		spec, ok := b.tasks[name].(*Spec)
		if !ok {
			continue
		}
		if path, fixed := spec.argv[0].literal(); fixed {
			paths = append(paths, path)
		}
		if spec.Bin != "" {
			paths = append(paths, spec.Bin)
		}
	}
	return paths
}

// SelfTest runs the self-test of every runner that has one.
func (b *Book) SelfTest(ctx context.Context) error {
	for _, name := range b.names {
		spec, ok := b.tasks[name].(*Spec)
		if !ok || len(spec.selftest) == 0 {
			continue
		}
		if err := b.selfTest(ctx, spec); err != nil {
			return fmt.Errorf("runner %q: selftest: %w", name, err)
		}
	}
	return nil
}

func (b *Book) selfTest(ctx context.Context, spec *Spec) error {
	tooLong := fmt.Errorf("did not end within %v: make it shorter, or raise selftest_timeout", spec.SelfTestTime)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(spec.SelfTestTime), tooLong)
	defer cancel()
	argv := spec.fillArgv(spec.selftest, func(p piece) string { return b.fixed(spec, p) })
	cmd := isolated(argv, b.account, nil)
	cmd.Env = b.allowed(spec.Env)
	out, err := runFor(ctx, cmd)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // that is why it was killed
		err = context.Cause(ctx)
	}
	if said := lastLine(out); said != "" {
		err = fmt.Errorf("%w: %s", err, wire.CleanText(said, 200))
	}
	return fmt.Errorf("%s: %w", wire.CleanText(strings.Join(argv, " "), 200), err)
}

// As has jobs and self-tests run as another user.
func (b *Book) As(account *Account) { b.account = account }

// runFor runs a command to its end, or to the context's.
func runFor(ctx context.Context, cmd *exec.Cmd) (said []byte, err error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	onOwnThread(func() {
		g := newGroup(marker{}, nil)
		if err = startIsolated(cmd, limits{}, g); err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { g.signal(kill) })
		awaitExit(cmd)
		asked := !stop()
		g.end()
		_ = cmd.Wait() // of which the state says all
		if err = ctx.Err(); !cmd.ProcessState.Success() {
			err = &exec.ExitError{ProcessState: cmd.ProcessState}
		} else if !asked {
			err = nil
		}
	})
	return out.Bytes(), err
}

// checkPrograms looks whether what the runners start is still there.
func (b *Book) checkPrograms() error {
	for _, path := range b.Programs() {
		if _, err := lookProgram(path); err != nil {
			return err
		}
	}
	return nil
}

func lastLine(out []byte) string {
	text := strings.TrimSpace(string(out))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// fixed fills the holes that are the same for every job.
func (b *Book) fixed(spec *Spec, p piece) string {
	switch p.hole {
	case holeBackend:
		return b.backend
	case holeBin:
		return spec.Bin
	}
	return ""
}

func (s *Spec) fillArgv(argv []template, value func(piece) string) []string {
	filled := make([]string, len(argv))
	for i, t := range argv {
		filled[i] = t.fill(value)
	}
	return filled
}

// allowed picks the variables that a job may see.
func (b *Book) allowed(names []string) []string {
	env := []string{}
	for _, entry := range b.environ {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(names, name) {
			env = append(env, entry)
		}
	}
	return env
}

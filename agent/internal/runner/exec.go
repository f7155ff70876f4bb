package runner

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"rockpool/shared/wire"
)

// execTask is the built-in runner that runs one of the allowed programs with the
// job's own arguments, and no shell. Its limits are the defaults of a runner.
type execTask struct {
	programs map[string]string // paths by name
	spec     Spec              // with the limits; it has no argv of its own
}

// Parameters of exec: the program's name, and its arguments arg1, arg2 and so on.
const (
	execProgram  = "program"
	execArgument = "arg"
	maxArgument  = 4 << 10 // bytes
)

func newExecTask(allowed []string) (*execTask, error) {
	if len(allowed) == 0 {
		return nil, fmt.Errorf(`exec_allow: is empty although exec is among the builtins: list the programs that jobs may run, as in ["/usr/bin/ffprobe"]`)
	}
	t := &execTask{programs: map[string]string{}, spec: Spec{Name: builtinExec}}
	t.spec.fillDefaults()
	for _, word := range allowed {
		path, err := lookProgram(word)
		if err != nil {
			return nil, fmt.Errorf("exec_allow: %w", err)
		}
		name := filepath.Base(path)
		if t.programs[name] != "" {
			return nil, fmt.Errorf("exec_allow: two programs are called %s: keep one", name)
		}
		t.programs[name] = path
	}
	return t, nil
}

// check implements task.
func (t *execTask) check(p wire.Payload) error {
	_, err := t.argv(p)
	return err
}

// argv is the command that a payload asks for.
func (t *execTask) argv(p wire.Payload) ([]string, error) {
	values, err := fields(p, builtinExec, func(name string) bool { return name == execProgram || strings.HasPrefix(name, execArgument) })
	if err != nil {
		return nil, err
	}
	path := t.programs[values[execProgram]]
	if path == "" {
		return nil, fmt.Errorf("parameter %s is %q: this node allows %s", execProgram, wire.CleanText(values[execProgram], 100), sortedKeys(t.programs))
	}
	argv := []string{path}
	for n := 1; n < len(values); n++ {
		name := execArgument + strconv.Itoa(n)
		arg, given := values[name]
		switch {
		case !given:
			return nil, fmt.Errorf("parameter %s is missing: arguments are %s1, %s2 and so on", name, execArgument, execArgument)
		case len(arg) > maxArgument || strings.ContainsRune(arg, 0) || !utf8.ValidString(arg):
			return nil, fmt.Errorf("parameter %s is longer than %d bytes, or no text", name, maxArgument)
		}
		argv = append(argv, arg)
	}
	return argv, nil
}

// run implements task.
func (t *execTask) run(a *attempt, r *wire.Result) error {
	argv, err := t.argv(a.offer.Payload)
	if err != nil {
		return failed(causeBadParams, err.Error())
	}
	return t.spec.runCommand(a, r, argv)
}

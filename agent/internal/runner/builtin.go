package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rockpool/shared/wire"
)

// Builtins are the runners that the agent brings along, as far as the
// configuration names them, with what they may touch.
type Builtins struct {
	Enabled    []string
	Exec       []string // programs that exec may run
	ProbeHosts []string // hosts that http-probe may ask
}

// Names of the built-in runners.
const (
	builtinChecksum = "checksum"
	builtinExec     = "exec"
	builtinProbe    = "http-probe"
)

// tasks makes the enabled ones ready. A list for one that is not enabled is refused:
// it would have no effect.
func (b Builtins) tasks() (map[string]task, error) {
	made := map[string]task{}
	for _, name := range b.Enabled {
		if _, twice := made[name]; twice {
			return nil, fmt.Errorf("builtins: %q stands there twice", name)
		}
		t, err := b.task(name)
		if err != nil {
			return nil, err
		}
		made[name] = t
	}
	for setting, l := range map[string]struct {
		list    []string
		builtin string
	}{"exec_allow": {b.Exec, builtinExec}, "probe_hosts": {b.ProbeHosts, builtinProbe}} {
		if len(l.list) > 0 && made[l.builtin] == nil {
			return nil, fmt.Errorf("%s: has no effect: add %q to builtins, or remove it", setting, l.builtin)
		}
	}
	return made, nil
}

func (b Builtins) task(name string) (task, error) {
	switch name {
	case builtinChecksum:
		return checksum{}, nil
	case builtinExec:
		return newExecTask(b.Exec)
	case builtinProbe:
		return newProbe(b.ProbeHosts)
	}
	return nil, fmt.Errorf("builtins: there is no built-in runner %q: known are %s, %s and %s", name, builtinChecksum, builtinExec, builtinProbe)
}

// fields reads a payload of a built-in runner into its parameters; each stands
// there once, and is one of the known.
func fields(p wire.Payload, runner string, known func(name string) bool) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range p.Params {
		if !known(pair.Name) {
			return nil, fmt.Errorf("parameter %s is not declared by runner %s", pair.Name, runner)
		}
		if _, twice := values[pair.Name]; twice {
			return nil, fmt.Errorf("parameter %s is given twice", pair.Name)
		}
		values[pair.Name] = pair.Value
	}
	return values, checkInputs(nil, p.Inputs)
}

// sortedKeys names what a list holds, for messages.
func sortedKeys[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

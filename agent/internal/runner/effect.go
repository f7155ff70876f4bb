package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkEffect refuses what would have none: who wrote it believes that it does
// something. It comes after the templates are parsed, and before
// defaults stand where nothing was written.
func (s *Spec) checkEffect() error {
	switch {
	case s.Bin != "" && !names(s.argv, holeBin) && !names(s.selftest, holeBin):
		return fmt.Errorf("bin: has no effect: write {{bin}} where argv names the program, or remove it")
	case s.SelfTestTime != 0 && len(s.SelfTest) == 0:
		return fmt.Errorf("selftest_timeout: has no effect: add a selftest, or remove it")
	case s.UnpackLimit != 0 && len(s.Unpack) == 0:
		return fmt.Errorf("unpack_limit: has no effect: add unpack, or remove it")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		if !s.takes(name) {
			return fmt.Errorf("params.%s: has no effect: write {{param.%s}} in argv, or remove it", name, name)
		}
	}
	for i, t := range s.selftest {
		for _, p := range t {
			if p.hole == holeIn || p.hole == holeOut || p.hole == holeParam {
				return fmt.Errorf("selftest[%d]: {{%s.%s}} is a job's, and there is none at the start: use {{bin}} and {{backend}} alone", i, p.hole, p.name)
			}
		}
	}
	return nil
}

// takes reports that the program gets a parameter.
func (s *Spec) takes(param string) bool {
	return slices.ContainsFunc(s.argv, func(t template) bool { return slices.Contains(t, piece{hole: holeParam, name: param}) })
}

// Warnings are what is honored and yet does less than it seems: variables for jobs
// that the agent itself does not have.
func (b *Book) Warnings() (list []string) {
	for _, name := range b.names {
		spec, ok := b.tasks[name].(*Spec)
		if !ok {
			continue
		}
		for _, variable := range spec.Env {
			if !slices.ContainsFunc(b.environ, func(entry string) bool { return strings.HasPrefix(entry, variable+"=") }) {
				list = append(list, fmt.Sprintf("runner %q: env: has no effect: %s is not set for this agent", name, variable))
			}
		}
	}
	return list
}

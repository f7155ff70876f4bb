package runner

import (
	"fmt"
	"slices"
)

// plainBackend needs no device.
const plainBackend = "cpu"

// checkBackend demands that a runner which uses the node's backend passes it on, so
// that its jobs run on what they were scheduled for.
func (s *Spec) checkBackend() error {
	if s.NeedsBackend && !names(s.argv, holeBackend) {
		return fmt.Errorf("argv: has no {{backend}} although needs_backend is set: pass it to the program, as in \"--backend\", \"{{backend}}\"")
	}
	return nil
}

// checkBackend demands that something shows at the start that the backend is
// there: a self-test of a runner that uses it.
func (b *Book) checkBackend() error {
	if b.backend == plainBackend {
		return nil
	}
	for _, name := range b.names {
		if spec, ok := b.tasks[name].(*Spec); ok && names(spec.argv, holeBackend) && names(spec.selftest, holeBackend) {
			return nil
		}
	}
	return fmt.Errorf("backend: nothing shows that %s is there: a runner must name {{backend}} in its argv and in its selftest, which fails without the device", b.backend)
}

func names(argv []template, hole holeKind) bool {
	return slices.ContainsFunc(argv, func(t template) bool {
		return slices.ContainsFunc(t, func(p piece) bool { return p.hole == hole })
	})
}

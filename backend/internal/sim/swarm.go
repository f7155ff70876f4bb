package sim

import (
	"fmt"
	"strings"

	"rockpool/backend/internal/core/fleet"
)

// fault draws one step of a swarm.
type fault func(w *World, s *stream) Step

// drawFaults makes the swarm's script by the seed: a random subset of the kinds of
// faults, so that each seed is another weather, and the healing at its end.
func (w *World) drawFaults() []Step {
	sw := w.sc.Swarm
	if sw == nil {
		return nil
	}
	s := newStream(w.seed, "swarm", "")
	var kinds []fault
	for _, f := range faults {
		if s.chance(0.5) {
			kinds = append(kinds, f)
		}
	}
	if len(kinds) == 0 {
		kinds = faults
	}
	var steps []Step
	for at := Time(sw.From); at < Time(sw.Until); at += s.exponential(float64(sw.Mean)) {
		step := kinds[s.rand().IntN(len(kinds))](w, &s)
		step.T, step.Fault = Span(at), true
		steps = append(steps, step)
	}
	return append(steps, Step{T: sw.Until, Do: "heal"})
}

var faults = []fault{
	on("crash", 1, 120), on("power", 1, 150), on("stop", 1, 60), on("cut", 0, 10), on("partition", 1, 120),
	func(w *World, s *stream) Step {
		return Step{Do: "partition", Nodes: w.some(s), Way: []string{"up", "down"}[s.rand().IntN(2)], For: span(s, 1, 120)}
	},
	func(w *World, s *stream) Step {
		return Step{Do: "loss", Nodes: "*", Share: s.rand().Float64() * 0.4, For: span(s, 5, 60)}
	},
	func(w *World, s *stream) Step {
		return Step{Do: "duplicate", Nodes: "*", Share: s.rand().Float64() * 0.5, For: span(s, 5, 60)}
	},
	on("slow", 5, 60), on("sick", 5, 90), on("disk_full", 5, 60),
	func(w *World, s *stream) Step {
		return Step{Do: "spoil", Nodes: w.some(s), Spoils: []string{"start_failed", "exit_code", "hang"}[s.rand().IntN(3)], For: span(s, 5, 60)}
	},
	func(w *World, s *stream) Step { return Step{Do: "restart_server", For: span(s, 1, 20)} },
	func(w *World, s *stream) Step { return Step{Do: "pause_server", For: span(s, 1, 100)} },
	func(w *World, s *stream) Step { return Step{Do: "store_away", For: span(s, 1, 30)} },
	func(w *World, s *stream) Step { return Step{Do: "store_slow", For: span(s, 1, 30)} },
	func(w *World, s *stream) Step {
		return Step{Do: "commit_unknown", Share: s.rand().Float64() * 0.3, For: span(s, 1, 30)}
	},
	func(w *World, s *stream) Step {
		return Step{Do: "commit_fails", Share: s.rand().Float64() * 0.3, For: span(s, 1, 30)}
	},
	func(w *World, s *stream) Step {
		return Step{Do: "clock_jump", By: []string{"+1h", "-1h", "+10m"}[s.rand().IntN(3)]}
	},
	on("clock_jump", 0, 0), on("cordon", 5, 120), on("revoke", 5, 120),
	func(w *World, s *stream) Step {
		return Step{Do: "drain", Nodes: w.some(s), Deadline: span(s, 1, 60), For: span(s, 5, 150)}
	},
	func(w *World, s *stream) Step {
		return Step{Do: "move", Nodes: w.some(s), Pool: w.store.pools[s.rand().IntN(len(w.store.pools))].ID}
	},
	func(w *World, s *stream) Step {
		p := w.store.pools[s.rand().IntN(len(w.store.pools))].ID
		return Step{Do: "pool_state", Pool: p, State: string([]fleet.PoolState{fleet.PoolDrains, fleet.PoolIsClosed}[s.rand().IntN(2)]), For: span(s, 5, 90)}
	},
	func(w *World, s *stream) Step {
		step := Step{Do: "bind", App: w.store.apps[s.rand().IntN(len(w.store.apps))].ID, Fallback: s.chance(0.5)}
		for range s.rand().IntN(3) {
			step.Pools = append(step.Pools, w.store.pools[s.rand().IntN(len(w.store.pools))].ID)
		}
		return step
	},
	func(w *World, s *stream) Step { return Step{Do: "cancel", Count: 1 + s.rand().IntN(5)} },
}

// on draws a fault of some nodes that lasts so many seconds.
func on(word string, low, high Time) fault {
	return func(w *World, s *stream) Step { return Step{Do: word, Nodes: w.some(s), For: span(s, low, high)} }
}

func span(s *stream, low, high Time) Span { return Span(s.between(low*second, high*second)) }

// some picks one node mostly, at times a zone, a pool or all.
func (w *World) some(s *stream) string {
	n := w.nodes[s.rand().IntN(len(w.nodes))]
	switch p := s.rand().IntN(10); {
	case p == 0 && n.group.Zone != "":
		return "zone:" + n.group.Zone
	case p == 1:
		return "pool:" + w.store.nodes[n.index].rec.Pool
	case p == 2:
		return "*"
	}
	return n.id
}

// String is the step as a scenario file could have it, on one line.
func (s *Step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "t=%s %s", s.T, s.Do)
	for _, f := range []struct{ name, value string }{
		{"nodes", s.Nodes}, {"pool", s.Pool}, {"state", s.State}, {"app", s.App}, {"pools", strings.Join(s.Pools, ",")},
		{"way", s.Way}, {"by", s.By}, {"spoils", s.Spoils},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, " %s=%s", f.name, f.value)
		}
	}
	if s.For > 0 {
		fmt.Fprintf(&b, " for=%s", s.For)
	}
	if s.Share > 0 {
		fmt.Fprintf(&b, " share=%.2f", s.Share)
	}
	if s.Deadline > 0 {
		fmt.Fprintf(&b, " deadline=%s", s.Deadline)
	}
	return b.String()
}

package sim

import (
	"fmt"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
)

// promote moves the nodes of a canary pool on when the real checks hold, as the
// API does: the facts come from the view of the fleet and from the database.
func (w *World) promote(s *Step) {
	srv := &w.srv
	if !srv.up || srv.doubt || srv.paused {
		w.counts.add("promotions.unanswered")
		return
	}
	facts := pool.Facts{At: srv.clock()}
	facts.Succeeded = w.countJobs(func(j *job) bool { return j.spec.Pool == s.Pool && j.row.State == fleet.JobSucceeded })
	for _, v := range srv.core.Fleet(srv.clock()).Nodes {
		if v.Record.Pool == s.Pool && v.Lease != fleet.LeaseLeft {
			facts.Nodes = append(facts.Nodes, pool.NodeFacts{ID: v.Record.ID, Blocks: v.Reasons, Since: v.Since, BootSince: v.BootSince})
		}
	}
	why := pool.Promotable(pool.Checks{Jobs: s.Jobs, ReadyFor: Time(s.For)}, facts)
	if len(why) > 0 {
		w.counts.add("promotions.refused")
		w.notes = append(w.notes, fmt.Sprintf("%s: the promotion of %s is refused: %s", Span(w.now), s.Pool, strings.Join(why, "; ")))
		return
	}
	w.counts.add("promotions.done")
	w.notes = append(w.notes, fmt.Sprintf("%s: %s is promoted to %s", Span(w.now), s.Pool, s.To))
	w.move(w.pick("pool:"+s.Pool), s.To)
}

// flap lets a node's network come and go until a time.
func (w *World) flap(n *node, s *Step, until Time) {
	if w.now >= until {
		return
	}
	w.net.cut(n, 0)
	n.link.refusedUntil = w.now + Time(s.Down)
	w.after(Time(s.Down+s.Up), evUndo, func() { w.flap(n, s, until) })
}

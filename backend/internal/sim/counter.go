package sim

import (
	"slices"
	"strings"

	"rockpool/backend/internal/core/fleet"
)

// counts are figures that are kept while the world runs; the others are computed
// when they are asked for.
type counts struct {
	offers, starts, declines, refusals    int64
	accepted, fallbacks, outside, stale   int64
	reloads, sessions, unanswered, audits int64
	cancels                               int64
	commits                               [3]int64
	verdicts                              [4]int64
	outcomes                              [fleet.AttemptOrphaned + 1]int64
	assigned                              int64
	states                                [fleet.JobDead + 1]int64 // jobs that are stored, by state
	waits                                 []int64                  // ms from being asked for to the first assignment
	ranMs, usefulMs                       int64                    // of attempts; of those whose result was accepted
	named                                 []named                  // in the order of their first time
}

type named struct {
	name string
	n    int64
}

func (c *counts) add(name string) {
	for i := range c.named {
		if c.named[i].name == name {
			c.named[i].n++
			return
		}
	}
	c.named = append(c.named, named{name, 1})
}

func (c *counts) get(name string) int64 {
	for i := range c.named {
		if c.named[i].name == name {
			return c.named[i].n
		}
	}
	return 0
}

func (c *counts) audit(action string) { c.add("audits." + action) }
func (c *counts) hold(kind fleet.HoldKind, owner fleet.HoldOwner) {
	c.add("holds." + string(kind) + "." + string(owner))
}

// Counters lists the names of counters with what they count. <x> stands for a name
// of the scenario or a word of the fleet.
func Counters() (list [][2]string) {
	for _, c := range counters {
		list = append(list, [2]string{c.name, c.help})
	}
	return list
}

// counter is one figure; of has what follows its name.
type counter struct {
	name, help string
	value      func(w *World, of string) int64
}

var counters []counter

func init() {
	counters = []counter{
		{"jobs", "pieces of work that clients asked for", func(w *World, _ string) int64 { return int64(len(w.orders)) }},
		{"jobs.known", "of them, those whose client was told that they are stored", func(w *World, _ string) (n int64) {
			for i := range w.orders {
				n += one(w.orders[i].known)
			}
			return n
		}},
		{"jobs.open", "stored and not ended", func(w *World, _ string) (n int64) {
			for s, jobs := range w.counts.states {
				if !fleet.JobState(s).Terminal() {
					n += jobs
				}
			}
			return n
		}},
		{"jobs.app.<app>.<state>", "of the app, in the state", func(w *World, of string) int64 {
			app, state, _ := strings.Cut(of, ".")
			return w.countJobs(func(j *job) bool { return j.spec.App == app && j.row.State.String() == state })
		}},
		{"jobs.cause.<cause>", "that ended or wait for this cause", func(w *World, of string) int64 {
			return w.countJobs(func(j *job) bool { return string(j.row.Cause) == of })
		}},
		{"jobs.<state>", "in the state, as the database has it", func(w *World, of string) int64 {
			if s, known := fleet.ParseJobState(of); known {
				return w.counts.states[s]
			}
			return 0
		}},
		{"attempts", "assignments", func(w *World, _ string) int64 { return w.counts.assigned }},
		{"attempts.pool.<pool>", "assignments in the pool", func(w *World, of string) int64 {
			return w.countAttempts(func(a *attempt) bool { return a.pool == of })
		}},
		{"attempts.node.<node>", "assignments to the node", func(w *World, of string) int64 {
			return w.countAttempts(func(a *attempt) bool { return a.node == of })
		}},
		{"attempts.<outcome>", "superseded ones that ended so", func(w *World, of string) int64 {
			return w.countAttempts(func(a *attempt) bool { return a.superseded != "" && a.outcome.String() == of })
		}},
		{"placements", "asks of clients for placements", func(w *World, _ string) int64 { return w.counts.get("placements") }},
		{"placements.app.<app>.<state>", "of the app, in the state", func(w *World, of string) int64 {
			app, state, _ := strings.Cut(of, ".")
			return w.countGrants(func(g *grant) bool { return g.spec.App == app && g.row.State.String() == state })
		}},
		{"placements.refused.<app>", "asks of the app for which no pool had the nodes", func(w *World, of string) int64 { return w.counts.get("placements.refused." + of) }},
		{"placements.shared", "asks that got their key's placement of before", func(w *World, _ string) int64 { return w.counts.get("placements.shared") }},
		{"placements.pool.<pool>", "nodes given, in the pool", func(w *World, of string) int64 {
			return w.given(func(on fleet.PlacedOn) bool { return on.Pool == of })
		}},
		{"placements.node.<node>", "times that the node was given", func(w *World, of string) int64 {
			return w.given(func(on fleet.PlacedOn) bool { return on.Node == of })
		}},
		{"offers.node.<node>", "offers to the node", func(w *World, of string) (n int64) {
			if node := w.named[of]; node != nil {
				n = node.offers
			}
			return n
		}},
		{"results.accepted", "results that ended their job", func(w *World, _ string) int64 { return w.counts.accepted }},
		{"results.<verdict>", "answers to results: stored, duplicate, fenced, canceled", func(w *World, of string) int64 {
			if at := slices.Index(verdicts[:], of); at >= 0 {
				return w.counts.verdicts[at]
			}
			return 0
		}},
		{"commits.<outcome>", "transactions: ok, failed, unknown", func(w *World, of string) int64 {
			return w.counts.commits[max(0, slices.Index([]string{"ok", "failed", "unknown"}, of))]
		}},
		{"alarms.lasting", "that are not resolved", func(w *World, _ string) int64 {
			return w.countAlarms(func(a *fleet.Alarm) bool { return a.ResolvedAt == 0 })
		}},
		{"alarms.lasting.<kind>", "of the kind that are not resolved", func(w *World, of string) int64 {
			return w.countAlarms(func(a *fleet.Alarm) bool { return string(a.Kind) == of && a.ResolvedAt == 0 })
		}},
		{"alarms.<kind>", "raised", func(w *World, of string) int64 {
			return w.countAlarms(func(a *fleet.Alarm) bool { return string(a.Kind) == of })
		}},
		{"holds.<kind>.<owner>", "put by the control plane itself", func(w *World, of string) int64 { return w.counts.get("holds." + of) }},
		{"audits.<action>", "notes of what nodes may not do", func(w *World, of string) int64 { return w.counts.get("audits." + of) }},
		{"copies.<outcome>", "hellos of copies: taken, refused, or unheard (server away, or their secret is void)", func(w *World, of string) int64 { return w.counts.get("copies." + of) }},
		{"promotions.<outcome>", "of canary pools: done, refused, unanswered", func(w *World, of string) int64 { return w.counts.get("promotions." + of) }},
		{"nodes", "all of them", func(w *World, _ string) int64 { return int64(len(w.nodes)) }},
		{"nodes.pool.<pool>", "in the pool", func(w *World, of string) int64 { return int64(len(w.pick("pool:" + of))) }},
		{"nodes.<lease>", "by lease: new, ready, suspect, lost, left", func(w *World, of string) (n int64) {
			for _, v := range w.srv.core.Fleet(w.srv.clock()).Nodes {
				n += one(v.Lease.String() == of)
			}
			return n
		}},
		{"dials.peak", "most connections that the server accepted in one second since its process began", func(w *World, _ string) (most int64) {
			for _, n := range w.srv.dials {
				most = max(most, n)
			}
			return most
		}},
		{"frozen", "seconds for which the freeze that stands has lasted", func(w *World, _ string) int64 {
			if f := w.srv.core.Frozen(w.srv.clock()); f.Since != 0 {
				return int64((w.srv.clock() - f.Since) / second)
			}
			return 0
		}},
		{"reserved", "slots reserved, by the database", func(w *World, _ string) (n int64) {
			for _, r := range w.store.nodes {
				n += r.reserved.Slots
			}
			return n
		}},
		{"spooled", "results on nodes' disks that are not acknowledged", func(w *World, _ string) (n int64) {
			for _, node := range w.nodes {
				n += int64(len(node.spool))
			}
			return n
		}},
		{"wait.<quantile>", "ms to the first assignment: p50, p95, max", func(w *World, of string) int64 { return w.wait(of) }},
		{"wasted", "per cent of the nodes' work whose result was not accepted", func(w *World, _ string) int64 { return w.wasted() }},
		{"goodput", "per cent of it whose result was", func(w *World, _ string) int64 { return 100 - w.wasted() }},
	}
	for _, c := range []struct {
		name, help string
		of         func(c *counts) *int64
	}{
		{"offers", "sent", func(c *counts) *int64 { return &c.offers }},
		{"starts", "attempts that began", func(c *counts) *int64 { return &c.starts }},
		{"declines", "offers that a node declined", func(c *counts) *int64 { return &c.declines }},
		{"refusals", "assignments that the database did not take", func(c *counts) *int64 { return &c.refusals }},
		{"fallbacks", "fallback records", func(c *counts) *int64 { return &c.fallbacks }},
		{"outside", "assignments outside of the pools without a record", func(c *counts) *int64 { return &c.outside }},
		{"reloads", "times that memory was shown to differ from the database", func(c *counts) *int64 { return &c.reloads }},
		{"sessions", "sessions opened", func(c *counts) *int64 { return &c.sessions }},
		{"unanswered", "submits without an answer, each asked again", func(c *counts) *int64 { return &c.unanswered }},
		{"audits", "notes of what nodes may not do", func(c *counts) *int64 { return &c.audits }},
	} {
		counters = append(counters, counter{c.name, c.help, func(w *World, _ string) int64 { return *c.of(&w.counts) }})
	}
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// value gives a counter by its name.
func (w *World) value(name string) int64 {
	c, of, _ := findCounter(name)
	if c == nil {
		return 0
	}
	return c.value(w, of)
}

// findCounter finds the counter whose name fits, the most exact one first.
func findCounter(name string) (c *counter, of string, ok bool) {
	for i := range counters {
		if counters[i].name == name {
			return &counters[i], "", true
		}
	}
	for i := range counters {
		head, _, open := strings.Cut(counters[i].name, "<")
		if open && strings.HasPrefix(name, head) && len(name) > len(head) {
			return &counters[i], name[len(head):], true
		}
	}
	return nil, "", false
}

func (w *World) countJobs(match func(*job) bool) (n int64) {
	for _, j := range w.jobs {
		if j.stored {
			n += one(match(j))
		}
	}
	return n
}

func (w *World) countAttempts(match func(*attempt) bool) (n int64) {
	for _, j := range w.jobs {
		for i := range j.attempts {
			n += one(match(&j.attempts[i]))
		}
	}
	return n
}

func (w *World) countAlarms(match func(*fleet.Alarm) bool) (n int64) {
	for i := range w.store.alarms {
		n += one(match(&w.store.alarms[i]))
	}
	return n
}

func (w *World) wait(quantile string) int64 {
	sorted := w.counts.waits
	slices.Sort(sorted)
	if len(sorted) == 0 {
		return 0
	}
	switch quantile {
	case "p50":
		return sorted[len(sorted)/2]
	case "p95":
		return sorted[len(sorted)*95/100]
	}
	return sorted[len(sorted)-1]
}

func (w *World) wasted() int64 {
	if w.counts.ranMs == 0 {
		return 0
	}
	return 100 * (w.counts.ranMs - w.counts.usefulMs) / w.counts.ranMs
}

package sim

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/nodecore"
)

// run is one attempt's processes.
type run struct {
	ref     nodecore.Ref
	key     int64
	began   Time
	until   Time
	stopped bool
	result  *fleet.Result
}

// handIn is a result on its way to the server; on the disk once it is stored.
type handIn struct {
	ref    nodecore.Ref
	key    int64
	result *fleet.Result
	stored bool
}

// newKey numbers runs and results that are written: what is planned for one that is
// gone finds nothing.
func (w *World) newKey() int64 {
	w.keys++
	return w.keys
}

// start lets an attempt run: so long as its job says, with the end that it says.
func (n *node) start(ref nodecore.Ref) {
	n.w.judgeStart(n, ref)
	j := n.w.jobs[number(ref.Job)]
	length, result := j.outcomeOn(n, ref.Attempt)
	r := run{ref: ref, key: n.w.newKey(), began: n.w.now, until: Never, result: result}
	if n.spoils != "hang" {
		r.until = n.w.now + length
		n.w.agenda.Add(r.until, event{kind: evFinish, node: int32(n.index), n: r.key})
	}
	n.runs = append(n.runs, r)
}

// recover lets work end as its job says again, also what hangs.
func (n *node) recover() {
	n.spoils = ""
	for i := range n.runs {
		if r := &n.runs[i]; r.until == Never {
			r.until = n.w.now + n.w.jobs[number(r.ref.Job)].length
			n.w.agenda.Add(r.until, event{kind: evFinish, node: int32(n.index), n: r.key})
		}
	}
}

// stopTakes is what a process needs to end when it is asked to.
const stopTakes = Time(20)

func (n *node) stop(s nodecore.Stop) {
	for i := range n.runs {
		if r := &n.runs[i]; r.ref == s.Ref && n.w.now+stopTakes < r.until {
			r.stopped, r.until = true, n.w.now+stopTakes
			n.w.agenda.Add(r.until, event{kind: evFinish, node: int32(n.index), n: r.key})
		}
	}
}

// finish ends an attempt's processes, by themselves or because they were stopped.
func (n *node) finish(key int64) {
	at := slices.IndexFunc(n.runs, func(r run) bool { return r.key == key && r.until <= n.w.now })
	if at < 0 || !n.alive {
		return
	}
	r := n.runs[at]
	n.runs = slices.Delete(n.runs, at, at+1)
	r.result.RunMs = int64(n.w.now - r.began)
	n.w.counts.ranMs += r.result.RunMs
	n.spool = append(n.spool, handIn{ref: r.ref, result: r.result})
	n.core.Finished(nodecore.Time(n.w.now), r.ref, endOf(&r), &n.w.wants)
	n.act()
}

// endOf is what an end tells the node of starts.
func endOf(r *run) nodecore.End {
	switch {
	case r.stopped:
		return nodecore.End{Stopped: true}
	case r.result.Cause == fleet.CauseStartFailed:
		return nodecore.End{Unstarted: "as the scenario says"}
	}
	return nodecore.End{Ran: true}
}

// test begins the node's self-test.
func (n *node) test() {
	n.w.agenda.Add(n.w.now+n.chance.between(10, 200), event{kind: evTested, node: int32(n.index), n: n.process})
}

// tested ends it: what spoils starts spoils the test.
func (n *node) tested(process int64) {
	if !n.alive || process != n.process {
		return
	}
	why := ""
	if n.spoils == "start_failed" {
		why = "as the scenario says"
	}
	n.core.SelfTested(nodecore.Time(n.w.now), why, &n.w.wants)
	n.act()
}

// keep writes a result to the disk, as what it is to say.
func (n *node) keep(r nodecore.Report) {
	at := slices.IndexFunc(n.spool, func(h handIn) bool { return h.ref == r.Ref })
	if at < 0 { // never started: it has no result of its own
		at = len(n.spool)
		n.spool = append(n.spool, handIn{ref: r.Ref, result: n.resultOf(r.Ref.Attempt, &fleet.Result{Status: fleet.ResultCanceled}, r.Ref)})
	}
	h := &n.spool[at]
	switch r.As {
	case nodecore.ReportCanceled:
		h.result = n.resultOf(r.Ref.Attempt, &fleet.Result{Status: fleet.ResultCanceled}, r.Ref)
	case nodecore.ReportShutdown:
		h.result = n.resultOf(r.Ref.Attempt, &fleet.Result{Status: fleet.ResultFailed, Cause: fleet.CauseNodeShuttingDown}, r.Ref)
	}
	h.key = n.w.newKey()
	n.w.agenda.Add(n.w.now+n.chance.between(1, 5), event{kind: evStored, node: int32(n.index), n: h.key})
}

// resultBytes is what a result has here, where none says anything.
const resultBytes = 1 << 10

func (n *node) stored(key int64) {
	at := slices.IndexFunc(n.spool, func(h handIn) bool { return h.key == key })
	if at < 0 || !n.alive {
		return
	}
	if n.full {
		n.core.StoreFailed(nodecore.Time(n.w.now), n.spool[at].ref, &n.w.wants)
	} else {
		n.spool[at].stored = true
		n.core.Stored(nodecore.Time(n.w.now), n.spool[at].ref, resultBytes, &n.w.wants)
	}
	n.act()
}

// forget drops what is left of an attempt that nobody wants to hear of.
func (n *node) forget(ref nodecore.Ref) {
	n.runs = slices.DeleteFunc(n.runs, func(r run) bool { return r.ref == ref })
	n.spool = slices.DeleteFunc(n.spool, func(h handIn) bool { return h.ref == ref && !h.stored })
}

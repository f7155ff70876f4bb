package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// future lets one Dispatch go on alone: time passes, every batch is committed, and
// then a node with room for all comes to every pool. It gives what became of jobs.
type future struct {
	d    *Dispatch
	rows map[ids.JobID]JobRow
}

func (f *future) commit(now fleet.Time, out *Effects) {
	for out.Durable() {
		for i := range out.Updates {
			f.rows[out.Updates[i].Job] = out.Updates[i].Row
		}
		next := &Effects{}
		f.d.Committed(now, out, nil, next)
		out = next
	}
}

func (f *future) pass(now, span fleet.Time) fleet.Time {
	for end := now + span; ; {
		due := f.d.Next()
		if due > end {
			return end
		}
		now = max(now, due)
		out := &Effects{}
		f.d.Tick(now, out)
		f.commit(now, out)
	}
}

func (f *future) relieve(now fleet.Time, pools []fleet.Pool) {
	for _, p := range pools {
		for _, role := range worldRoles {
			id := "new-" + p.ID + "-" + role
			report := &fleet.NodeReport{BootID: "b", Backend: "cuda", Capacity: fleet.Vector{Slots: 1000}, Runners: []string{"noop"}}
			out := &Effects{}
			f.d.PutNode(now, fleet.NodeRecord{ID: id, Pool: p.ID, Role: role, Version: 1, Capacity: report.Capacity, Runners: report.Runners}, out)
			f.d.Hello(now, HelloEvent{Node: id, Report: report}, out)
			f.commit(now, out)
		}
	}
}

// Memory that another process rebuilds from the database decides as the one that
// lived through it all: who waits, who rests and until when, who expires when, and
// where each job goes.
func TestReload_DecidesAsMemoryDid(t *testing.T) {
	seen := map[fleet.Cause]int{}
	for seed := range uint64(40) {
		w := aged(t, seed)
		snap := w.store.snapshot()
		for _, j := range snap.Jobs {
			seen[j.Row.Cause]++
		}
		lived := &future{d: w.d, rows: map[ids.JobID]JobRow{}}
		read := &future{d: New(testConfig), rows: map[ids.JobID]JobRow{}}
		read.d.Load(w.now, snap)
		now := lived.pass(w.now, 30_000)
		read.pass(w.now, 30_000)
		for _, f := range []*future{lived, read} {
			f.relieve(now, snap.Pools)
			f.pass(now, 4000) // nobody answers an offer yet
		}
		same(t, seed, snap, lived, read)
	}
	for _, cause := range []fleet.Cause{fleet.CausePoolExhausted, fleet.CauseNodeLost, fleet.CauseBackoff, fleet.CauseNotBefore, fleet.CauseHeld} {
		if seen[cause] == 0 {
			t.Errorf("no job was read back as %s", cause)
		}
	}
}

// aged plays a history, loses all nodes and submits some more.
func aged(t *testing.T, seed uint64) *world {
	w := begun(t, seed, false)
	for range 400 {
		w.step()
	}
	w.calm = true
	for len(w.admin) > 0 {
		w.listen()
	}
	for i := range w.store.pools {
		w.store.pools[i].State = fleet.PoolActive
		w.d.PutPool(w.now, w.store.pools[i], w.pending)
		w.after()
	}
	for range 5 { // they take on work, and are lost with it
		w.commit()
		for _, a := range w.agents {
			w.connect(a)
			w.readAll(a)
		}
	}
	for _, a := range w.agents {
		w.disconnect(a)
	}
	w.pass(80_000)
	for range 5 {
		w.submitAny()
	}
	w.pass(11_000)
	for w.inFlight != nil || w.pending.Durable() {
		w.start()
		w.finish(0)
	}
	return w
}

// forNodes leaves out what a row does not say of the time since it was written.
func forNodes(w fleet.WaitLedger) fleet.WaitLedger {
	w.Pool, w.Fairness, w.Quota = w.Pool+w.Fairness+w.Quota, 0, 0
	return w
}

func same(t *testing.T, seed uint64, snap *Snapshot, lived, read *future) {
	for i := range snap.Jobs {
		id := snap.Jobs[i].Spec.ID
		a, b := lived.rows[id], read.rows[id]
		if snap.Jobs[i].Row.Cause == fleet.CauseHeld {
			a.Waits.Hold, b.Waits.Hold = 0, 0 // its row does not say since when
		}
		a.Waits, b.Waits = forNodes(a.Waits), forNodes(b.Waits)
		a.Decision, b.Decision = nil, nil
		if a != b {
			t.Errorf("seed %d: %+v\n lived %+v\n read  %+v", seed, snap.Jobs[i].Row, a, b)
		}
	}
}

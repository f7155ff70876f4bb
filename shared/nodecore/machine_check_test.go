package nodecore

import (
	"slices"

	"pgregory.net/rapid"
)

func (w *world) checkSends(t *rapid.T) {
	for _, s := range w.out.Sends {
		if s.Conn != w.open || !w.upgraded {
			t.Fatalf("message %d on connection %d, open is %d", s.Kind, s.Conn, w.open)
		}
		if s.Kind == SendResult && (!w.owed[s.Ref] || w.verdicts[s.Ref]) {
			t.Fatalf("result %v sent that is not in the spool", s.Ref)
		}
		if s.Kind == SendHello && (s.Chain != w.chain || w.writing != "") {
			t.Fatalf("hello says chain %q, the disk holds %q and is asked for %q", s.Chain, w.chain, w.writing)
		}
		if s.Kind == SendHeartbeat && s.State.Unsaved != w.unstored {
			t.Fatalf("a heartbeat says unsaved: %v, and the chain value is not stored: %v", s.State.Unsaved, w.unstored)
		}
	}
}

func (w *world) checkConnections(t *rapid.T) {
	for _, h := range w.out.Hangups {
		if h.Conn == w.open {
			w.open, w.upgraded = 0, false
		}
	}
	for _, d := range w.out.Dials {
		if w.open != 0 {
			t.Fatalf("dial %d while %d is open", d.Conn, w.open)
		}
		w.open = d.Conn
	}
}

func (w *world) checkWork(t *rapid.T) {
	for _, ref := range w.out.Starts {
		if w.started[ref] {
			t.Fatalf("%v started twice", ref)
		}
		w.started[ref] = true
		w.living = append(w.living, ref)
	}
	for _, s := range w.out.Stops {
		if w.stopped[s.Ref] || !slices.Contains(w.living, s.Ref) {
			t.Fatalf("%v stopped twice, or without a process", s.Ref)
		}
		w.stopped[s.Ref] = true
	}
	for _, r := range w.out.Reports {
		if slices.Contains(w.reports, r.Ref) {
			t.Fatalf("%v is being written already", r.Ref)
		}
		w.reports = append(w.reports, r.Ref)
		w.owed[r.Ref] = true
	}
	for _, f := range w.out.Frees {
		if !w.verdicts[f.Ref] {
			t.Fatalf("%v left the spool without a verdict", f.Ref)
		}
		delete(w.owed, f.Ref)
	}
	w.checkBooks(t)
}

// checkHold: a node is held after three starts in a row that failed and until a
// self-test has passed, takes nothing meanwhile, and tests one at a time.
func (w *world) checkHold(t *rapid.T) {
	held := w.unstarted >= holdAfter
	if w.out.SelfTest {
		if !held || w.testing {
			t.Fatalf("a self-test is asked for: held %v, one under way %v", held, w.testing)
		}
		w.testing = true
	}
	if s := w.node.State(); s.Accepting && held || !s.Accepting && s.Reason == "" {
		t.Fatalf("%d starts failed in a row, and the node says %+v", w.unstarted, s)
	}
	for _, s := range w.out.Sends {
		if s.Kind == SendHeartbeat && s.State.Accepting && held {
			t.Fatal("a heartbeat of a held node takes work")
		}
	}
	if held && !w.testing && !w.exited && !w.out.Exit && w.node.Next() == Never {
		t.Fatal("a held node waits for nothing")
	}
}

func (w *world) checkBooks(t *rapid.T) {
	n, used := w.node, 0
	for i := range n.slots.work {
		if a := &n.slots.work[i]; a.phase != PhaseEnded {
			used += max(w.offered[a.ref], 1)
		}
	}
	if used != n.slots.used || used > n.cfg.Slots {
		t.Fatalf("%d slots used of %d, the books say %d", used, n.cfg.Slots, n.slots.used)
	}
	if held := len(n.spool.list) + len(n.slots.work); held > n.cfg.SpoolMax {
		t.Fatalf("%d results held or to come, the spool takes %d", held, n.cfg.SpoolMax)
	}
	if s := n.State(); s.Spooled != len(w.owed) {
		t.Fatalf("the node says %d spooled, it owes %d results", s.Spooled, len(w.owed))
	}
	for _, ref := range w.living {
		if a := n.slots.find(ref); a == nil || a.phase != PhaseRunning && a.phase != PhaseStopping {
			t.Fatalf("%v runs and the node does not list it", ref)
		}
	}
}

func (e *Effects) countAll() []Time {
	return []Time{Time(len(e.Sends)), Time(len(e.Hangups)), Time(len(e.Dials)), Time(len(e.Notes))}
}

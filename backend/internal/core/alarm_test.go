package core

import (
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
)

// lasting gives the only alarm of the kind that lasts, or none.
func (w *world) lasting(kind fleet.AlarmKind) (found fleet.Alarm) {
	for _, a := range w.d.Alarms() {
		if a.Kind != kind {
			continue
		}
		if found.ID != 0 {
			w.fail("two alarms %s last: %+v and %+v", kind, found, a)
		}
		found = a
	}
	return found
}

func TestAlarm_NodeLostUntilItIsBack(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	w.run(w.spec("a1", 1), a)
	w.disconnect(a)
	w.pass(60_000)
	if got := w.lasting(fleet.AlarmNodeLost); got.ID != 0 {
		t.Fatalf("before the lease ran out: %+v", got)
	}
	w.pass(40_000)
	lost := w.lasting(fleet.AlarmNodeLost)
	if lost.ID != 7<<20+1 || lost.Node != "n1" || lost.Pool != "pool-1" || lost.Count != 1 || lost.Detail != "nothing was heard of it for 1m 30s; 1 attempt was taken from it" {
		t.Fatalf("lost: %+v", lost)
	}
	w.commit()
	w.reload() // another process finds it lost again
	w.after()
	w.pass(200_000)
	w.commit()
	if again := w.lasting(fleet.AlarmNodeLost); again.ID != lost.ID || again.Count != 1 {
		t.Fatalf("after a restart: %+v", again)
	}
	w.join(a)
	w.commit()
	if row := w.store.alarms.rows[lost.ID]; row.ResolvedAt == 0 || w.lasting(fleet.AlarmNodeLost).ID != 0 {
		t.Fatalf("it is back, and %+v", row)
	}
}

func TestAlarm_NodeLostEndsWhenItLeaves(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	w.disconnect(w.agents[0])
	w.pass(100_000)
	lost := w.lasting(fleet.AlarmNodeLost)
	w.d.RevokeNode(w.now, w.gone("n1"), "sold", w.pending)
	w.after()
	w.commit()
	if row := w.store.alarms.rows[lost.ID]; lost.ID == 0 || row.ResolvedAt == 0 {
		t.Fatalf("it has left, and %+v", row)
	}
}

func TestAlarm_PeopleAcknowledgeAndSilence(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	w.disconnect(a)
	w.pass(100_000)
	lost := w.lasting(fleet.AlarmNodeLost)
	by := Actor{Subject: "u:1", Address: "10.0.0.1", RequestID: "r1"}
	if w.d.AckAlarm(w.now, lost.ID+100, by, "ann", w.pending) || w.d.SilenceAlarm(w.now, lost.ID+100, w.now+1, by, "ann", "", w.pending) {
		t.Fatal("an alarm that is none was acknowledged")
	}
	until := w.now + fleet.Time(time.Hour.Milliseconds())
	if !w.d.AckAlarm(w.now, lost.ID, by, "ann", w.pending) || !w.d.SilenceAlarm(w.now, lost.ID, until, by, "bob", "moving house", w.pending) {
		t.Fatal("it was not taken")
	}
	w.wantAudit(AuditAlarmAcknowledged)
	w.wantAudit(AuditAlarmSilenced)
	if note := w.pending.Audits[len(w.pending.Audits)-1]; note.Alarm != lost.ID || *note.By != by || note.Detail != "moving house" {
		t.Fatalf("the note is %+v", note)
	}
	w.commit()
	if row := w.store.alarms.rows[lost.ID]; row.AckedBy != "ann" || row.AckedAt != w.now || row.SilencedBy != "bob" || row.SilencedUntil != until {
		t.Fatalf("stored: %+v", row)
	}
	w.join(a)
	w.commit()
	w.reload() // the silence outlives the alarm and the process
	w.after()
	w.disconnect(a)
	w.pass(100_000)
	next := w.lasting(fleet.AlarmNodeLost)
	if next.ID <= lost.ID || next.AckedBy != "" || next.SilencedBy != "bob" || next.SilencedUntil != until {
		t.Fatalf("raised anew: %+v", next)
	}
	if !w.d.SilenceAlarm(w.now, next.ID, w.now, by, "ann", "", w.pending) {
		t.Fatal("the silence does not end")
	}
	if now := w.lasting(fleet.AlarmNodeLost); now.SilencedBy != "" || now.SilencedUntil != 0 {
		t.Fatalf("not silenced any more: %+v", now)
	}
}

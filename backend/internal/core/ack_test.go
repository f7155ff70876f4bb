package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

// Heartbeats in a row are answered together: the first at once, the others within
// ackPause, none never. What asks something of the node does not wait.
func TestHeartbeat_OneAcknowledgementCoversARow(t *testing.T) {
	w := script(t, fleet.NodeRecord{ID: "n1", Pool: "p", Role: "worker", Capacity: fleet.Vector{Slots: 1}})
	n := w.d.nodes["n1"]
	out := &Effects{}
	beat := func(now fleet.Time, hb HeartbeatEvent) (acks int) {
		out.Reset()
		w.d.Heartbeat(now, "n1", n.epoch, hb, out)
		for i := range out.Sends {
			if out.Sends[i].Kind == SendHeartbeatAck {
				acks++
			}
		}
		return acks
	}
	fine := HeartbeatEvent{Accepting: true, Healthy: true}
	now := w.now + 10*w.d.ackPause()
	if got := beat(now, fine); got != 1 {
		t.Fatalf("the first of a row has %d answers", got)
	}
	for i := range fleet.Time(3) {
		if got := beat(now+1+i, fine); got != 0 {
			t.Fatalf("number %d of a row has %d answers at once", i+2, got)
		}
	}
	stray := HeartbeatEvent{Accepting: true, Healthy: true, Running: []Running{{Job: probeJob, Attempt: 1}}}
	if got := beat(now+5, stray); got != 1 || len(out.Sends[0].Ack.Void) != 1 {
		t.Fatalf("one that names strange work has %d answers: %+v", got, out.Sends)
	}
	if got := beat(now+6, fine); got != 0 {
		t.Fatalf("the next one has %d answers at once", got)
	}
	out.Reset()
	for w.d.Next() <= now+5+w.d.ackPause() {
		w.d.Tick(w.d.Next(), out)
	}
	if len(out.Sends) != 1 || !out.Sends[0].Ack.Plain() {
		t.Fatalf("a pause later the row has these answers: %+v", out.Sends)
	}
}

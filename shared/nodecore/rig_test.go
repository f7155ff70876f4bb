package nodecore

import (
	"testing"

	"rockpool/shared/ids"
)

// rig drives one node by hand and keeps what it wanted last.
type rig struct {
	*Node
	t   *testing.T
	now Time
	out Effects
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	cfg := Config{Seed: 7, Slots: 2, Runners: []string{"checksum"}, Backend: "cpu", StopTimeout: minute}
	if change != nil {
		change(&cfg)
	}
	return &rig{Node: New(cfg), t: t}
}

func ref(job byte, attempt int32) Ref { return Ref{Job: ids.JobID{15: job}, Attempt: attempt} }

// tick lets the time of the next deadline come.
func (r *rig) tick() *Effects {
	r.t.Helper()
	if r.Next() == Never {
		r.t.Fatal("nothing is due any more")
	}
	r.now = max(r.now, r.Next())
	r.out.Reset()
	r.Tick(r.now, &r.out)
	return &r.out
}

// until ticks, without any answer from outside, until the effects are as wanted.
func (r *rig) until(what string, ok func(*Effects) bool) *Effects {
	r.t.Helper()
	for range 1000 {
		if out := r.tick(); ok(out) {
			return out
		}
	}
	r.t.Fatalf("%s: did not come; last effects %+v", what, r.out)
	return nil
}

func (r *rig) event(f func(now Time, out *Effects)) *Effects {
	r.out.Reset()
	f(r.now, &r.out)
	return &r.out
}

func (r *rig) dial() int64 {
	r.t.Helper()
	out := r.until("a dial", func(e *Effects) bool { return len(e.Dials) == 1 })
	return out.Dials[0].Conn
}

// welcome brings the node to a live session.
func (r *rig) welcome(void ...Ref) int64 {
	r.t.Helper()
	conn := r.dial()
	out := r.event(func(now Time, out *Effects) { r.Dialed(now, conn, out) })
	if len(out.Sends) != 1 || out.Sends[0].Kind != SendHello {
		r.t.Fatalf("after the dial: %+v, want hello", out.Sends)
	}
	r.event(func(now Time, out *Effects) {
		r.Welcome(now, conn, Welcome{Registration: Registration{NodeID: "n1", Epoch: 1}, Times: defaultTimes, Void: void}, out)
	})
	if !r.Live() {
		r.t.Fatal("not live after welcome")
	}
	return conn
}

func (r *rig) ack(conn int64, a Ack) *Effects {
	return r.event(func(now Time, out *Effects) { r.HeartbeatAck(now, conn, a, out) })
}

func sent(e *Effects, kind SendKind) (found []Send) {
	for _, s := range e.Sends {
		if s.Kind == kind {
			found = append(found, s)
		}
	}
	return found
}

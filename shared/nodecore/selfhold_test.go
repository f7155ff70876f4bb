package nodecore

import (
	"strings"
	"testing"
)

var (
	ran       = End{Ran: true}
	unstarted = End{Unstarted: "program gone"}
	unfit     = End{}
	stopped   = End{Stopped: true}
)

// endAll brings attempts to their ends, one after the other.
func (r *rig) endAll(conn int64, ends ...End) {
	r.t.Helper()
	for i, end := range ends {
		ref := ref(byte(i+1), 1)
		r.offer(conn, Offer{Ref: ref, Runner: "checksum", Slots: 1})
		r.start(conn, ref)
		r.event(func(now Time, out *Effects) { r.Finished(now, ref, end, out) })
		r.event(func(now Time, out *Effects) { r.Stored(now, ref, 100, out) })
		r.event(func(now Time, out *Effects) { r.ResultAck(now, conn, ref, "stored", out) })
	}
}

func TestSelfHold_ComesWithTheThirdInARow(t *testing.T) {
	for name, tc := range map[string]struct {
		ends []End
		held bool
	}{
		"two":                     {[]End{unstarted, unstarted}, false},
		"three":                   {[]End{unstarted, unstarted, unstarted}, true},
		"one that ran between":    {[]End{unstarted, unstarted, ran, unstarted}, false},
		"three after it":          {[]End{ran, unstarted, unstarted, unstarted}, true},
		"what tells nothing":      {[]End{unstarted, unfit, unstarted, stopped, unfit, unstarted}, true},
		"payloads that don't fit": {[]End{unfit, unfit, unfit, unfit}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			conn := r.welcome()
			r.endAll(conn, tc.ends...)
			s := r.State()
			if s.Accepting == tc.held || tc.held != strings.Contains(s.Reason, ReasonStartsFailing+": program gone") {
				t.Errorf("the node says %+v, held is to be %v", s, tc.held)
			}
			d := sent(r.offer(conn, Offer{Ref: ref(99, 1), Runner: "checksum", Slots: 1}), SendDecline)
			if got := len(d) == 1 && d[0].Reason == ReasonStartsFailing; got != tc.held {
				t.Errorf("declined %+v, held is to be %v", d, tc.held)
			}
		})
	}
}

func TestSelfHold_IsToldAtOnceAndEndsWithASelfTestEachMinute(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.endAll(conn, unstarted, unstarted, unstarted)
	since := r.now
	beat := r.until("a heartbeat", func(e *Effects) bool { return len(sent(e, SendHeartbeat)) == 1 })
	if s := sent(beat, SendHeartbeat)[0].State; s.Accepting || r.now-since > defaultTimes.Heartbeat/10 {
		t.Errorf("%d ms after the third failure the node said %+v", r.now-since, s)
	}
	for i := range Time(3) {
		r.until("a self-test", func(e *Effects) bool {
			r.keeper.acknowledged(r.now)
			return e.SelfTest
		})
		if want := since + (i+1)*DefaultSelfTestWait; r.now != want {
			t.Errorf("self-test %d came at %d, want %d", i+1, r.now, want)
		}
		r.event(func(now Time, out *Effects) { r.SelfTested(now, "disk full", out) })
		if s := r.State(); s.Accepting || s.Reason != ReasonStartsFailing+": disk full" {
			t.Errorf("after a self-test that failed the node says %+v", s)
		}
	}
	r.until("a self-test", func(e *Effects) bool {
		r.keeper.acknowledged(r.now)
		return e.SelfTest
	})
	r.event(func(now Time, out *Effects) { r.SelfTested(now, "", out) })
	if s := r.State(); !s.Accepting || s.Reason != "" {
		t.Errorf("after a self-test that passed the node says %+v", s)
	}
	r.event(func(now Time, out *Effects) { r.SelfTested(now, "late", out) })
	if s := r.State(); !s.Accepting {
		t.Errorf("an answer that nobody asked for holds the node: %+v", s)
	}
}

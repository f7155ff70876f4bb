package nodecore

import (
	"testing"
)

func TestKeeper_DialsWithoutEndOneAtATime(t *testing.T) {
	r := newRig(t, nil)
	open, dials := false, 0
	for range 400 {
		for _, h := range r.tick().Hangups {
			if h.Conn != r.keeper.conn {
				t.Fatalf("hung up %d, dialing %d", h.Conn, r.keeper.conn)
			}
			open = false
		}
		for range r.out.Dials {
			if open {
				t.Fatal("a second dial while one is open")
			}
			open = true
			dials++
		}
	}
	if dials < 190 {
		t.Errorf("%d dials in 400 deadlines, want a dial after each that got no answer", dials)
	}
}

func TestKeeper_BackoffBeginsAnewAfterHealth(t *testing.T) {
	for _, tc := range []struct {
		healthy Time
		tries   int
	}{{59 * second, 4}, {60 * second, 1}} {
		r := newRig(t, nil)
		r.keeper.redial.tries = 3
		conn := r.welcome()
		for end := r.now + tc.healthy; r.now < end; {
			r.ack(conn, Ack{OK: true, Reconnect: -1})
			r.now = min(end, r.Next())
			r.event(r.Tick)
		}
		r.event(func(now Time, out *Effects) { r.Closed(now, conn, 0, out) })
		if r.keeper.redial.tries != tc.tries {
			t.Errorf("after %d s of health: %d tries, want %d", tc.healthy/second, r.keeper.redial.tries, tc.tries)
		}
	}
}

func TestKeeper_WaitsForTheFloor(t *testing.T) {
	for name, tc := range map[string]struct{ floor, min, max Time }{
		"broken":              {FloorOfStatus(500, 0), 0, 5 * second},
		"retry after":         {FloorOfStatus(503, 20*second), 20 * second, 25 * second},
		"retry after bounded": {FloorOfStatus(503, 100*hour), hour, hour + 5*second},
		"unauthorized":        {FloorOfStatus(401, 0), 2 * minute, 2*minute + 5*second},
		"forbidden":           {FloorOfStatus(403, 5*minute), 5 * minute, 5*minute + 5*second},
		"revoked":             {hour, hour, hour + 5*second},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			conn := r.dial()
			r.event(func(now Time, out *Effects) { r.Closed(now, conn, tc.floor, out) })
			wait := r.Next() - r.now
			if wait < tc.min || wait > tc.max {
				t.Errorf("next dial after %d ms, want %d to %d", wait, tc.min, tc.max)
			}
			if out := r.tick(); len(out.Dials) != 1 {
				t.Errorf("then %+v, want a dial", out)
			}
		})
	}
}

func TestCase_N2_MuteServerIsGivenUpAfterRPCTimeout(t *testing.T) {
	r := newRig(t, func(c *Config) { c.RPCTimeout = 2 * second })
	conn := r.dial()
	r.event(func(now Time, out *Effects) { r.Dialed(now, conn, out) })
	since := r.now
	out := r.until("a hangup", func(e *Effects) bool { return len(e.Hangups) == 1 })
	if took := r.now - since; took != 2*second || out.Hangups[0].Conn != conn {
		t.Errorf("hung up %d after %d ms, want %d after 2000", out.Hangups[0].Conn, took, conn)
	}
}

func TestCase_N1_DeadLinkIsFoundWithinTheSuspectTime(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.now += 9 * second
	r.ack(conn, Ack{OK: true, Reconnect: -1})
	since := r.now
	r.until("a hangup", func(e *Effects) bool { return len(e.Hangups) == 1 })
	if took := r.now - since; took != 25*second {
		t.Errorf("dead link found after %d ms, want 25000", took)
	}
	if next := r.dial(); next == conn {
		t.Errorf("redial has the old number %d", next)
	}
}

func TestKeeper_HeartbeatsEveryTenSecondsGiveOrTakeAFifth(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	var last Time
	for range 200 {
		out := r.until("a heartbeat", func(e *Effects) bool { return len(sent(e, SendHeartbeat)) == 1 })
		if gap := r.now - last; last != 0 && (gap < 8*second || gap > 12*second) {
			t.Fatalf("heartbeat after %d ms, want 8000 to 12000", gap)
		}
		if out.Sends[0].Conn != conn {
			t.Fatalf("heartbeat on %d, want %d", out.Sends[0].Conn, conn)
		}
		last = r.now
		r.ack(conn, Ack{OK: true, Reconnect: -1})
	}
}

func TestKeeper_MeasuresTheRoundTripOfTheOldestHeartbeatWithoutAnAnswer(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	beat := func() State {
		t.Helper()
		out := r.until("a heartbeat", func(e *Effects) bool { return len(sent(e, SendHeartbeat)) == 1 })
		return out.Sends[0].State
	}
	ack := func(after, want Time) {
		t.Helper()
		r.now += after
		if r.ack(conn, Ack{OK: true, Reconnect: -1}); r.State().RoundTrip != want {
			t.Fatalf("a round trip of %d ms, want %d", r.State().RoundTrip, want)
		}
	}
	if r.State().RoundTrip != 0 { // the first heartbeat follows the welcome at once
		t.Error("a round trip before any answer")
	}
	ack(14, 14)
	beat()
	ack(0, 1) // 0 would say that none was measured
	beat()
	first := r.now
	if trip := beat().RoundTrip; trip != 1 {
		t.Errorf("a heartbeat says %d", trip)
	}
	ack(5, r.now+5-first)
	ack(5, r.now-first) // that of the second: nothing waits for it any more
}

func TestCase_N6_RefusedHeartbeatLeadsToANewHello(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	out := r.ack(conn, Ack{OK: false})
	if len(out.Hangups) != 1 || r.Live() {
		t.Fatalf("after ok:false %+v, want a hangup", out)
	}
	if second := r.welcome(); second == conn {
		t.Error("no new connection")
	}
}

func TestKeeper_LateAnswersDoNotReviveADeadSession(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.now += 10 * minute // the process was stopped; its socket's buffer is full of old answers
	out := r.ack(conn, Ack{OK: true, Reconnect: -1})
	if r.Live() || len(out.Hangups) != 1 {
		t.Errorf("live = %v, %+v: want the session dropped", r.Live(), out)
	}
}

func TestKeeper_PlannedRedialComesWhenAsked(t *testing.T) {
	for name, closed := range map[string]bool{"server closed before": true, "server still there": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			conn := r.welcome()
			asked := r.now
			r.ack(conn, Ack{OK: true, Reconnect: 8 * second})
			r.ack(conn, Ack{OK: true, Reconnect: 8 * second})
			if closed {
				r.now += second
				r.event(func(now Time, out *Effects) { r.Closed(now, conn, 0, out) })
			}
			r.dial()
			if waited := r.now - asked; waited != 8*second {
				t.Errorf("dialed after %d ms, want 8000", waited)
			}
		})
	}
}

func TestKeeper_EventsOfOldConnectionsChangeNothing(t *testing.T) {
	r := newRig(t, nil)
	old := r.welcome()
	r.ack(old, Ack{OK: false})
	conn := r.welcome()
	r.event(func(now Time, out *Effects) {
		r.Closed(now, old, hour, out)
		r.HeartbeatAck(now, old, Ack{OK: false}, out)
		r.Offer(now, old, Offer{Ref: ref(1, 1), Runner: "checksum"}, out)
		r.Refused(now, old, Refusal{Fatal: true}, out)
	})
	if !r.Live() || r.keeper.conn != conn || len(r.out.Sends) > 0 && r.out.Sends[0].Kind == SendAccept {
		t.Errorf("an old connection's events had an effect: %+v", r.out)
	}
	r.event(func(now Time, out *Effects) { r.Dialed(now, old, out) })
	if len(r.out.Hangups) != 1 || r.out.Hangups[0].Conn != old {
		t.Errorf("a dial that came too late: %+v, want it hung up", r.out)
	}
}

func TestKeeper_FatalRefusalIsRetriedSlowly(t *testing.T) {
	r := newRig(t, nil)
	conn := r.dial()
	r.event(func(now Time, out *Effects) { r.Dialed(now, conn, out) })
	out := r.event(func(now Time, out *Effects) {
		r.Refused(now, conn, Refusal{Code: "license_limit", Detail: "5 of 5 in use", Fatal: true}, out)
	})
	if len(out.Hangups) != 1 || len(out.Notes) != 1 || !out.Notes[0].Attention {
		t.Errorf("refusal: %+v, want a hangup and an alert", out)
	}
	if wait := r.Next() - r.now; wait < 2*minute {
		t.Errorf("next dial after %d ms, want minutes", wait)
	}
}

func TestTimes_ServerCantMakeANodeSpin(t *testing.T) {
	got := Times{Heartbeat: 1, Suspect: 1, RedialWindow: 1000 * hour}.bounded()
	if got.Heartbeat != minHeartbeat || got.Suspect < 2*got.Heartbeat || got.RedialWindow != maxRedialWindow {
		t.Errorf("bounded to %+v", got)
	}
	if p := (Times{Heartbeat: 10 * second, Suspect: 150 * second}).patience(); p != minute {
		t.Errorf("patience %d, want 60 s", p)
	}
}

func TestRotated_IsSaidAndTheNextSessionBeginsAtOnce(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.event(func(now Time, out *Effects) {
		r.Offer(now, conn, Offer{Ref: ref(1, 1), Runner: "checksum"}, out)
		r.Start(now, conn, ref(1, 1), out)
	})
	out := r.event(func(now Time, out *Effects) { r.Rotated(now, "rot-1", out) })
	said := sent(out, SendRotated)
	if len(said) != 1 || said[0].ID != "rot-1" || len(out.Hangups) != 1 || !out.Hangups[0].Gently || len(out.Stops) != 0 {
		t.Fatalf("%+v, want the word, a gentle end and no stop of the work", out)
	}
	if r.Next() != r.now {
		t.Errorf("dials in %d ms, want at once", r.Next()-r.now)
	}
	again := r.dial()
	hello := sent(r.event(func(now Time, out *Effects) { r.Dialed(now, again, out) }), SendHello)
	if len(hello) != 1 || len(hello[0].State.Work) != 1 {
		t.Errorf("hello %+v, want one that lists the work", hello)
	}
}

func TestRedial_WithoutASessionSaysNothing(t *testing.T) {
	r := newRig(t, nil)
	conn := r.dial()
	out := r.event(func(now Time, out *Effects) { r.Redial(now, "another secret", out) })
	if len(out.Sends) != 0 || len(out.Hangups) != 1 || out.Hangups[0].Conn != conn || out.Hangups[0].Gently {
		t.Errorf("%+v, want the dial given up", out)
	}
	if r.dial() == conn {
		t.Error("no new dial")
	}
}

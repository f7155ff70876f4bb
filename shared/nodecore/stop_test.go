package nodecore

import "testing"

func TestCase_N12_StopWithoutServerEndsAtOnce(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Spooled = []Ref{ref(1, 1)} })
	conn := r.dial()
	out := r.event(r.Stop)
	if !out.Exit || len(out.Hangups) != 1 || out.Hangups[0].Conn != conn || len(out.Sends) != 0 {
		t.Errorf("%+v, want the end at once, the dial dropped, nothing sent", out)
	}
	if r.Next() != Never {
		t.Error("something is due after the end")
	}
}

func TestCase_N18_StopLetsWorkEndAndWaitsForTheVerdict(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.run(conn, ref(1, 1))
	r.now += second
	out := r.event(r.Stop)
	if out.Exit || len(out.Stops) != 0 {
		t.Fatalf("%+v: running work was not left alone", out)
	}
	if beats := sent(out, SendHeartbeat); len(beats) != 1 || beats[0].State.Accepting || beats[0].State.Reason != ReasonStopping {
		t.Errorf("%+v, want a heartbeat that says stopping", out.Sends)
	}
	if d := sent(r.offer(conn, Offer{Ref: ref(2, 1), Runner: "checksum"}), SendDecline); len(d) != 1 {
		t.Error("an offer was taken while stopping")
	}
	r.event(func(now Time, out *Effects) { r.Finished(now, ref(1, 1), End{Ran: true}, out) })
	if out := r.event(func(now Time, out *Effects) { r.Stored(now, ref(1, 1), 100, out) }); out.Exit || len(results(out)) != 1 {
		t.Fatalf("%+v, want the result sent and its verdict waited for", out)
	}
	out = r.event(func(now Time, out *Effects) { r.ResultAck(now, conn, ref(1, 1), "stored", out) })
	if !out.Exit || len(sent(out, SendGoodbye)) != 1 || len(out.Hangups) != 1 || !out.Hangups[0].Gently {
		t.Errorf("%+v, want goodbye and the end", out)
	}
}

func TestCase_N38_HeartbeatsGoOnWhileStopping(t *testing.T) {
	r := newRig(t, func(c *Config) { c.StopTimeout = 5 * minute })
	conn := r.welcome()
	r.run(conn, ref(1, 1))
	begun := r.now
	r.event(r.Stop)
	beats := 0
	r.until("the stop deadline", func(e *Effects) bool {
		beats += len(sent(e, SendHeartbeat))
		stopped := len(e.Stops) == 1
		r.ack(conn, Ack{OK: true, Reconnect: -1})
		return stopped
	})
	if took := r.now - begun; took != 5*minute || beats < 25 {
		t.Errorf("stopped after %d ms with %d heartbeats, want 300000 and one every 10 s", took, beats)
	}
	out := r.event(func(now Time, out *Effects) { r.Finished(now, ref(1, 1), End{Stopped: true}, out) })
	if len(out.Reports) != 1 || out.Reports[0].As != ReportShutdown {
		t.Errorf("%+v, want a report of the shutdown", out.Reports)
	}
}

func TestStop_SecondOneEndsWorkNow(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.run(conn, ref(1, 1))
	r.event(r.Stop)
	if out := r.event(r.Stop); len(out.Stops) != 1 {
		t.Errorf("%+v, want the work stopped", out)
	}
	if out := r.event(r.Stop); len(out.Stops) != 0 {
		t.Error("a third signal stopped it again")
	}
	begun := r.now
	r.until("the end although the work does not die", func(e *Effects) bool {
		r.keeper.acknowledged(r.now)
		return e.Exit
	})
	if took := r.now - begun; took >= 15*second {
		t.Errorf("ended after %d ms, want less than the 15 s that a supervisor gives", took)
	}
}

func TestStop_EndsWithTheResultSpooledWhenNoVerdictComes(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Spooled = []Ref{ref(1, 1)} })
	r.welcome()
	begun := r.now
	r.event(r.Stop)
	r.until("the end", func(e *Effects) bool { return e.Exit })
	if took := r.now - begun; took != ackWait {
		t.Errorf("waited %d ms for the verdict, want %d", took, ackWait)
	}
}

func TestStop_AcceptedAttemptMayStillStartUnderASession(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.offer(conn, Offer{Ref: ref(1, 1), Runner: "checksum"})
	if r.event(r.Stop).Exit {
		t.Fatal("ended while a start may be on its way")
	}
	if out := r.start(conn, ref(1, 1)); len(out.Starts) != 1 {
		t.Error("the start of work that was accepted before did not run")
	}
}

package nodecore

import "testing"

// chained opens a session whose welcome gives a chain value, which is not stored yet.
func (r *rig) chained(value string) int64 {
	r.t.Helper()
	conn := r.dial()
	out := r.event(func(now Time, out *Effects) { r.Dialed(now, conn, out) })
	if hello := sent(out, SendHello); len(hello) != 1 {
		r.t.Fatalf("after the dial: %+v, want hello", out.Sends)
	}
	r.event(func(now Time, out *Effects) {
		w := Welcome{Registration: Registration{NodeID: "n1", Epoch: 1, Chain: value}, Times: defaultTimes}
		r.Welcome(now, conn, w, out)
	})
	return conn
}

func (r *rig) remembered(value string, ok bool) *Effects {
	return r.event(func(now Time, out *Effects) { r.Remembered(now, value, ok, out) })
}

func (r *rig) closed(conn int64) *Effects {
	return r.event(func(now Time, out *Effects) { r.Closed(now, conn, 0, out) })
}

// says is the chain value of the next hello.
func (r *rig) says() string {
	r.t.Helper()
	conn := r.dial()
	hello := sent(r.event(func(now Time, out *Effects) { r.Dialed(now, conn, out) }), SendHello)
	if len(hello) != 1 {
		r.t.Fatal("no hello")
	}
	return hello[0].Chain
}

func TestChain_IsStoredBeforeTheFirstHeartbeat(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Chain = "c0" })
	r.chained("c1")
	if beats := sent(&r.out, SendHeartbeat); len(r.out.Welcomed) != 1 || r.out.Welcomed[0].Chain != "c1" || len(beats) != 0 {
		t.Fatalf("after welcome: %+v, want the value stored and no heartbeat", r.out)
	}
	if out := r.remembered("c1", true); len(sent(out, SendHeartbeat)) != 1 {
		t.Errorf("no heartbeat once the value is stored: %+v", out.Sends)
	}
	r.closed(r.keeper.conn)
	if got := r.says(); got != "c1" {
		t.Errorf("hello says %q, want c1", got)
	}
}

// TestChain_NoHelloWhileAValueIsWritten: the control plane would forget c1, which
// stands on the disk a moment later.
func TestChain_NoHelloWhileAValueIsWritten(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Chain = "c0" })
	r.closed(r.chained("c1"))
	if r.Next() != Never {
		t.Fatal("a dial is planned while the value is being written")
	}
	r.remembered("c1", true)
	if got := r.says(); got != "c1" {
		t.Errorf("hello says %q, want c1", got)
	}
}

func TestChain_FailedWriteIsRepeatedAndHoldsTheHeartbeatBack(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Chain = "c0" })
	conn := r.chained("c1")
	for range 3 {
		r.remembered("c1", false)
		out := r.tick()
		if len(out.Welcomed) != 1 || out.Welcomed[0].Chain != "c1" || len(sent(out, SendHeartbeat)) > 0 {
			t.Fatalf("%+v, want another try and no heartbeat", out)
		}
	}
	r.remembered("c1", false)
	r.closed(conn)
	if got := r.says(); got != "c0" {
		t.Errorf("hello says %q, want the value that is stored", got)
	}
}

func TestChain_WelcomeWithoutOneLeavesTheOld(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Chain = "c0" })
	conn := r.chained("")
	if len(sent(&r.out, SendHeartbeat)) != 1 {
		t.Error("no heartbeat under a control plane that gives no chain")
	}
	r.closed(conn)
	if got := r.says(); got != "c0" {
		t.Errorf("hello says %q, want c0", got)
	}
}

func TestChain_LostWelcomesRepeatTheSameValue(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Chain = "c0" })
	for range 1000 {
		if got := r.says(); got != "c0" {
			t.Fatalf("hello says %q, want c0", got)
		}
		r.closed(r.keeper.conn)
	}
}

func TestRefused_DuplicateIdentityIsRetriedSlowly(t *testing.T) {
	for wait, least := range map[Time]Time{0: minute, 90 * second: 90 * second} {
		r := newRig(t, nil)
		conn := r.dial()
		r.event(func(now Time, out *Effects) { r.Dialed(now, conn, out) })
		r.event(func(now Time, out *Effects) {
			r.Refused(now, conn, Refusal{Code: "duplicate_identity", RetryAfter: wait}, out)
		})
		if next := r.Next() - r.now; next < least {
			t.Errorf("told %d ms: dials again after %d ms, want %d at least", wait, next, least)
		}
		if r.dial() == conn {
			t.Error("no new connection")
		}
	}
}

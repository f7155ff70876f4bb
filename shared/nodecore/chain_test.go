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

// beats runs until so many heartbeats went out, and gives what they said. The disk
// answers each try so.
func (r *rig) beats(n int, ok bool) (said []State, tries int) {
	r.t.Helper()
	for ; ; r.tick() {
		for _, s := range sent(&r.out, SendHeartbeat) {
			said = append(said, s.State)
			r.keeper.acknowledged(r.now)
		}
		if len(r.out.Welcomed) == 1 {
			tries++
			for _, s := range sent(r.remembered(r.out.Welcomed[0].Chain, ok), SendHeartbeat) {
				said = append(said, s.State)
			}
		}
		if len(said) >= n {
			return said, tries
		}
	}
}

// A disk that can't store the registration keeps no heartbeat back: the work that
// runs would be lost. It keeps new work away, and the control plane from taking the
// value for the node's.
func TestChain_ADiskThatFailsIsSaidAndTakesNoWork(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Chain = "c0" })
	conn := r.chained("c1")
	said, tries := r.beats(4, false)
	if tries < 4 {
		t.Errorf("%d tries to write it", tries)
	}
	for i, s := range said {
		if !s.Unsaved || s.Accepting || s.Reason != ReasonStateFailing {
			t.Errorf("heartbeat %d says %+v", i, s)
		}
	}
	out := r.offer(conn, Offer{Ref: ref(1, 1), Runner: "checksum", Slots: 1})
	if d := sent(out, SendDecline); len(d) != 1 || d[0].Reason != ReasonStateFailing {
		t.Errorf("an offer is answered with %+v", out.Sends)
	}
	if said, _ := r.beats(3, true); said[2].Unsaved || !said[2].Accepting {
		t.Errorf("once it is written: %+v", said)
	}
	r.closed(conn)
	if got := r.says(); got != "c1" {
		t.Errorf("hello says %q", got)
	}
}

func TestChain_AFailingDiskLeavesTheOldValue(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Chain = "c0" })
	conn := r.chained("c1")
	r.remembered("c1", false)
	r.closed(conn)
	if got := r.says(); got != "c0" {
		t.Errorf("hello says %q, want the value that is stored", got)
	}
}

func TestChain_ADiskThatHangsHoldsOneHeartbeatBackForAWhile(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Chain = "c0" })
	r.chained("c1")
	began := r.now
	out := r.until("a heartbeat", func(e *Effects) bool { return len(sent(e, SendHeartbeat)) == 1 })
	if s := sent(out, SendHeartbeat)[0].State; r.now-began != storeWait || !s.Unsaved || s.Reason != ReasonStateFailing {
		t.Errorf("after %d ms: %+v", r.now-began, s)
	}
}

func TestDisk_WithoutRoomTakesNoWorkUntilItHasSome(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	for i, full := range []bool{true, false, true} {
		r.event(func(now Time, out *Effects) { r.Disk(now, full, out) })
		began := r.now
		out := r.until("a heartbeat", func(e *Effects) bool { return len(sent(e, SendHeartbeat)) == 1 })
		s := sent(out, SendHeartbeat)[0].State
		if s.Accepting == full || s.Reason != map[bool]string{true: ReasonDiskFull}[full] || r.now-began > defaultTimes.Heartbeat/10 {
			t.Errorf("full %v: after %d ms %+v", full, r.now-began, s)
		}
		r.keeper.acknowledged(r.now)
		out = r.offer(conn, Offer{Ref: ref(byte(i+1), 1), Runner: "checksum", Slots: 1})
		if declined := len(sent(out, SendDecline)) == 1; declined != full {
			t.Errorf("full %v: an offer is answered with %+v", full, out.Sends)
		}
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

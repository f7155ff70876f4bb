package nodecore

import "testing"

func (r *rig) offer(conn int64, o Offer) *Effects {
	return r.event(func(now Time, out *Effects) { r.Offer(now, conn, o, out) })
}

func (r *rig) start(conn int64, ref Ref) *Effects {
	return r.event(func(now Time, out *Effects) { r.Start(now, conn, ref, out) })
}

// run brings an attempt to running.
func (r *rig) run(conn int64, ref Ref) {
	r.t.Helper()
	if out := r.offer(conn, Offer{Ref: ref, Runner: "checksum", Slots: 1}); len(sent(out, SendAccept)) != 1 {
		r.t.Fatalf("offer: %+v, want accept", out)
	}
	if out := r.start(conn, ref); len(out.Starts) != 1 {
		r.t.Fatalf("start: %+v, want one start", out)
	}
}

func TestOffer_AcceptOrDecline(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*rig)
		offer  Offer
		reason string
	}{
		"fits":              {nil, Offer{Runner: "checksum", Slots: 2}, ""},
		"own backend":       {nil, Offer{Runner: "checksum", Backend: "cpu", Slots: 1}, ""},
		"no demand is one":  {func(r *rig) { r.slots.used = 2 }, Offer{Runner: "checksum"}, ReasonNoSlot},
		"more than free":    {nil, Offer{Runner: "checksum", Slots: 3}, ReasonNoSlot},
		"unknown runner":    {nil, Offer{Runner: "shell", Slots: 1}, ReasonUnknownRunner},
		"another backend":   {nil, Offer{Runner: "checksum", Backend: "cuda", Slots: 1}, ReasonWrongBackend},
		"stopping":          {func(r *rig) { r.stopping, r.stopAt = true, r.now+minute; r.slots.take(ref(9, 1), 1, Never) }, Offer{Runner: "checksum", Slots: 1}, ReasonStopping},
		"spool full":        {func(r *rig) { r.spool.put(ref(7, 1), 1); r.spool.put(ref(8, 1), 1) }, Offer{Runner: "checksum", Slots: 1}, ReasonSpoolFull},
		"spool can't write": {func(r *rig) { r.slots.work = []attempt{{ref: ref(7, 1), phase: PhaseEnded, due: Never - 1}} }, Offer{Runner: "checksum", Slots: 1}, ReasonSpoolFailing},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.SpoolMax = 2 })
			conn := r.welcome()
			if tc.change != nil {
				tc.change(r)
			}
			tc.offer.Ref = ref(1, 1)
			out := r.offer(conn, tc.offer)
			accepted, declined := sent(out, SendAccept), sent(out, SendDecline)
			if tc.reason == "" {
				if len(accepted) != 1 || len(declined) != 0 {
					t.Fatalf("%+v, want accept", out.Sends)
				}
				return
			}
			if len(accepted) != 0 || len(declined) != 1 || declined[0].Reason != tc.reason {
				t.Fatalf("%+v, want decline with %s", out.Sends, tc.reason)
			}
		})
	}
}

func TestCase_N14_OfferBeyondTheSlotsLeavesRunningWorkAlone(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.run(conn, ref(1, 1))
	r.run(conn, ref(2, 1))
	out := r.offer(conn, Offer{Ref: ref(3, 1), Runner: "checksum", Slots: 1})
	if d := sent(out, SendDecline); len(d) != 1 || d[0].Reason != ReasonNoSlot || len(out.Stops) != 0 {
		t.Errorf("third offer: %+v, want decline no_slot and nothing stopped", out)
	}
	if work := r.State().Work; len(work) != 2 || work[0].Phase != PhaseRunning || work[1].Phase != PhaseRunning {
		t.Errorf("work is %+v", work)
	}
}

func TestCase_N16_AcceptWithoutStartFreesTheSlot(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.offer(conn, Offer{Ref: ref(1, 1), Runner: "checksum", Slots: 2})
	since := r.now
	r.until("the attempt forgotten", func(e *Effects) bool {
		r.ack(conn, Ack{OK: true, Reconnect: -1})
		return len(r.slots.work) == 0
	})
	if waited := r.now - since; waited != DefaultStartTimeout || r.slots.used != 0 {
		t.Errorf("freed after %d ms with %d slots used, want 30000 and 0", waited, r.slots.used)
	}
	if out := r.start(conn, ref(1, 1)); len(out.Starts) != 0 {
		t.Error("a start that came too late ran")
	}
}

func TestStart_OnceAndOnlyWhatWasAccepted(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	if out := r.start(conn, ref(1, 1)); len(out.Starts) != 0 {
		t.Error("an attempt that was never offered ran")
	}
	r.run(conn, ref(1, 1))
	if out := r.start(conn, ref(1, 1)); len(out.Starts) != 0 {
		t.Error("a second start ran it again")
	}
	if out := r.start(conn, ref(1, 2)); len(out.Starts) != 0 {
		t.Error("the start of another attempt ran")
	}
	r.event(func(now Time, out *Effects) { r.Finished(now, ref(1, 1), End{Ran: true}, out) })
	r.offer(conn, Offer{Ref: ref(1, 1), Runner: "checksum", Slots: 1})
	if out := r.start(conn, ref(1, 1)); len(out.Starts) != 0 {
		t.Error("an attempt that had ended ran again")
	}
}

func TestCase_E1_HundredCancelsAreOneTerm(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.run(conn, ref(1, 1))
	stops := 0
	for i := range 100 {
		c := Stop{Ref: ref(1, 1), Grace: 3 * second}
		if i%2 == 0 {
			stops += len(r.event(func(now Time, out *Effects) { r.Cancel(now, conn, c, out) }).Stops)
		} else {
			stops += len(r.ack(conn, Ack{OK: true, Cancel: []Stop{c}, Reconnect: -1}).Stops)
		}
	}
	if stops != 1 {
		t.Errorf("%d stops for a hundred cancels, want 1", stops)
	}
	out := r.event(func(now Time, out *Effects) { r.Finished(now, ref(1, 1), End{Stopped: true}, out) })
	if len(out.Reports) != 1 || out.Reports[0].As != ReportCanceled || r.slots.used != 0 {
		t.Errorf("after the end: %+v, want one canceled report and free slots", out)
	}
}

func TestCancel_OfWhatDidNotStartReportsAtOnce(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.offer(conn, Offer{Ref: ref(1, 1), Runner: "checksum", Slots: 1})
	out := r.event(func(now Time, out *Effects) { r.Cancel(now, conn, Stop{Ref: ref(1, 1)}, out) })
	if len(out.Reports) != 1 || out.Reports[0].As != ReportCanceled || len(out.Stops) != 0 {
		t.Errorf("%+v, want a canceled report and no process stopped", out)
	}
}

func TestCancel_ThatCameTooLateLeavesTheResult(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.run(conn, ref(1, 1))
	r.event(func(now Time, out *Effects) { r.Cancel(now, conn, Stop{Ref: ref(1, 1)}, out) })
	out := r.event(func(now Time, out *Effects) { r.Finished(now, ref(1, 1), End{Ran: true}, out) })
	if len(out.Reports) != 1 || out.Reports[0].As != ReportAsIs {
		t.Errorf("%+v, want the result as it is: the work had ended by itself", out.Reports)
	}
}

func TestVoid_StopsAndForgets(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.run(conn, ref(1, 1))
	r.offer(conn, Offer{Ref: ref(2, 1), Runner: "checksum", Slots: 1})
	out := r.event(func(now Time, out *Effects) {
		for range 3 {
			r.Void(now, conn, ref(1, 1), out)
			r.Void(now, conn, ref(2, 1), out)
			r.Void(now, conn, ref(3, 1), out)
		}
	})
	if len(out.Stops) != 1 || len(out.Forgets) != 1 || out.Forgets[0] != ref(2, 1) {
		t.Fatalf("%+v, want one stop and one forgotten", out)
	}
	out = r.event(func(now Time, out *Effects) { r.Finished(now, ref(1, 1), End{Stopped: true}, out) })
	if len(out.Reports) != 0 || len(out.Forgets) != 1 || len(r.slots.work) != 0 {
		t.Errorf("%+v, want it forgotten without a report", out)
	}
}

func TestHello_ListsWhatTheNodeHolds(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Slots = 4; c.Spooled = []Ref{ref(9, 1)} })
	conn := r.welcome()
	r.run(conn, ref(1, 1))
	r.run(conn, ref(2, 1))
	r.run(conn, ref(3, 1))
	r.offer(conn, Offer{Ref: ref(4, 1), Runner: "checksum", Slots: 1})
	r.event(func(now Time, out *Effects) {
		r.Cancel(now, conn, Stop{Ref: ref(2, 1)}, out)
		r.Finished(now, ref(3, 1), End{Ran: true}, out)
		r.Closed(now, conn, 0, out)
	})
	conn = r.dial()
	out := r.event(func(now Time, out *Effects) { r.Dialed(now, conn, out) })
	got := out.Sends[0].State
	want := []Work{{ref(1, 1), PhaseRunning}, {ref(2, 1), PhaseStopping}, {ref(4, 1), PhaseAccepted}}
	if len(got.Work) != 3 || got.Work[0] != want[0] || got.Work[1] != want[1] || got.Work[2] != want[2] {
		t.Errorf("hello lists %+v, want %+v", got.Work, want)
	}
	if got.Spooled != 2 {
		t.Errorf("hello says %d spooled, want 2: one on the disk and one on its way there", got.Spooled)
	}
}

func TestSlots_EveryPhaseAndEvent(t *testing.T) {
	events := map[string]func(*slots, Ref, *Effects){
		"start":    func(s *slots, r Ref, out *Effects) { s.start(r, out) },
		"cancel":   func(s *slots, r Ref, out *Effects) { s.cancel(r, 1, out) },
		"void":     func(s *slots, r Ref, out *Effects) { s.voided(r, 1, out) },
		"finished": func(s *slots, r Ref, out *Effects) { s.finished(r, true, out) },
		"stored":   func(s *slots, r Ref, _ *Effects) { s.stored(r) },
		"timer":    func(s *slots, _ Ref, out *Effects) { s.advance(10, out) },
	}
	const gone = Phase(99)
	table := []struct {
		from  Phase
		event string
		to    Phase
	}{
		{PhaseAccepted, "start", PhaseRunning}, {PhaseAccepted, "cancel", PhaseEnded}, {PhaseAccepted, "void", gone},
		{PhaseAccepted, "finished", PhaseAccepted}, {PhaseAccepted, "stored", PhaseAccepted}, {PhaseAccepted, "timer", gone},
		{PhaseRunning, "start", PhaseRunning}, {PhaseRunning, "cancel", PhaseStopping}, {PhaseRunning, "void", PhaseStopping},
		{PhaseRunning, "finished", PhaseEnded}, {PhaseRunning, "stored", PhaseRunning}, {PhaseRunning, "timer", PhaseRunning},
		{PhaseStopping, "start", PhaseStopping}, {PhaseStopping, "cancel", PhaseStopping}, {PhaseStopping, "void", PhaseStopping},
		{PhaseStopping, "finished", PhaseEnded}, {PhaseStopping, "stored", PhaseStopping}, {PhaseStopping, "timer", PhaseStopping},
		{PhaseEnded, "start", PhaseEnded}, {PhaseEnded, "cancel", PhaseEnded}, {PhaseEnded, "void", PhaseEnded},
		{PhaseEnded, "finished", PhaseEnded}, {PhaseEnded, "stored", gone}, {PhaseEnded, "timer", PhaseEnded},
	}
	if len(table) != 4*len(events) {
		t.Fatalf("table has %d rows, want every phase with every event", len(table))
	}
	for _, tc := range table {
		t.Run(tc.from.String()+" "+tc.event, func(t *testing.T) {
			a := attempt{ref: ref(1, 1), slots: 1, phase: tc.from, due: Never}
			if tc.from == PhaseAccepted {
				a.due = 10
			}
			if tc.from == PhaseEnded {
				a.slots = 0
			}
			s := slots{total: 1, used: a.slots, work: []attempt{a}}
			events[tc.event](&s, a.ref, &Effects{})
			got := gone
			if a := s.find(a.ref); a != nil {
				got = a.phase
			}
			if got != tc.to {
				t.Errorf("became %d, want %d", got, tc.to)
			}
			if holds := got != gone && got != PhaseEnded; holds != (s.used == 1) {
				t.Errorf("%d slots used in phase %d", s.used, got)
			}
		})
	}
}

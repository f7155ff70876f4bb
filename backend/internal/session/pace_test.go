package session

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// Whatever comes when, no more passes in any while than its rate and the burst, and
// a sender that keeps to its rate never waits.
func TestBucket_HoldsTheRateAndNeverTheModest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const cost = 20 * time.Millisecond
		var greedy, modest bucket
		now, began := time.Hour, time.Hour
		taken, held := 0, time.Duration(0)
		for _, pause := range rapid.SliceOfN(rapid.Int64Range(0, 200), 1, 400).Draw(t, "pauses in ms") {
			wait, over := greedy.take(now, cost)
			if taken++; time.Duration(taken)*cost > now-began+burstFor+cost {
				t.Fatalf("%d passed within %v", taken, now-began)
			}
			if over < 0 || wait == 0 && over != 0 || over > now-began {
				t.Fatalf("over for %v, to wait for %v", over, wait)
			}
			now += wait + time.Duration(pause)*time.Millisecond
			held += max(cost, time.Duration(pause)*time.Millisecond)
			if wait, _ := modest.take(held, cost); wait > 0 {
				t.Fatalf("one that keeps to its rate waits for %v", wait)
			}
		}
	})
}

// closedFor fails unless the flood was held to so much, and ended for it.
func (f *flooder) closedFor(t *testing.T, r *rig, took time.Duration, most int64) {
	t.Helper()
	if f.code != wire.CloseRateLimited || took < overFor || took > overFor+burstFor+2*time.Second {
		t.Errorf("closed %s after %v", f.code, took)
	}
	if n := f.written.Load(); n > most {
		t.Errorf("%d frames were taken, at most %d may be", n, most)
	}
	if n := r.hub.Counts().RateLimited; n != 1 {
		t.Errorf("%d are counted as rate limited", n)
	}
}

func masked(first byte, payload []byte) []byte { return wsconntest.Frame(first, true, payload) }

// seconds is the longest that a flood lasts: the burst, what is over it, the end.
const seconds = int64((burstFor + overFor + burstFor) / time.Second)

func TestSession_WhoSaysTooMuchIsHeldUpThenClosed4007(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig, p *pipes) {
		f := p.join(t, bearer(r.node("loud")), helloFrom("loud"))
		beat := masked(wsconntest.Binary, frameOf(t, wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}}))
		took := f.flood(beat)
		f.closedFor(t, r, took, 50*seconds)
		if n := f.written.Load(); n < 50*30 {
			t.Errorf("only %d frames were taken in %v", n, took)
		}
	})
}

// A burst passes at once; a moment's silence begins the 30 s anew.
func TestSession_BurstsAreForgiven(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig, p *pipes) {
		f := p.join(t, bearer(r.node("gusty")), helloFrom("gusty"))
		beat := masked(wsconntest.Binary, frameOf(t, wire.Heartbeat{Health: wire.Health{OK: true}}))
		burst := func(frames int) time.Duration {
			began := time.Now()
			for range frames {
				f.write(beat)
			}
			return time.Since(began)
		}
		if took := burst(190); took > time.Second {
			t.Errorf("a burst took %v", took)
		}
		for range 5 {
			if took := burst(1000); took < 15*time.Second || took > 21*time.Second {
				t.Errorf("1000 frames took %v", took)
			}
			time.Sleep(time.Second)
		}
		if f.leave(); f.code != 0 {
			t.Errorf("closed %s", f.code)
		}
	})
}

// Work is never held up: each offer, start and cancel pays for three frames, their
// bytes included, and the verdict on a new result for one.
func TestSession_WorkPaysForItsFrames(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig, p *pipes) {
		f := p.join(t, bearer(r.node("busy")), helloFrom("busy"))
		synctest.Wait()
		ref := core.Attempt{Job: job(1), Attempt: 1}
		sends := []core.Send{
			{Kind: core.SendOffer, Node: "busy", Epoch: 1, Job: ref.Job, Attempt: 1, Spec: &fleet.JobSpec{App: "cam", Runner: "noop"}},
			{Kind: core.SendStart, Node: "busy", Epoch: 1, Job: ref.Job, Attempt: 1},
			{Kind: core.SendCancel, Node: "busy", Epoch: 1, Job: ref.Job, Attempt: 1},
			{Kind: core.SendResultAck, Node: "busy", Epoch: 1, Job: ref.Job, Attempt: 1, Verdict: core.VerdictStored},
			{Kind: core.SendResultAck, Node: "busy", Epoch: 1, Job: ref.Job, Attempt: 1, Verdict: core.VerdictFenced},
		}
		result := masked(wsconntest.Binary, frameOf(t, wire.Result{
			Job: ref.Job.String(), Attempt: 1, Status: wire.ResultFailed, Tail: make([]byte, 60<<10),
		}))
		began := time.Now()
		for range 60 { // × 10 frames × 60 KiB
			r.hub.Deliver(sends)
			for range 10 {
				f.write(result)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("600 frames that are paid for took %v", took)
		}
		began = time.Now()
		for range 300 { // nobody pays for these
			f.write(result)
		}
		if took := time.Since(began); took < 10*time.Second {
			t.Errorf("18 MiB that nobody paid for took %v", took)
		}
		f.leave()
	})
}

// What is paid in advance has a bound.
func TestPace_PaymentsHaveABound(t *testing.T) {
	var p pace
	for range 3 * wire.MaxSlots {
		p.pay(&core.Send{Kind: core.SendOffer})
	}
	if p.paid != 3*wire.MaxSlots {
		t.Errorf("%d frames are paid for", p.paid)
	}
}

func TestAttack_A25_ControlFramesAndFragmentsAreHeldUpThenClosed(t *testing.T) {
	beat := frameOf(t, wire.Heartbeat{Health: wire.Health{OK: true}})
	ping, pong := masked(wsconntest.Ping, []byte("x")), masked(wsconntest.Pong, nil)
	for name, c := range map[string]struct {
		first []byte // before the flood
		flood [][]byte
		most  int64 // frames that may be taken in all
		bytes int   // a second; 0: the default
	}{
		"pings":                {flood: [][]byte{ping}, most: 10 * seconds},
		"pongs":                {flood: [][]byte{pong}, most: 10 * seconds},
		"pings and heartbeats": {flood: [][]byte{ping, masked(wsconntest.Binary, beat)}, most: 20 * seconds},
		"pings in a fragment":  {first: masked(wsconntest.OpBinary, beat[:3]), flood: [][]byte{ping}, most: 10 * seconds},
		"empty fragments": {
			first: masked(wsconntest.OpBinary, beat[:3]), flood: [][]byte{masked(wsconntest.OpContinuation, nil)},
			bytes: 600, most: 100 * seconds,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(cfg *Config) { cfg.BytesPerSecond = c.bytes }, func(t *testing.T, r *rig, p *pipes) {
				f := p.join(t, bearer(r.node("ams-1")), helloFrom("ams-1"))
				if c.first != nil {
					f.write(c.first)
				}
				took := f.flood(c.flood...)
				f.closedFor(t, r, took, c.most)
				if n := f.pongs.Load(); n > 10*seconds {
					t.Errorf("%d pings were answered", n)
				}
			})
		})
	}
}

// A flood before the hello ends with the hello's deadline, a console's like a node's.
func TestAttack_A25_BeforeHelloAndOnConsoles(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig, p *pipes) {
		ping := masked(wsconntest.Ping, []byte("x"))
		early := p.join(t, bearer(r.node("ams-1")), nil)
		if took := early.flood(ping); early.code != wire.CloseHelloTimeout || took > 12*time.Second || early.written.Load() > 10*16 {
			t.Errorf("before hello: closed %s after %v and %d frames", early.code, took, early.written.Load())
		}
		header, _ := r.signIn(operator)
		console := p.join(t, header, nil)
		console.closedFor(t, r, console.flood(ping), 10*seconds)

		header, _ = r.signIn(operator)
		talker := p.join(t, header, nil)
		took := talker.flood(masked(wsconntest.Binary, frameOf(t, wire.Ping{})))
		if talker.code != wire.CloseRateLimited || talker.written.Load() > consoleRate*seconds {
			t.Errorf("a console that talks: closed %s after %v and %d frames", talker.code, took, talker.written.Load())
		}
	})
}

// Pieces of logs were asked for: they cost the budget nothing.
func TestSession_LogsHaveTheirOwnBudget(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig, p *pipes) {
		f := p.join(t, bearer(r.node("ams-1")), helloFrom("ams-1"))
		synctest.Wait()
		var shown atomic.Int64
		followed := make(chan error, 1)
		go func() {
			followed <- r.hub.Follow(t.Context(), "ams-1", job(1), 1, 0, func(_ int64, part []byte) error {
				shown.Add(int64(len(part)))
				return nil
			})
		}()
		began := time.Now()
		const pieces = 2000
		for i := range pieces {
			synctest.Wait() // the request is out
			f.write(masked(wsconntest.Binary, frameOf(t, wire.Log{
				Job: job(1).String(), Attempt: 1, Stream: wire.LogOutput, Offset: int64(i) * tailAsk,
				Bytes: make([]byte, tailAsk), End: i == pieces-1,
			})))
		}
		if err := <-followed; err != nil || shown.Load() != pieces*tailAsk {
			t.Errorf("%d bytes shown, %v", shown.Load(), err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("16 MiB of logs took %v", took)
		}
		f.leave()
	})
}

func TestOnlyLogs(t *testing.T) {
	of := func(types ...wire.Type) (all []wire.Message) {
		for _, kind := range types {
			all = append(all, wire.Message{Type: kind})
		}
		return all
	}
	got := []bool{onlyLogs(of(wire.TypeLog)), onlyLogs(of(wire.TypeLog, wire.TypeLog)), onlyLogs(of(wire.TypeLog, wire.TypeHeartbeat)), onlyLogs(of(wire.TypeResult))}
	if !slices.Equal(got, []bool{true, true, false, false}) {
		t.Errorf("only logs: %v", got)
	}
}

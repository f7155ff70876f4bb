package nodecore

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// world is a node with everything around it: a control plane that says anything at
// any time, processes that end when they like, a disk that fails. It checks after
// every event what must always hold.
type world struct {
	node *Node
	now  Time
	out  Effects

	open     int64 // dial or connection that is not given up; 0: none
	upgraded bool
	exited   bool

	offered  map[Ref]int // slots by attempt
	started  map[Ref]bool
	stopped  map[Ref]bool
	living   []Ref        // processes
	reports  []Ref        // writes that the disk has not answered
	owed     map[Ref]bool // results that no verdict has freed yet
	verdicts map[Ref]bool // results that the control plane has answered

	unstarted int  // starts that failed one after the other, up to three
	testing   bool // a self-test is under way

	chain    string // on the disk
	writing  string // chain value that the disk has not answered
	unstored bool   // the open session's chain value is not on the disk
}

func newWorld(t *rapid.T) *world {
	cfg := Config{
		Seed: rapid.Uint64().Draw(t, "seed"), Slots: rapid.IntRange(1, 6).Draw(t, "slots"),
		SpoolMax: rapid.IntRange(1, 8).Draw(t, "spool"), Runners: []string{"checksum"}, Backend: "cpu", StopTimeout: minute,
	}
	return &world{
		node: New(cfg), offered: map[Ref]int{}, started: map[Ref]bool{}, stopped: map[Ref]bool{},
		owed: map[Ref]bool{}, verdicts: map[Ref]bool{},
	}
}

// do gives one event and looks at what came of it.
func (w *world) do(t *rapid.T, event func(now Time, out *Effects)) {
	w.out.Reset()
	event(w.now, &w.out)
	if w.exited && (len(w.out.Sends)+len(w.out.Dials)+len(w.out.Starts)+len(w.out.Reports) > 0 || w.out.Exit) {
		t.Fatalf("the node acts after its end: %+v", w.out)
	}
	for _, r := range w.out.Welcomed {
		if r.Chain != "" && w.writing != "" {
			t.Fatal("two chain values are being written")
		}
		w.unstored, w.writing = r.Chain != "", r.Chain
	}
	w.checkSends(t)
	w.checkConnections(t)
	w.checkWork(t)
	w.checkHold(t)
	w.exited = w.exited || w.out.Exit
}

// finish ends an attempt's processes in one of the ways that there are.
func (w *world) finish(t *rapid.T, ref Ref) {
	end := End{Stopped: w.stopped[ref]}
	if !end.Stopped {
		switch rapid.IntRange(0, 3).Draw(t, "end") {
		case 0:
			end.Ran = true
		case 1: // its payload did not fit
		default:
			end.Unstarted = "program gone"
		}
	}
	held := w.unstarted >= holdAfter
	switch {
	case held:
	case end.Ran:
		w.unstarted = 0
	case end.Unstarted != "":
		w.unstarted++
	}
	w.do(t, func(now Time, out *Effects) { w.node.Finished(now, ref, end, out) })
}

func (w *world) selfTested(t *rapid.T) {
	why := rapid.SampledFrom([]string{"", "disk full"}).Draw(t, "test")
	w.testing = false
	if why == "" {
		w.unstarted = 0
	}
	w.do(t, func(now Time, out *Effects) { w.node.SelfTested(now, why, out) })
}

// anyRef is one of a few attempts, so that the same one comes up again and again;
// more often than not one that the node holds.
func (w *world) anyRef(t *rapid.T) Ref {
	if held := w.node.slots.work; len(held) > 0 && rapid.Bool().Draw(t, "held") {
		return held[rapid.IntRange(0, len(held)-1).Draw(t, "which")].ref
	}
	return ref(byte(rapid.IntRange(1, 8).Draw(t, "job")), 1)
}

func (w *world) offer(t *rapid.T, conn int64, ref Ref) {
	slots := rapid.IntRange(0, 4).Draw(t, "demand")
	if !w.node.slots.known(ref) {
		w.offered[ref] = slots
	}
	w.do(t, func(now Time, out *Effects) {
		w.node.Offer(now, conn, Offer{Ref: ref, Runner: "checksum", Slots: slots}, out)
	})
}

func (w *world) start(t *rapid.T, conn int64, ref Ref) {
	w.do(t, func(now Time, out *Effects) { w.node.Start(now, conn, ref, out) })
}

// rarely keeps what ends a session from ending it before anything happens in it.
func rarely(t *rapid.T) bool { return rapid.IntRange(0, 7).Draw(t, "rarely") == 0 }

func (w *world) anyConn(t *rapid.T) int64 {
	return w.node.keeper.conn - int64(rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(t, "stale"))
}

// connect brings a session up, if none is.
func (w *world) connect(t *rapid.T) {
	n := w.node
	w.remember(t)
	for range 4 {
		if n.Live() || w.exited {
			return
		}
		if w.open == 0 {
			w.now = max(w.now, n.Next())
			w.do(t, n.Tick)
			continue
		}
		if !w.upgraded {
			w.upgraded = true
			w.do(t, func(now Time, out *Effects) { n.Dialed(now, w.open, out) })
		}
		w.do(t, func(now Time, out *Effects) { n.Welcome(now, w.open, Welcome{Times: defaultTimes}, out) })
	}
}

// anyChain is a new value, or none as from an old control plane.
func (w *world) anyChain(t *rapid.T) string {
	if rarely(t) {
		return ""
	}
	return "c" + strconv.Itoa(int(w.now)) + "-" + strconv.Itoa(rapid.IntRange(0, 99).Draw(t, "chain"))
}

// remember lets the disk answer for a chain value.
func (w *world) remember(t *rapid.T) {
	value, ok := w.writing, !rarely(t)
	if value == "" {
		return
	}
	w.writing = ""
	if ok {
		w.chain, w.unstored = value, false
	}
	w.do(t, func(now Time, out *Effects) { w.node.Remembered(now, value, ok, out) })
}

func (w *world) actions() map[string]func(*rapid.T) {
	n := w.node
	return map[string]func(*rapid.T){
		"time": func(t *rapid.T) {
			if at := n.Next(); at != Never {
				w.now = max(w.now, at) + Time(rapid.IntRange(0, 3).Draw(t, "late"))
			}
			w.do(t, n.Tick)
		},
		"connect": w.connect,
		"sleep": func(t *rapid.T) {
			if !rarely(t) {
				return
			}
			w.now += Time(rapid.IntRange(1, 90_000).Draw(t, "ms"))
			w.do(t, n.Tick)
		},
		"dialed": func(t *rapid.T) {
			if w.open != 0 && !w.upgraded {
				w.upgraded = true
				w.do(t, func(now Time, out *Effects) { n.Dialed(now, w.open, out) })
			}
		},
		"welcome": func(t *rapid.T) {
			conn, void := w.anyConn(t), []Ref{w.anyRef(t)}
			w.do(t, func(now Time, out *Effects) {
				n.Welcome(now, conn, Welcome{Registration: Registration{Epoch: conn, Chain: w.anyChain(t)}, Times: defaultTimes, Void: void}, out)
			})
		},
		"closed": func(t *rapid.T) {
			if !rarely(t) {
				return
			}
			conn := w.anyConn(t)
			if conn == w.open {
				w.open, w.upgraded = 0, false
			}
			w.do(t, func(now Time, out *Effects) { n.Closed(now, conn, 0, out) })
		},
		"remember": w.remember,
		"woke": func(t *rapid.T) {
			if rarely(t) {
				w.do(t, n.Woke)
			}
		},
		"rotated": func(t *rapid.T) {
			if rarely(t) {
				w.do(t, func(now Time, out *Effects) { n.Rotated(now, "rot-1", out) })
			}
		},
		"ack": func(t *rapid.T) {
			conn := w.anyConn(t)
			a := Ack{OK: !rarely(t), Reconnect: -1, Cancel: []Stop{{Ref: w.anyRef(t)}}, Void: []Ref{w.anyRef(t)}}
			w.do(t, func(now Time, out *Effects) { n.HeartbeatAck(now, conn, a, out) })
		},
		"offer": func(t *rapid.T) { w.offer(t, w.anyConn(t), w.anyRef(t)) },
		"start": func(t *rapid.T) { w.start(t, w.anyConn(t), w.anyRef(t)) },
		"work": func(t *rapid.T) {
			w.connect(t)
			conn, ref := n.keeper.conn, w.anyRef(t)
			w.offer(t, conn, ref)
			w.start(t, conn, ref)
		},
		"cancel": func(t *rapid.T) {
			conn, ref := w.anyConn(t), w.anyRef(t)
			w.do(t, func(now Time, out *Effects) { n.Cancel(now, conn, Stop{Ref: ref}, out) })
		},
		"void": func(t *rapid.T) {
			conn, ref := w.anyConn(t), w.anyRef(t)
			w.do(t, func(now Time, out *Effects) { n.Void(now, conn, ref, out) })
		},
		"finished": func(t *rapid.T) {
			if len(w.living) == 0 {
				return
			}
			i := rapid.IntRange(0, len(w.living)-1).Draw(t, "process")
			ref := w.living[i]
			w.living = slices.Delete(w.living, i, i+1)
			w.finish(t, ref)
		},
		"self-test": func(t *rapid.T) {
			if w.testing {
				w.selfTested(t)
			}
		},
		"disk": func(t *rapid.T) {
			if len(w.reports) == 0 {
				return
			}
			ref, ok := w.reports[0], rapid.IntRange(0, 3).Draw(t, "disk") > 0
			bytes := rapid.IntRange(0, pageBytes).Draw(t, "bytes")
			w.reports = w.reports[1:]
			w.do(t, func(now Time, out *Effects) {
				if ok {
					n.Stored(now, ref, bytes, out)
				} else {
					n.StoreFailed(now, ref, out)
				}
			})
		},
		"verdict": func(t *rapid.T) {
			if len(n.spool.list) == 0 || !n.Live() {
				return
			}
			ref := n.spool.list[rapid.IntRange(0, len(n.spool.list)-1).Draw(t, "result")].ref
			conn := n.keeper.conn
			n.keeper.acknowledged(w.now)
			w.verdicts[ref] = true
			w.do(t, func(now Time, out *Effects) { n.ResultAck(now, conn, ref, "stored", out) })
		},
		"stop": func(t *rapid.T) {
			if rapid.IntRange(0, 63).Draw(t, "once") == 0 {
				w.do(t, n.Stop)
			}
		},
	}
}

// TestNode_KeepsItsPromisesInAnyWorld: capacity is never exceeded, an attempt is
// started at most once and stopped at most once, every result is held until there
// is a verdict, one connection at a time.
func TestNode_KeepsItsPromisesInAnyWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { t.Repeat(newWorld(t).actions()) })
}

// TestNode_SameEventsSameEffects: the simulator replays a run from its seed.
func TestNode_SameEventsSameEffects(t *testing.T) {
	run := func() (log []Time) {
		r := newRig(t, func(c *Config) { c.Spooled = []Ref{ref(1, 1)} })
		r.welcome()
		for range 500 {
			log = append(log, r.tick().countAll()...)
			log = append(log, r.now)
		}
		return log
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Error("two runs of the same events differ")
	}
}

package sim

import (
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/nodecore"
)

// server is the driver of the control plane's deciding code, as the server's loop
// is: one batch in flight, and while its picture is in doubt it decides nothing
// until everything was loaded anew. It decides nothing itself.
type server struct {
	w       *World
	core    *core.Dispatch
	process int64 // number of the process
	start   Time  // of the process: its clock shows 1 then

	pending, inFlight, spare *core.Effects
	outcome                  commitOutcome
	inStore                  bool           // the batch in flight is
	refused                  []core.Refusal // then, what it left out
	up, paused               bool
	doubt, loading           bool
	waiting                  []event // came while the process stood still
	resumed                  Time    // when it last began, loaded or went on
	loadedAt                 Time
	accepts                  bucket
	dials                    []int64 // accepted ones, by the second since the process began
}

type commitOutcome uint8

const (
	commitOK commitOutcome = iota
	commitFailed
	commitUnknown
)

// bucket is the budget of new connections.
type bucket struct {
	tokens float64
	at     Time
}

const acceptRate, acceptBurst = 2.0, 2000.0 // connections a millisecond, and at once: as a server has by default

func (b *bucket) take(now Time) bool {
	b.tokens = min(acceptBurst, b.tokens+float64(now-b.at)*acceptRate)
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

func (s *server) begin(w *World) {
	s.w, s.up, s.process, s.start = w, true, s.process+1, w.now
	s.core = core.New(w.times)
	s.pending, s.inFlight, s.spare = &core.Effects{}, nil, nil
	s.doubt, s.loading, s.paused = true, false, false
	s.accepts = bucket{tokens: acceptBurst, at: w.now}
	s.resumed, s.dials = w.now, nil
}

// count notes a connection that is accepted.
func (s *server) count(now Time) {
	second := int((now - s.start) / second)
	for len(s.dials) <= second {
		s.dials = append(s.dials, 0)
	}
	s.dials[second]++
}

// clock is the process's own time.
func (s *server) clock() Time { return s.w.now - s.start + 1 }

// virtual is when the process's clock shows t.
func (s *server) virtual(t Time) Time {
	if t == Never {
		return Never
	}
	return t + s.start - 1
}

// due is when the core's next deadline passes.
func (s *server) due() Time {
	if !s.up || s.paused || s.doubt {
		return Never
	}
	return s.virtual(s.core.Next())
}

func (s *server) tick() {
	s.core.Tick(s.clock(), s.pending)
	s.settle()
}

// settle is what follows every event: send, ask, commit, and tick again until
// nothing is due.
func (s *server) settle() {
	for round := 0; s.w.failed == nil; round++ {
		if round > 10_000 {
			s.w.fail("driver", "the core never comes to rest: next at %d, now %d", s.core.Next(), s.clock())
			return
		}
		s.flush()
		if s.doubt || s.core.Next() > s.clock() {
			return
		}
		s.core.Tick(s.clock(), s.pending)
	}
}

func (s *server) flush() {
	e := s.pending
	s.w.seeMemory(e)
	s.w.unplaced(e)
	for i := range e.Sends {
		s.w.send(&e.Sends[i])
	}
	clear(e.Sends)
	e.Sends = e.Sends[:0]
	if e.Reload && !s.doubt {
		e.Reload = false
		s.w.counts.reloads++
		s.distrust()
		return
	}
	if len(e.Recalls) > 0 && !s.doubt {
		s.recall(append([]core.Recall(nil), e.Recalls...))
		e.Recalls = e.Recalls[:0]
	}
	if s.inFlight == nil && !s.doubt && e.Durable() {
		s.commit()
	}
}

// commit hands the batch to the store; what comes of it is drawn now. It is in the
// store some time before the server hears of it.
func (s *server) commit() {
	s.inFlight, s.pending = s.pending, s.spare
	s.spare = nil
	if s.pending == nil {
		s.pending = &core.Effects{}
	}
	took, outcome := s.w.store.draw()
	s.outcome, s.inStore, s.refused = outcome, false, nil
	if outcome == commitOK || outcome == commitUnknown && s.w.chance.store.chance(0.5) {
		s.w.agenda.Add(s.w.now+s.w.chance.store.between(1, took), event{kind: evApplied, node: -1, n: s.process})
	}
	s.w.agenda.Add(s.w.now+took, event{kind: evCommitted, node: -1, n: s.process})
}

// applied puts the batch into the store, whatever the server's process does then.
func (s *server) applied(process int64) {
	if process == s.process && s.inFlight != nil {
		s.inStore, s.refused = true, s.w.store.commit(s.inFlight)
	}
}

// committed takes a transaction's outcome.
func (s *server) committed(process int64) {
	b := s.inFlight
	if process != s.process || b == nil {
		return
	}
	if s.paused {
		s.postpone(event{kind: evCommitted, node: -1, n: process})
		return
	}
	w := s.w
	s.inFlight = nil
	w.counts.commits[s.outcome]++
	if s.outcome != commitOK {
		w.resubmitAll(b)
		s.distrust()
		return
	}
	w.acknowledge(b, s.refused)
	w.granted(b)
	if s.doubt {
		s.load(w.store.latency())
		return
	}
	s.core.Committed(s.clock(), b, s.refused, s.pending)
	b.Reset()
	s.spare = b
	s.settle()
}

// distrust stops deciding until the store was read anew.
func (s *server) distrust() {
	if !s.doubt {
		s.doubt = true
		s.core.Freeze(s.clock())
		s.drop()
	}
	if s.inFlight == nil {
		s.load(s.w.store.latency())
	}
}

func (s *server) drop() {
	s.w.resubmitAll(s.pending)
	s.pending = &core.Effects{}
}

// load reads the store, as soon as it answers.
func (s *server) load(after Time) {
	if !s.loading {
		s.loading = true
		s.w.agenda.Add(max(s.w.now+after, s.w.store.backAt), event{kind: evLoaded, node: -1, n: s.process})
	}
}

func (s *server) loaded(process int64) {
	if process != s.process {
		return
	}
	if s.paused {
		s.postpone(event{kind: evLoaded, node: -1, n: process})
		return
	}
	if s.w.store.backAt > s.w.now {
		s.loading = false
		s.load(0)
		return
	}
	s.loading, s.doubt = false, false
	s.resumed, s.loadedAt = s.w.now, s.w.now
	s.drop()
	snap := s.w.store.snapshot()
	s.w.told.load(s.w, snap)
	s.core.Load(s.clock(), snap)
	s.settle()
}

// recall reads rows of ended jobs beside the loop.
func (s *server) recall(asked []core.Recall) {
	process := s.process
	s.w.after(s.w.store.latency(), evRecalled, func() {
		if process != s.process || s.doubt || !s.up {
			return
		}
		for _, r := range asked {
			s.core.Recalled(s.clock(), r, s.w.store.recall(r), s.pending)
		}
		s.settle()
	})
}

// postpone keeps what comes while the process stands still.
func (s *server) postpone(e event) { s.waiting = append(s.waiting, e) }

// arrive takes a message of a node.
func (s *server) arrive(c *conn, m *message) {
	if s.paused {
		s.postpone(event{kind: evUp, msg: m, node: int32(c.node.index)})
		return
	}
	if !s.up || c.process != s.process || !c.serverOpen {
		s.w.net.release(m)
		return
	}
	s.hear(c, m)
	s.w.net.release(m)
	s.settle()
}

// hear translates a node's message into the core's event.
func (s *server) hear(c *conn, m *message) {
	from, now, n := c.opened, s.clock(), c.node
	s.w.speaker = n
	if m.kind != nodecore.SendHello && c.opened.Epoch == 0 {
		return
	}
	if n.session == c {
		n.heard = s.w.now
	}
	a := core.Attempt{Job: m.ref.Job, Attempt: m.ref.Attempt}
	if s.doubt {
		s.hearInDoubt(c, m)
		return
	}
	switch m.kind {
	case nodecore.SendHello:
		s.hello(c, m)
	case nodecore.SendHeartbeat:
		s.core.Heartbeat(now, from, core.HeartbeatEvent{
			Accepting: m.accepting, Reason: m.reason, Running: m.running, Spooled: m.spooled, Healthy: !n.sick, HealthReasons: n.sickWhy(), Unsaved: m.unsaved,
		}, s.pending)
	case nodecore.SendAccept:
		s.core.Accept(now, from, a, s.pending)
	case nodecore.SendDecline:
		s.w.noteRefusal(n, a)
		s.core.Decline(now, from, a, m.reason, s.pending)
	case nodecore.SendResult:
		s.w.judgeResult(c, a, m.result)
		s.core.Result(now, from, a, m.result, s.pending)
	case nodecore.SendGoodbye:
		s.w.told.goodbye(n)
		s.core.Goodbye(now, from, m.reason, s.pending)
	}
}

// hearInDoubt renews leases, and answers what can be answered without the store.
func (s *server) hearInDoubt(c *conn, m *message) {
	switch m.kind {
	case nodecore.SendHello:
		s.w.net.refuse(c, nodecore.Refusal{Code: string(fleet.CodeUnavailable)})
	case nodecore.SendHeartbeat:
		s.core.Alive(s.clock(), c.opened, s.pending)
		s.pending.Sends = append(s.pending.Sends, core.Send{
			Kind: core.SendHeartbeatAck, Node: c.node.id, Epoch: c.opened.Epoch, Ack: &core.HeartbeatAck{OK: true},
		})
	default:
		s.core.Alive(s.clock(), c.opened, s.pending)
	}
}

func (s *server) hello(c *conn, m *message) {
	if c.opened.Epoch != 0 {
		return
	}
	ev := s.helloOf(c, m)
	ev.Running = slices.Clone(m.running)
	old := c.node.session
	opened, refused := s.core.Hello(s.clock(), ev, s.pending)
	if c.opened = opened; refused != nil {
		s.w.net.refuse(c, nodecore.Refusal{Code: string(refused.Code), RetryAfter: nodecore.Time(refused.RetryAfter), Fatal: refused.RetryAfter == 0})
		return
	}
	c.node.session, c.node.previous = c, old
	c.node.heard = s.w.now
	s.w.judgeHello(c, old)
	s.w.told.hello(c.node)
}

// gone tells that a connection has ended on the server's side.
func (s *server) gone(c *conn) {
	if s.paused {
		s.postpone(event{kind: evServerGone, msg: s.w.net.about(c), node: int32(c.node.index)})
		return
	}
	if !c.serverOpen {
		return
	}
	c.serverOpen = false
	if c.node.session == c {
		c.node.session = nil
	}
	if c.opened.Epoch == 0 || !s.up || c.process != s.process {
		return
	}
	s.core.SessionClosed(s.clock(), c.opened, s.pending)
	s.settle()
}

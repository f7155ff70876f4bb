package sim

import (
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/nodecore"
)

// network carries messages. A connection keeps their order, as TCP does; what an
// old connection still carries may arrive after what a newer one brought.
type network struct {
	w       *World
	samples []Time // round trips
	loss    Share
	free    []*message
}

// link is a node's way to the server.
type link struct {
	rtt            Time
	slow           Time // added to each way
	chance         stream
	noUp, noDown   int // faults that block a direction now
	loss, twice    Share
	blockedSince   Time
	refusedUntil   Time // nothing answers a dial
	heldUp, heldDn []held
}

type held struct {
	conn *conn
	msg  *message
	fin  bool
}

// conn is one connection of a node.
type conn struct {
	node       *node
	number     int64
	born       int64        // the node's process
	process    int64        // the server's process
	opened     core.Session // that it carries
	chain      string       // what its welcome brings
	clientOpen bool
	serverOpen bool
	lastUp     Time // when the newest message arrives
	lastDown   Time
}

// message is one of either direction, or what else an event is about.
type message struct {
	conn    *conn
	do      func()
	answers bool // it is no request

	request
	answer
}

// request is what a node says.
type request struct {
	kind      nodecore.SendKind
	ref       nodecore.Ref
	accepting bool
	unsaved   bool
	reason    string
	running   []core.Running
	spooled   int64
	result    *fleet.Result
	chain     string // hello
}

// answer is what the server says.
type answer struct {
	send    core.Send
	refusal *nodecore.Refusal
	redial  Time // with an acknowledgement: dial anew after so long; 0: it does not say
}

const (
	lanRTT      = Time(2)
	retransmit  = Time(200)   // before a lost message is sent again
	dialTrips   = 3           // round trips of dial, TLS and upgrade
	pingLimit   = 30 * second // the server closes a connection whose pings go unanswered
	refusedWait = 2 * minute  // a node whose credential is refused dials again then
)

func (t *network) init(w *World) {
	t.w, t.samples, t.loss = w, w.sc.Network.Samples, w.sc.Network.Loss
}

// connect gives a new node its way to the server.
func (t *network) connect(n *node) {
	n.link.chance = newStream(t.w.seed, "net", n.id)
	n.link.rtt = lanRTT
	if len(t.samples) > 0 {
		n.link.rtt = t.samples[n.link.chance.rand().IntN(len(t.samples))]
	}
	n.link.loss = t.loss
}

func (t *network) take() *message {
	if last := len(t.free) - 1; last >= 0 {
		m := t.free[last]
		t.free = t.free[:last]
		return m
	}
	return &message{}
}

func (t *network) release(m *message) {
	if m.answers {
		m.answer = answer{}
	} else {
		m.request = request{running: m.running[:0]}
	}
	m.conn, m.do, m.answers = nil, nil, false
	t.free = append(t.free, m)
}

// about is what an event of a connection carries.
func (t *network) about(c *conn) *message {
	m := t.take()
	m.conn = c
	return m
}

// doing is what an event carries that is a function.
func (t *network) doing(do func()) *message {
	m := t.take()
	m.do = do
	return m
}

// oneWay is how long one message travels.
func (l *link) oneWay() Time {
	d := l.rtt/2 + l.chance.between(0, l.rtt/8+1) + l.slow
	for again := retransmit; l.loss > 0 && again < 20*second && l.chance.chance(l.loss); again *= 2 {
		d += again
	}
	return max(d, 1)
}

// dial answers a dial: refused when nobody listens, never when nothing arrives.
func (t *network) dial(n *node, d nodecore.Dial) {
	c := n.newConn(d.Conn)
	now := t.w.now
	answer := func(trips Time, floor Time) {
		at := now + 1
		for range trips {
			at += 2 * n.link.oneWay()
		}
		t.w.agenda.Add(at, event{kind: evDialed, node: int32(n.index), msg: t.about(c), n: int64(floor)})
	}
	switch s := &t.w.srv; {
	case n.link.noUp+n.link.noDown > 0 || s.paused:
	case n.link.refusedUntil > now || !s.up:
		answer(1, 0)
	case t.w.store.nodes[n.index].rec.Left, !t.w.store.nodes[n.index].knows(sumOf(n.secret)):
		answer(dialTrips, refusedWait)
	case !s.accepts.take(now):
		answer(dialTrips, second)
	default:
		c.clientOpen, c.serverOpen, c.process = true, true, s.process
		s.count(now)
		answer(dialTrips, -1)
	}
}

// sendUp sends a node's message to the server.
func (t *network) sendUp(n *node, s *nodecore.Send) {
	c := n.conn
	if c == nil || s.Conn != c.number || !c.clientOpen {
		return
	}
	m := t.take()
	m.kind, m.ref, m.reason, m.chain = s.Kind, s.Ref, s.Reason, s.Chain
	switch s.Kind {
	case nodecore.SendHello, nodecore.SendHeartbeat:
		m.unsaved = s.State.Unsaved
		m.accepting, m.reason, m.spooled = s.State.Accepting, s.State.Reason, int64(s.State.Spooled)
		for _, w := range s.State.Work {
			m.running = append(m.running, core.Running{Job: w.Ref.Job, Attempt: w.Ref.Attempt, Phase: core.Phase(w.Phase)})
		}
	case nodecore.SendResult:
		for i := range n.spool {
			if n.spool[i].ref == s.Ref {
				m.result = n.spool[i].result
			}
		}
	case nodecore.SendGoodbye:
		m.reason = core.GoodbyeStop
	}
	t.up(c, m)
	if s.Kind != nodecore.SendHello && s.Kind != nodecore.SendGoodbye && n.link.chance.chance(n.link.twice) {
		again := t.take()
		running := append(again.running, m.running...)
		*again = *m
		again.running = running
		t.up(c, again)
	}
}

func (t *network) up(c *conn, m *message) {
	m.conn = c
	l := &c.node.link
	if l.noUp > 0 {
		l.heldUp = append(l.heldUp, held{conn: c, msg: m})
		return
	}
	c.lastUp = max(c.lastUp, t.w.now+l.oneWay())
	t.w.agenda.Add(c.lastUp, event{kind: evUp, node: int32(c.node.index), msg: m})
}

// down sends the server's message to a node.
func (t *network) down(c *conn, m *message) {
	m.conn, m.answers = c, true
	l := &c.node.link
	if l.noDown > 0 {
		l.heldDn = append(l.heldDn, held{conn: c, msg: m})
		return
	}
	c.lastDown = max(c.lastDown, t.w.now+l.oneWay())
	t.w.agenda.Add(c.lastDown, event{kind: evDown, node: int32(c.node.index), msg: m})
}

// refuse answers a hello that is not taken.
func (t *network) refuse(c *conn, r nodecore.Refusal) {
	m := t.take()
	m.refusal = &r
	t.down(c, m)
	c.serverOpen = false
}

// hangUp ends a connection by its node: the server hears of it after all that was
// sent before.
func (t *network) hangUp(n *node, number int64) {
	if c := n.conn; c != nil && c.number == number {
		t.fin(c)
		c.clientOpen = false
	}
}

func (t *network) fin(c *conn) {
	l := &c.node.link
	if l.noUp > 0 {
		l.heldUp = append(l.heldUp, held{conn: c, fin: true})
		return
	}
	c.lastUp = max(c.lastUp, t.w.now+l.oneWay())
	t.w.agenda.Add(c.lastUp, event{kind: evServerGone, node: int32(c.node.index), msg: t.about(c)})
}

// clientEnded ends a node's connection with its process.
func (t *network) clientEnded(n *node, power bool) {
	c := n.conn
	if c == nil || !c.clientOpen {
		return
	}
	c.clientOpen = false
	if power {
		t.ping(c)
		return
	}
	t.fin(c)
}

// serverEnded ends a node's connection with the server's process.
func (t *network) serverEnded(n *node) {
	c := n.conn
	if c == nil {
		return
	}
	c.serverOpen = false
	if c.clientOpen {
		t.w.agenda.Add(t.w.now+n.link.oneWay(), event{kind: evClientGone, node: int32(n.index), msg: t.about(c)})
	}
}

// cut breaks a node's connection: both sides learn of it, the server perhaps late.
func (t *network) cut(n *node, late Time) {
	c := n.conn
	if c == nil || !c.clientOpen {
		return
	}
	t.w.agenda.Add(t.w.now+n.link.oneWay(), event{kind: evClientGone, node: int32(n.index), msg: t.about(c)})
	t.w.agenda.Add(t.w.now+n.link.oneWay()+late, event{kind: evServerGone, node: int32(n.index), msg: t.about(c)})
}

// block stops a node's messages in one direction or both; unblock lets go what
// has gathered.
func (t *network) block(n *node, up, down bool) {
	l := &n.link
	if l.noUp+l.noDown == 0 {
		l.blockedSince = t.w.now
	}
	if up {
		l.noUp++
	}
	if down {
		l.noDown++
	}
	if n.conn != nil {
		t.ping(n.conn)
	}
}

func (t *network) unblock(n *node, up, down bool) {
	l := &n.link
	if up {
		l.noUp--
	}
	if down {
		l.noDown--
	}
	if l.noUp == 0 {
		gathered := l.heldUp
		l.heldUp = nil
		for _, h := range gathered {
			if h.fin {
				t.fin(h.conn)
			} else {
				t.up(h.conn, h.msg)
			}
		}
	}
	if l.noDown == 0 {
		gathered := l.heldDn
		l.heldDn = nil
		for _, h := range gathered {
			t.down(h.conn, h.msg)
		}
	}
}

// ping closes the server's side of a connection that answers nothing any more.
func (t *network) ping(c *conn) {
	t.w.agenda.Add(t.w.now+pingLimit, event{kind: evPing, node: int32(c.node.index), msg: t.about(c), n: int64(t.w.now)})
}

func (t *network) pinged(c *conn, since int64) {
	l := &c.node.link
	blocked := l.noUp+l.noDown > 0 && l.blockedSince <= Time(since)
	if c.serverOpen && (blocked || !c.clientOpen) {
		t.w.srv.gone(c)
	}
}

// send carries out a send of the core, after it was judged.
func (w *World) send(s *core.Send) {
	n := w.speaker // most sends answer whoever spoke
	if n == nil || n.id != s.Node {
		n = w.named[s.Node]
	}
	if n == nil {
		return
	}
	w.hash.word(uint64(n.index)<<32 | uint64(s.Kind)<<24 | uint64(uint32(s.Attempt)&0xffff)<<8 | uint64(s.Verdict))
	w.hash.word(uint64(number(s.Job)))
	w.judgeSend(n, s)
	c := n.session
	if c == nil || c.opened.Epoch != s.Epoch {
		c = n.previous
	}
	if c == nil || c.opened.Epoch != s.Epoch || !c.serverOpen || c.process != w.srv.process {
		return
	}
	m := w.net.take()
	m.send = *s
	w.net.down(c, m)
	if s.Kind == core.SendClose {
		c.serverOpen = false
	}
	if s.Kind != core.SendClose && s.Kind != core.SendWelcome && n.link.chance.chance(n.link.twice) {
		again := w.net.take()
		again.send = *s
		w.net.down(c, again)
	}
}

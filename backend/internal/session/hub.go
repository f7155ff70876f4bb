package session

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/limit"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// Hub knows which session is the current one of a node: the one with the newest
// epoch. The dispatch loop delivers through it.
type Hub struct {
	cfg Config
	// plainAck is what nearly every heartbeat is answered with, encoded.
	plainAck *wire.Encoded
	began    time.Time
	counts   counters
	lines    *limit.Limiter
	audits   *limit.Limiter

	mu      sync.RWMutex
	current map[string]*session // by node
}

// NewHub makes the hub that Gateway fills and the dispatch loop sends through.
func NewHub(cfg Config) *Hub {
	cfg = cfg.withDefaults()
	h := &Hub{
		cfg: cfg, began: cfg.Now(), current: map[string]*session{},
		lines:  limit.New(linesAtOnce, lineEvery, maxPeers, cfg.Now),
		audits: limit.New(auditsAtOnce, auditEvery, maxPeers, cfg.Now),
	}
	if ack, err := wire.Encode(wire.DefaultLimits(), wire.Msg(h.ackOf(&core.HeartbeatAck{OK: true}))); err == nil {
		h.plainAck = &ack
	}
	return h
}

// Counts gives what the channel has seen.
func (h *Hub) Counts() Counts { return h.counts.read() }

// Deliver hands each send to the session that it is for and never waits; what is
// for one session goes out in one frame. A send to a session that is not the
// node's current one is dropped: whatever it said is said again after the next
// hello.
func (h *Hub) Deliver(sends []core.Send) {
	var waiting []*wsconn.Conn
	for i := range sends {
		send := &sends[i]
		s := h.sessionOf(send.Node, send.Epoch)
		switch {
		case s == nil:
		case send.Kind == core.SendClose:
			s.end(closeCodeOf(send.Code), send.Detail)
		default:
			s.pace.pay(send)
			s.expect(send)
			if h.queueSend(s, send) {
				waiting = append(waiting, s.conn)
			}
			if send.Kind == core.SendWelcome {
				s.welcomed.Store(true)
				s.tails.welcome()
			}
		}
	}
	wsconn.FlushAll(waiting)
}

// elapsed is the time since the hub's start, for budgets.
func (h *Hub) elapsed() time.Duration { return h.cfg.Now().Sub(h.began) }

func (h *Hub) sessionOf(node string, epoch int64) *session {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if s := h.current[node]; s != nil && s.opened.Epoch == epoch {
		return s
	}
	return nil
}

// send puts a message into a session's outbox and has it written.
func (h *Hub) send(s *session, m wire.Outgoing) {
	h.queue(s, m)
	s.conn.Flush()
}

// queueSend is queue of a send of the core. The acknowledgement that nearly every
// heartbeat has is encoded once.
func (h *Hub) queueSend(s *session, send *core.Send) (first bool) {
	if send.Kind == core.SendHeartbeatAck && send.Ack.Plain() && h.plainAck != nil {
		first, err := s.conn.QueueEncoded(*h.plainAck)
		return h.queued(s, wire.TypeHeartbeatAck, first, err)
	}
	return h.queue(s, wire.Msg(h.bodyOf(s, send)))
}

// queue puts a message into a session's outbox and reports whether it is the first
// there. A peer that does not read is closed; a message over the limits is our own
// mistake, and the node's next heartbeat or the offer's deadline heals it.
func (h *Hub) queue(s *session, m wire.Outgoing) (first bool) {
	first, err := s.conn.Queue(m)
	return h.queued(s, m.Body.Type(), first, err)
}

func (h *Hub) queued(s *session, what wire.Type, first bool, err error) bool {
	switch {
	case err == nil, errors.Is(err, wsconn.ErrClosed):
	case errors.Is(err, wsconn.ErrOverflow):
		s.end(wire.CloseSlowConsumer, "the outbox is full")
	default:
		s.log(slog.LevelError, "message not sent", "type", what, "error", err)
	}
	return first
}

// enter makes s the current session of its node, and closes the one before. The
// loop calls it, before it sends anything to it.
func (h *Hub) enter(s *session, opened core.Session) {
	h.mu.Lock()
	before := h.current[s.node]
	s.opened = opened
	h.current[s.node] = s
	h.mu.Unlock()
	if before != nil {
		before.end(wire.CloseSuperseded, core.CloseSuperseded)
	}
}

// farewell tells each node, before a planned stop, a moment of its own within the
// redial window at which to dial anew: a fleet that only saw its connections close
// would return as one. Who waits for a welcome learns by the close alone.
func (h *Hub) farewell() {
	h.mu.RLock()
	current := make([]*session, 0, len(h.current))
	for _, s := range h.current {
		if s.welcomed.Load() {
			current = append(current, s)
		}
	}
	h.mu.RUnlock()
	for _, s := range current {
		after := core.RedialAfter(s.node, fleet.Time(h.cfg.Times.RedialWindow))
		h.send(s, wire.Msg(wire.HeartbeatAck{
			OK: true, LeaseMs: h.cfg.Times.Suspect, Reconnect: &wire.Reconnect{DelayMs: int64(after)},
		}))
	}
}

// leave takes s out again, unless a newer session has its place, and gives the name
// that it had, if it had one.
func (h *Hub) leave(s *session) core.Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current[s.node] == s {
		delete(h.current, s.node)
	}
	return s.opened
}

package session

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/view"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// Bounds of one console.
const (
	consoleTopics  = 32 // subscribed at once
	consoleRate    = 20 // messages a second
	consoleTickMs  = 1000
	consoleStaleMs = 10_000
	askWithin      = 15 * time.Second // a subscription's wait for the database
	firstCheck     = time.Second      // a sign-out while the console was being made told nobody
)

// console is one connection of a browser. One goroutine owns it, the one in run;
// the view calls Delta and others call end.
type console struct {
	gateway *Gateway
	conn    *wsconn.Conn
	who     ConsoleUser
	from    netip.Addr
	pace    pace
	recheck *time.Timer

	ending sync.Once
	closer sync.WaitGroup

	mu     sync.Mutex
	topics map[string]*topic
	ended  bool // nothing is begun any more
	backlog
}

// topic is one subscription of a console. While its snapshot is read in parts,
// deltas are held back.
type topic struct {
	sub   *view.Subscription // nil: being made
	parts *view.Snapshot     // nil: being made, or read to its end
	live  bool               // the snapshot was read: deltas go out
	stale bool               // deltas were dropped: a fresh snapshot is due
	held  []delta
}

// delta is an encoded change that leads to a revision.
type delta struct {
	rev int64
	e   wire.Encoded
}

func newConsole(g *Gateway, who ConsoleUser, from netip.Addr) *console {
	c := &console{gateway: g, who: who, from: from, topics: map[string]*topic{}}
	c.pace = newPace(g.hub, c, consoleRate)
	return c
}

// run is the life of the console.
func (c *console) run() {
	defer c.over()
	c.mu.Lock()
	c.recheck = time.AfterFunc(min(firstCheck, c.gateway.hub.cfg.RecheckEvery), c.checkSession)
	c.mu.Unlock()
	c.send(wire.Msg(wire.WelcomeConsole{
		User: strconv.FormatInt(c.who.User, 10), Name: c.who.Name, Roles: c.who.Roles, Version: c.gateway.hub.cfg.Version,
		Times: wire.ConsoleTimes{Tick: consoleTickMs, Stale: consoleStaleMs},
	}))
	for {
		frame, err := c.conn.Receive()
		if err != nil {
			if end := (*wsconn.End)(nil); errors.As(err, &end) && end.Local && end.Code == wire.CloseSlowConsumer {
				c.gateway.hub.counts.slowConsumer.Add(1)
			}
			c.gateway.hub.cfg.Logger.Debug("console over", "user", c.who.User, "address", c.from, "error", err)
			return
		}
		for _, m := range frame.Messages {
			if !c.take(m) {
				return
			}
			c.pace.said(0, false)
		}
	}
}

// over ends the subscriptions and waits until the connection is gone.
func (c *console) over() {
	c.mu.Lock()
	c.ended = true
	c.recheck.Stop()
	topics := c.topics
	c.topics = map[string]*topic{}
	c.queue = nil
	c.stopPump()
	c.mu.Unlock()
	for _, t := range topics {
		if t.sub != nil {
			t.sub.End()
		}
	}
	c.end(wire.CloseNormal, "")
	c.closer.Wait()
}

// end closes the connection without waiting for it; the first reason counts.
func (c *console) end(code wire.CloseCode, reason string) {
	c.ending.Do(func() { c.closer.Go(func() { c.conn.Close(code, reason) }) })
}

// cut ends the connection at once.
func (c *console) cut() { c.conn.CloseNow() }

// checkSession ends a console whose session ended without a word to us.
func (c *console) checkSession() {
	ctx, cancel := context.WithTimeout(c.gateway.ctx, askWithin)
	defer cancel()
	err := c.gateway.door.Recheck(ctx, c.who.Session)
	var known *fleet.Error
	if errors.As(err, &known) && known.Code == fleet.CodeUnauthenticated {
		c.end(wire.CloseRevoked, "signed out")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.recheck.Reset(c.gateway.hub.cfg.RecheckEvery)
	}
}

// take does what one message asks for and reports whether the console goes on.
func (c *console) take(m wire.Message) bool {
	switch m.Type {
	case wire.TypeSubscribe:
		return answer(c, m, c.subscribe)
	case wire.TypeMore:
		return answer(c, m, c.more)
	case wire.TypeUnsubscribe:
		return answer(c, m, func(_ wire.Message, in wire.Unsubscribe) error { c.drop(in.Topic); return nil })
	case wire.TypePing:
		return answer(c, m, func(m wire.Message, _ wire.Ping) error { c.send(wire.Reply(m, wire.Pong{})); return nil })
	}
	if !m.Type.Known() {
		c.gateway.hub.counts.unknownTypes.Add(1)
		if m.ID != "" {
			c.refuse(m, fleet.Errorf(fleet.CodeUnknownType, "no message of this build: "+string(m.Type)))
		}
		return true
	}
	c.bad("a console does not say " + string(m.Type))
	return false
}

// decoded is a message's body that can be decoded.
type decoded[T any] interface {
	*T
	wire.Body
	Validate() error
}

// answer decodes a message and does it; what is refused is told, what is no
// message ends the connection.
func answer[T any, P decoded[T]](c *console, m wire.Message, do func(wire.Message, T) error) bool {
	in, err := wire.Decode[T, P](m)
	if err != nil {
		c.bad(err.Error())
		return false
	}
	if err := do(m, in); err != nil {
		c.refuse(m, err)
	}
	return true
}

// bad says what was wrong with a message, and ends the connection.
func (c *console) bad(detail string) {
	c.gateway.hub.counts.badMessages.Add(1)
	c.send(wire.Msg(wire.Error{Code: wire.CodeBadMessage, Detail: detail, Fatal: true}))
	c.end(wire.CloseBadMessage, detail)
}

// refuse says why something was not done.
func (c *console) refuse(m wire.Message, err error) {
	code, detail := fleet.CodeInternal, "it could not be done"
	var known *fleet.Error
	if errors.As(err, &known) {
		code, detail = known.Code, known.Detail
	} else {
		c.gateway.hub.cfg.Logger.Error("console's request failed", "user", c.who.User, "type", m.Type, "error", err)
	}
	c.send(wire.Reply(m, wire.Error{Code: string(code), Detail: detail}))
}

// send puts a message that is no delta into the outbox.
func (c *console) send(m wire.Outgoing) {
	if err := c.conn.Send(m); errors.Is(err, wsconn.ErrOverflow) {
		c.slow()
	}
}

// slow ends a console that does not read.
func (c *console) slow() {
	c.end(wire.CloseSlowConsumer, "the console reads too slowly")
}

// subscribe begins a topic, anew when it is there already.
func (c *console) subscribe(_ wire.Message, in wire.Subscribe) error {
	c.drop(in.Topic)
	t := &topic{}
	c.mu.Lock()
	full := len(c.topics) >= consoleTopics
	if !full {
		c.topics[in.Topic] = t // from now on its deltas are held
	}
	c.mu.Unlock()
	if full {
		return fleet.Errorf(fleet.CodeRateLimited, "a console subscribes to at most "+strconv.Itoa(consoleTopics)+" topics")
	}
	ctx, cancel := context.WithTimeout(c.gateway.ctx, askWithin)
	defer cancel()
	sub, parts, err := c.gateway.view.Subscribe(ctx, &c.who.Viewer, in.Topic, in.Filter, c)
	if err != nil {
		c.drop(in.Topic)
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.sub = sub
	if t.stale { // too much came meanwhile: a fresh snapshot follows
		return nil
	}
	t.parts = parts
	return c.sendPart(t)
}

// drop ends a topic.
func (c *console) drop(name string) {
	c.mu.Lock()
	t := c.topics[name]
	delete(c.topics, name)
	if t != nil {
		c.forget(t)
	}
	c.mu.Unlock()
	if t != nil && t.sub != nil {
		t.sub.End()
	}
}

// more sends the next part of a snapshot.
func (c *console) more(_ wire.Message, in wire.More) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.topics[in.Topic]
	if t == nil || t.parts == nil || t.parts.Part() != in.Part {
		return fleet.Errorf(fleet.CodeBadRequest, in.Topic+" has no part "+strconv.FormatInt(in.Part, 10)+" to send now")
	}
	return c.sendPart(t)
}

// sendPart sends one part; behind the last one go the deltas that were held.
// c.mu is held.
func (c *console) sendPart(t *topic) error {
	e, last, err := t.parts.Next()
	if err != nil {
		return err
	}
	if err := c.conn.SendEncoded(e); errors.Is(err, wsconn.ErrOverflow) {
		c.slow()
		return nil
	}
	if !last {
		return nil
	}
	rev, held := t.parts.Rev(), t.held
	c.forget(t)
	t.parts, t.live = nil, true
	for _, d := range held {
		if d.rev > rev {
			c.push(d.e)
		}
	}
	return nil
}

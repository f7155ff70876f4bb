package load

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// NodeOptions of a Node. Zero values: one slot, the runner noop, the name as boot id.
type NodeOptions struct {
	Server  string // base URL
	Name    string
	License string
	Slots   int64
	Runners []string
	BootID  string
	// Hear gets every message behind the welcome, in the order of their arrival and
	// from one goroutine at a time.
	Hear func(wire.Message)
	// Holding lists what hello and heartbeats say that the node runs; nil: nothing.
	Holding func() []wire.RunningWork
	// Say replaces the hello by another body; nil: it is said as it is.
	Say func(wire.Hello) wire.Body
}

// Node is a node without a machine: its every move is the caller's, over a real
// socket. Name and secret stay over its sessions, as a real node's do.
type Node struct {
	NodeOptions
	Secret  string // its own
	Epoch   int64  // of the newest session
	Chain   string // what the newest welcome gave; hello says it
	Welcome wire.Welcome

	registered bool
	refusal    atomic.Pointer[string]

	mu      sync.Mutex
	session *Session
}

// Session is one connection of a Node, with the goroutines that read it and send
// heartbeats.
type Session struct {
	conn *wsconn.Conn
	work sync.WaitGroup
	end  error // why it ended; read it after work
}

// NewNode makes a node with a secret of its own; it does not connect.
func NewNode(o NodeOptions) *Node {
	var secret [32]byte
	rand.Read(secret[:])
	if o.Slots == 0 {
		o.Slots = 1
	}
	if o.Runners == nil {
		o.Runners = []string{"noop"}
	}
	if o.BootID == "" {
		o.BootID = o.Name
	}
	return &Node{NodeOptions: o, Secret: base64.RawURLEncoding.EncodeToString(secret[:])}
}

// Credential is the header of the upgrade: a license code beside the secret until
// the node is registered, then the secret alone.
func (n *Node) Credential() http.Header {
	header := http.Header{}
	if n.registered {
		header.Set("Authorization", "Bearer "+n.Secret)
		return header
	}
	header.Set("Authorization", "License "+n.License)
	header.Set(wire.NodeSecretHeader, n.Secret)
	return header
}

// Forget makes the node show its license code again, as one does that never heard
// its welcome.
func (n *Node) Forget() { n.registered, n.Chain = false, "" }

// Connect opens a session and begins to read and to send heartbeats. A session
// that is open already is left to the server to end.
func (n *Node) Connect(ctx context.Context) error {
	conn, err := wsconn.Dial(ctx, n.Server+wire.ChannelPath, wsconn.DialOptions{Header: n.Credential()})
	if err != nil {
		return fmt.Errorf("dial as %s: %w", n.Name, err)
	}
	rest, err := n.open(conn)
	if err != nil {
		conn.CloseNow()
		return fmt.Errorf("hello as %s: %w", n.Name, err)
	}
	conn.SetSendLimits(n.Welcome.Limits)
	s := &Session{conn: conn}
	n.mu.Lock()
	n.session = s
	n.mu.Unlock()
	n.registered = true
	n.take(rest)
	s.work.Go(func() { n.read(s) })
	every := time.Duration(n.Welcome.Times.Heartbeat) * time.Millisecond
	s.work.Go(func() { n.beat(s, every) })
	return nil
}

// welcomeWait is how long a welcome may take on a busy machine.
const welcomeWait = 30 * time.Second

// open says hello and waits for the welcome; rest came behind it.
func (n *Node) open(conn *wsconn.Conn) (rest []wire.Message, err error) {
	var hello wire.Body = n.Hello()
	if n.Say != nil {
		hello = n.Say(n.Hello())
	}
	if err := conn.Send(wire.Msg(hello)); err != nil {
		return nil, err
	}
	overdue := time.AfterFunc(welcomeWait, conn.CloseNow)
	defer overdue.Stop()
	frame, err := conn.Receive()
	if err != nil {
		return nil, err
	}
	if first := frame.Messages[0]; first.Type != wire.TypeWelcome {
		refused, _ := wire.Decode[wire.Refused](first)
		return nil, fmt.Errorf("%s instead of a welcome: %s %s", first.Type, refused.Code, refused.Detail)
	}
	n.Welcome, err = wire.Decode[wire.Welcome](frame.Messages[0])
	n.Epoch = n.Welcome.Epoch
	if n.Welcome.Chain != "" {
		n.Chain = n.Welcome.Chain
	}
	return frame.Messages[1:], err
}

// Hello is what the node says of itself.
func (n *Node) Hello() wire.Hello {
	return wire.Hello{
		NodeID: n.Name, ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, AgentVersion: "scripted", OS: "linux", Arch: "amd64",
		MachineID: "scripted", BootID: n.BootID, LastEpoch: n.Epoch, Chain: n.Chain, Role: "worker", Backend: "cpu",
		Capacity: wire.Capacity{Slots: n.Slots}, Runners: n.Runners, Running: n.holding(),
	}
}

func (n *Node) holding() []wire.RunningWork {
	if n.Holding == nil {
		return nil
	}
	return n.Holding()
}

// read takes frames until the connection ends, which is its only way out.
func (n *Node) read(s *Session) {
	for {
		frame, err := s.conn.Receive()
		if err != nil {
			s.end = err
			return
		}
		n.take(frame.Messages)
	}
}

func (n *Node) take(messages []wire.Message) {
	for _, m := range messages {
		if n.Hear != nil {
			n.Hear(m)
		}
	}
}

// Refuse makes the node say that it takes no work, for that reason; empty: it does.
func (n *Node) Refuse(reason string) error {
	n.refusal.Store(&reason)
	return n.Session().conn.Send(wire.Msg(n.heartbeat()))
}

func (n *Node) heartbeat() wire.Heartbeat {
	h := wire.Heartbeat{Accepting: true, Running: n.holding(), Health: wire.Health{OK: true}}
	if why := n.refusal.Load(); why != nil && *why != "" {
		h.Accepting, h.Reason = false, *why
	}
	return h
}

func (n *Node) beat(s *Session, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			// What can't be sent is seen by the reader.
			_ = s.conn.Send(wire.Msg(n.heartbeat()))
		case <-s.conn.Closed():
			return
		}
	}
}

// Cut ends the connection without a word, as a cable does, and waits until
// nothing of the session runs any more.
func (n *Node) Cut() {
	if s := n.Session(); s != nil {
		s.conn.CloseNow()
		s.work.Wait()
	}
}

// Session is the newest one; nil before the first.
func (n *Node) Session() *Session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.session
}

// TrySend sends a message, or says why it can't leave.
func (n *Node) TrySend(body wire.Body) error { return n.Session().conn.Send(wire.Msg(body)) }

// Closed is closed at the connection's end.
func (s *Session) Closed() <-chan struct{} { return s.conn.Closed() }

// End waits until nothing of the session runs any more, and says why it ended.
func (s *Session) End() error {
	s.work.Wait()
	return s.end
}

// Diligent answers what a node does that accepts every offer and ends it well at
// its start: within the frame, so that heartbeats have nothing to list.
func (n *Node) Diligent(m wire.Message) {
	switch m.Type {
	case wire.TypeOffer:
		if offer, err := wire.Decode[wire.Offer](m); err == nil {
			_ = n.TrySend(wire.Accept{Job: offer.Job, Attempt: offer.Attempt})
		}
	case wire.TypeStart:
		if start, err := wire.Decode[wire.Start](m); err == nil {
			_ = n.TrySend(wire.Result{Job: start.Job, Attempt: start.Attempt, Status: wire.ResultSucceeded})
		}
	}
}

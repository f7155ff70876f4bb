package rig

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// RawNode is a node whose every move the test decides, over a real socket: it may
// say what it should not, answer late or never, and vanish at any moment. Its
// name and secret stay over its sessions, as a real node's do.
type RawNode struct {
	RawOptions
	Secret  string // its own
	Epoch   int64  // of the newest session
	Welcome wire.Welcome

	server     string
	registered bool

	mu      sync.Mutex
	session *RawSession
	held    map[wire.AttemptRef]wire.Phase // what heartbeats list
	inbox   []wire.Message
	seen    map[wire.Type]int
	news    chan struct{} // closed and replaced at each frame
}

// RawOptions of a RawNode.
type RawOptions struct {
	Name    string
	License string
	Slots   int64    // 1
	Runners []string // noop
	BootID  string   // the name
	// Answer gets every message as it comes; nil: they wait for Hear.
	Answer func(n *RawNode, m wire.Message)
	// Say replaces the hello by another body.
	Say func(wire.Hello) wire.Body
}

// RawSession is one connection of a RawNode, with the goroutines that read it and
// send heartbeats.
type RawSession struct {
	conn *wsconn.Conn
	work sync.WaitGroup
	end  error // why it ended; read it after work
}

// NewRawNode makes a node with a secret of its own; it does not connect.
func NewRawNode(s *Server, o RawOptions) *RawNode {
	var secret [32]byte
	rand.Read(secret[:])
	n := &RawNode{
		RawOptions: o, Secret: base64.RawURLEncoding.EncodeToString(secret[:]), server: s.URL,
		held: map[wire.AttemptRef]wire.Phase{}, seen: map[wire.Type]int{}, news: make(chan struct{}),
	}
	if n.Slots == 0 {
		n.Slots = 1
	}
	if n.Runners == nil {
		n.Runners = []string{"noop"}
	}
	if n.BootID == "" {
		n.BootID = o.Name
	}
	return n
}

// JoinRawNode makes a node, connects it, and cuts it at the test's end.
func JoinRawNode(t testing.TB, s *Server, o RawOptions) *RawNode {
	t.Helper()
	n := NewRawNode(s, o)
	n.Join(t)
	t.Cleanup(func() { n.Cut() })
	return n
}

// Join connects and fails the test when the server does not want that.
func (n *RawNode) Join(t testing.TB) {
	t.Helper()
	if err := n.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Credential is the header of the upgrade: a license code beside the secret until
// the node is registered, then the secret alone.
func (n *RawNode) Credential() http.Header {
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
func (n *RawNode) Forget() { n.registered = false }

// Connect opens a session and begins to read and to send heartbeats. A session
// that is open already is left to the server to end.
func (n *RawNode) Connect(ctx context.Context) error {
	conn, err := wsconn.Dial(ctx, n.server+wire.ChannelPath, wsconn.DialOptions{Header: n.Credential()})
	if err != nil {
		return fmt.Errorf("dial as %s: %w", n.Name, err)
	}
	rest, err := n.open(conn)
	if err != nil {
		conn.CloseNow()
		return fmt.Errorf("hello as %s: %w", n.Name, err)
	}
	conn.SetSendLimits(n.Welcome.Limits)
	s := &RawSession{conn: conn}
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

// open says hello and waits for the welcome; rest came behind it.
func (n *RawNode) open(conn *wsconn.Conn) (rest []wire.Message, err error) {
	var hello wire.Body = n.Hello()
	if n.Say != nil {
		hello = n.Say(n.Hello())
	}
	if err := conn.Send(wire.Msg(hello)); err != nil {
		return nil, err
	}
	overdue := time.AfterFunc(patience, conn.CloseNow)
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
	return frame.Messages[1:], err
}

// Hello is what the node says of itself.
func (n *RawNode) Hello() wire.Hello {
	return wire.Hello{
		NodeID: n.Name, ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, AgentVersion: "raw", OS: "linux", Arch: "amd64",
		MachineID: "raw", BootID: n.BootID, LastEpoch: n.Epoch, Role: "worker", Backend: "cpu",
		Capacity: wire.Capacity{Slots: n.Slots}, Runners: n.Runners, Running: n.holding(),
	}
}

func (n *RawNode) holding() []wire.RunningWork {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []wire.RunningWork
	for ref, phase := range n.held {
		list = append(list, wire.RunningWork{Job: ref.Job, Attempt: ref.Attempt, Phase: phase})
	}
	return list
}

// read takes frames until the connection ends, which is its only way out.
func (n *RawNode) read(s *RawSession) {
	for {
		frame, err := s.conn.Receive()
		if err != nil {
			s.end = err
			return
		}
		n.take(frame.Messages)
	}
}

func (n *RawNode) take(messages []wire.Message) {
	for _, m := range messages {
		if n.Answer != nil {
			n.Answer(n, m)
		}
		n.keep(m)
	}
}

// keep counts a message and leaves it for Hear, unless somebody answers at once.
func (n *RawNode) keep(m wire.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen[m.Type]++
	if n.Answer == nil && m.Type != wire.TypeHeartbeatAck {
		n.inbox = append(n.inbox, m)
	}
	close(n.news)
	n.news = make(chan struct{})
}

func (n *RawNode) beat(s *RawSession, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			// What can't be sent is seen by the reader.
			_ = s.conn.Send(wire.Msg(wire.Heartbeat{Accepting: true, Running: n.holding(), Health: wire.Health{OK: true}}))
		case <-s.conn.Closed():
			return
		}
	}
}

// Cut ends the connection without a word, as a cable does, and waits until
// nothing of the session runs any more.
func (n *RawNode) Cut() {
	if s := n.Session(); s != nil {
		s.conn.CloseNow()
		s.work.Wait()
	}
}

// Session is the newest one; nil before the first.
func (n *RawNode) Session() *RawSession {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.session
}

// Ended waits for the session's end by the server, and gives its code.
func (s *RawSession) Ended(t testing.TB) wire.CloseCode {
	t.Helper()
	select {
	case <-s.conn.Closed():
	case <-time.After(patience):
		t.Fatalf("the server did not end the session within %v", patience)
	}
	s.work.Wait()
	var end *wsconn.End
	if !errors.As(s.end, &end) || end.Local {
		t.Fatalf("the server did not end the session: %v", s.end)
	}
	return end.Code
}

// Send sends messages and fails the test when they can't leave.
func (n *RawNode) Send(t testing.TB, bodies ...wire.Body) {
	t.Helper()
	for _, body := range bodies {
		if err := n.TrySend(body); err != nil {
			t.Fatalf("%s sends %s: %v", n.Name, body.Type(), err)
		}
	}
}

// TrySend sends a message, or says why it can't leave.
func (n *RawNode) TrySend(body wire.Body) error { return n.Session().conn.Send(wire.Msg(body)) }

// Seen counts the messages of a type that came so far, over all sessions.
func (n *RawNode) Seen(kind wire.Type) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen[kind]
}

// patience is how long one thing may take before a test gives up.
const patience = 30 * time.Second

package rig

import (
	"errors"
	"sync"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// RawNode is a node whose every move the test decides, over a real socket: it may
// say what it should not, answer late or never, and vanish at any moment. Its
// name and secret stay over its sessions, as a real node's do.
type RawNode struct {
	*backendtest.ScriptedNode
	answer func(n *RawNode, m wire.Message)

	mu    sync.Mutex
	held  map[wire.AttemptRef]wire.Phase // what heartbeats list
	begun map[wire.AttemptRef]bool       // what Begin has had the start of
	inbox []wire.Message
	seen  map[wire.Type]int
	news  chan struct{} // closed and replaced at each message
}

// RawOptions of a RawNode.
type RawOptions struct {
	Name    string
	License string
	Slots   int64    // 1
	Runners []string // noop
	// Answer gets every message as it comes; nil: they wait for Hear.
	Answer func(n *RawNode, m wire.Message)
	// Say replaces the hello by another body.
	Say func(wire.Hello) wire.Body
}

// RawSession is one connection of a RawNode.
type RawSession struct{ *backendtest.ScriptedSession }

// NewRawNode makes a node with a secret of its own; it does not connect.
func NewRawNode(s *Server, o RawOptions) *RawNode {
	n := &RawNode{answer: o.Answer, held: map[wire.AttemptRef]wire.Phase{}, begun: map[wire.AttemptRef]bool{}, seen: map[wire.Type]int{}, news: make(chan struct{})}
	n.ScriptedNode = backendtest.NewScriptedNode(backendtest.ScriptedNodeOptions{
		Server: s.URL, Name: o.Name, License: o.License, Slots: o.Slots, Runners: o.Runners, Say: o.Say,
		Hear: n.hear, Holding: n.holding,
	})
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

func (n *RawNode) holding() []wire.RunningWork {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []wire.RunningWork
	for ref, phase := range n.held {
		list = append(list, wire.RunningWork{Job: ref.Job, Attempt: ref.Attempt, Phase: phase})
	}
	return list
}

// hear counts a message and leaves it for Hear, unless somebody answers at once.
func (n *RawNode) hear(m wire.Message) {
	if n.answer != nil {
		n.answer(n, m)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen[m.Type]++
	if n.answer == nil && m.Type != wire.TypeHeartbeatAck {
		n.inbox = append(n.inbox, m)
	}
	close(n.news)
	n.news = make(chan struct{})
}

// Session is the newest one.
func (n *RawNode) Session() RawSession { return RawSession{n.ScriptedNode.Session()} }

// Ended waits for the session's end by the server, and gives its code.
func (s RawSession) Ended(t testing.TB) wire.CloseCode {
	t.Helper()
	select {
	case <-s.Closed():
	case <-time.After(patience):
		t.Fatalf("the server did not end the session within %v", patience)
	}
	why := s.End()
	var end *wsconn.End
	if !errors.As(why, &end) || end.Local {
		t.Fatalf("the server did not end the session: %v", why)
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

// Seen counts the messages of a type that came so far, over all sessions.
func (n *RawNode) Seen(kind wire.Type) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen[kind]
}

// patience is how long one thing may take before a test gives up.
const patience = time.Minute

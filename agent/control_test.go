package agent

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// control is a control plane that does what a test tells it, over real sockets.
type control struct {
	t        *testing.T
	server   *httptest.Server
	sessions chan *session

	mu        sync.Mutex
	headers   []http.Header // of the upgrade requests
	refuse    int           // status of the next upgrades; 0: accept
	epoch     int64
	artifacts map[string][]byte
	serve     http.HandlerFunc // in their place; nil: they
	secrets   *secrets         // nil: every secret is good
	fetches   []string         // Authorization headers of the artifact requests
}

// session is one connection of the agent's, from the server's side.
type session struct {
	t     *testing.T
	conn  *wsconn.Conn
	shown string // Authorization of the upgrade
	hello wire.Hello
	inbox chan wire.Body // all but heartbeats and inventories
	beats chan wire.Heartbeat
	tells chan wire.Inventory

	mu   sync.Mutex
	acks func(wire.Heartbeat) *wire.HeartbeatAck // nil: no acknowledgement
}

func newControl(t *testing.T, listener net.Listener) *control {
	t.Helper()
	return newControlOver(t, listener, nil)
}

// newControlOver serves https with a configuration, http with none.
func newControlOver(t *testing.T, listener net.Listener, config *tls.Config) *control {
	t.Helper()
	c := &control{t: t, sessions: make(chan *session, 256), artifacts: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+wire.ChannelPath, c.channel)
	mux.HandleFunc("GET /v1/artifacts/{digest}", c.artifact)
	mux.HandleFunc("PUT /v1/node/secret", c.putSecret)
	c.server = httptest.NewUnstartedServer(mux)
	if listener != nil {
		_ = c.server.Listener.Close()
		c.server.Listener = listener
	}
	if c.server.TLS = config; config != nil {
		c.server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that the agent refuses
		c.server.StartTLS()
	} else {
		c.server.Start()
	}
	t.Cleanup(c.server.Close)
	return c
}

func (c *control) channel(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.headers = append(c.headers, r.Header.Clone())
	refuse, known := c.refuse, c.secrets
	c.mu.Unlock()
	if refuse == 0 && !known.open(r.Header) {
		refuse = http.StatusUnauthorized
	}
	if refuse != 0 {
		http.Error(w, "refused by the test", refuse)
		return
	}
	conn, err := wsconn.Accept(w, r, wsconn.AcceptOptions{Options: wsconn.Options{PingEvery: wsconn.PingEvery}})
	if err != nil {
		return
	}
	s := &session{t: c.t, conn: conn, shown: r.Header.Get("Authorization"), inbox: make(chan wire.Body, 1024), beats: make(chan wire.Heartbeat, 1024), tells: make(chan wire.Inventory, 64), acks: acknowledge}
	go s.read()
	select {
	case first, open := <-s.inbox:
		if !open {
			return // it died before it said hello
		}
		s.hello = first.(wire.Hello)
	case <-time.After(patience):
		c.t.Errorf("no hello within %v", patience)
	}
	c.sessions <- s
}

func (c *control) artifact(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetches = append(c.fetches, r.Header.Get("Authorization"))
	content, ok := c.artifacts[r.PathValue("digest")]
	if c.serve != nil {
		c.serve(w, r)
		return
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content)
}

func acknowledge(wire.Heartbeat) *wire.HeartbeatAck {
	return &wire.HeartbeatAck{OK: true, LeaseMs: 4000}
}

func (s *session) read() {
	defer close(s.inbox)
	for {
		frame, err := s.conn.Receive()
		if err != nil {
			return
		}
		for _, m := range frame.Messages {
			s.take(m)
		}
	}
}

func (s *session) take(m wire.Message) {
	body, err := decodeAgent(m)
	if err != nil {
		s.t.Errorf("the agent sent what the wire forbids: %v", err)
		return
	}
	if told, ok := body.(wire.Inventory); ok {
		s.tells <- told
		return
	}
	beat, ok := body.(wire.Heartbeat)
	if !ok {
		s.inbox <- body
		return
	}
	select {
	case s.beats <- beat:
	default:
	}
	s.mu.Lock()
	acks := s.acks
	s.mu.Unlock()
	if acks == nil {
		return
	}
	if ack := acks(beat); ack != nil {
		_ = s.conn.Send(wire.Msg(*ack))
	}
}

func decodeAgent(m wire.Message) (wire.Body, error) {
	switch m.Type {
	case wire.TypeHello:
		return typed(wire.Decode[wire.Hello](m))
	case wire.TypeHeartbeat:
		return typed(wire.Decode[wire.Heartbeat](m))
	case wire.TypeAccept:
		return typed(wire.Decode[wire.Accept](m))
	case wire.TypeDecline:
		return typed(wire.Decode[wire.Decline](m))
	case wire.TypeResult:
		return typed(wire.Decode[wire.Result](m))
	case wire.TypeInventory:
		return typed(wire.Decode[wire.Inventory](m))
	case wire.TypeRotated:
		return typed(wire.Decode[wire.Rotated](m))
	case wire.TypeLog:
		return typed(wire.Decode[wire.Log](m))
	case wire.TypeGoodbye:
		return typed(wire.Decode[wire.Goodbye](m))
	}
	return nil, fmt.Errorf("unexpected %s", m.Type)
}

func typed[T wire.Body](b T, err error) (wire.Body, error) { return b, err }

func (s *session) ackWith(acks func(wire.Heartbeat) *wire.HeartbeatAck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acks = acks
}

func (s *session) send(bodies ...wire.Body) {
	s.t.Helper()
	for _, b := range bodies {
		if err := s.conn.Send(wire.Msg(b)); err != nil {
			s.t.Fatalf("send %s: %v", b.Type(), err)
		}
	}
}

const patience = time.Minute

// expect waits for the next message but heartbeats, which must be of the type.
func expect[T wire.Body](s *session) T {
	s.t.Helper()
	var none T
	select {
	case b, open := <-s.inbox:
		if body, ok := b.(T); ok {
			return body
		}
		s.t.Errorf("got %+v (open: %v), want %s", b, open, none.Type())
	case <-time.After(patience):
		s.t.Errorf("no %s within %v", none.Type(), patience)
	}
	return none
}

// beat waits for a heartbeat that is as wanted.
func (s *session) beat(what string, ok func(wire.Heartbeat) bool) wire.Heartbeat {
	s.t.Helper()
	deadline := time.After(patience)
	var last wire.Heartbeat
	for {
		select {
		case last = <-s.beats:
			if ok(last) {
				return last
			}
		case <-deadline:
			s.t.Fatalf("no heartbeat with %s; the last was %+v", what, last)
		}
	}
}

// next waits for the agent's next session.
func (c *control) next() *session {
	c.t.Helper()
	select {
	case s := <-c.sessions:
		return s
	case <-time.After(patience):
		c.t.Fatal("the agent opened no session")
		return nil
	}
}

// welcome answers the hello of the next session.
func (c *control) welcome(void ...wire.AttemptRef) *session {
	c.t.Helper()
	s := c.next()
	c.greet(s, void...)
	return s
}

func (c *control) greet(s *session, void ...wire.AttemptRef) {
	c.t.Helper()
	c.mu.Lock()
	c.epoch++
	epoch := c.epoch
	c.mu.Unlock()
	s.conn.SetReceiveLimits(wire.DefaultLimits())
	s.send(wire.Welcome{
		Proto: 1, NodeID: "edge-1", Epoch: epoch, Chain: chainOf(epoch), Limits: wire.DefaultLimits(), Pool: "pool-1", Void: void,
		Times: wire.Times{Heartbeat: 100, Suspect: 4000, Lost: 12_000, RedialWindow: 10},
	})
}

// chainOf is the chain value that the welcome of an epoch gives.
func chainOf(epoch int64) string {
	if epoch == 0 {
		return ""
	}
	return fmt.Sprintf("%064x", epoch)
}

func (c *control) dials() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

func (c *control) put(content []byte) wire.Input {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.artifacts[digest] = content
	return wire.Input{Name: "file", Digest: digest, Size: int64(len(content))}
}

func offerOf(n byte, name string, payload wire.Payload) wire.Offer {
	return wire.Offer{
		Job: jobID(n), Attempt: 1, App: "cam", Runner: name, Payload: payload, Demands: wire.Capacity{Slots: 1}, DeadlineMs: 5000,
	}
}

// toolPayload asks for a helper process.
func toolPayload(mode, dir string) wire.Payload {
	return wire.Payload{Params: []wire.Pair{{Name: "mode", Value: mode}, {Name: "dir", Value: dir}}}
}

// run brings a job to running.
func (s *session) run(o wire.Offer) {
	s.t.Helper()
	s.send(o)
	if got := expect[wire.Accept](s); got.Job != o.Job || got.Attempt != o.Attempt {
		s.t.Fatalf("accepted %+v, offered %s", got, o.Job)
	}
	s.send(wire.Start{Job: o.Job, Attempt: o.Attempt})
}

func (s *session) ackResult(r wire.Result, v wire.Verdict) {
	s.t.Helper()
	s.send(wire.ResultAck{Job: r.Job, Attempt: r.Attempt, Verdict: v})
}

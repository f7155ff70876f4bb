package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// session is one connection of a node, from its upgrade to its end. One goroutine
// owns it, the one in begin and then that in listen; others call end and send
// through conn.
type session struct {
	gateway *Gateway
	hub     *Hub
	conn    *wsconn.Conn
	from    netip.Addr
	node    string       // empty until it is registered
	opened  core.Session // none until the loop gave it; written under hub.mu, in the loop
	claimed bool         // a claim of authority was audited
	chain   string       // what its welcome brings
	proto   int64        // that both sides speak

	welcomed atomic.Bool            // the welcome is on its way; before it a node takes no message
	rotation atomic.Pointer[string] // the change of its secret that it was told of

	pace  pace
	tails tails

	ending sync.Once
	closer sync.WaitGroup
}

// begin is the session's way to its welcome. What follows runs in a goroutine of its
// own: registering takes a deep stack, which this one would hold long afterwards.
func (s *session) begin(credential *enroll.Credential) {
	if s.hello(credential) {
		go s.listen()
		return
	}
	s.over()
}

// listen is the life of the session.
func (s *session) listen() {
	defer s.over()
	for {
		frame, err := s.conn.Receive()
		if err != nil {
			s.note(err)
			return
		}
		if !s.take(frame.Messages) {
			return
		}
		s.pace.said(frame.Size, onlyLogs(frame.Messages))
	}
}

// onlyLogs reports a frame of nothing but pieces of logs: each was asked for, or
// it has ended the session.
func onlyLogs(messages []wire.Message) bool {
	return !slices.ContainsFunc(messages, func(m wire.Message) bool { return m.Type != wire.TypeLog })
}

// over tells the loop that the connection is gone, then waits until it is.
func (s *session) over() {
	defer s.gateway.drop(s)
	if opened := s.hub.leave(s); opened.Epoch != 0 {
		s.gateway.loop.Closed(opened)
	}
	s.tails.end()
	s.end(wire.CloseNormal, "")
	s.closer.Wait()
}

// end closes the connection without waiting for it; the first reason counts.
func (s *session) end(code wire.CloseCode, reason string) {
	s.ending.Do(func() {
		s.closer.Go(func() { s.conn.Close(code, reason) })
	})
}

// cut ends the connection at once.
func (s *session) cut() { s.conn.CloseNow() }

// hello waits for the first message and opens the session with it; what came
// behind it in the same frame is taken too. It reports whether the session goes on.
func (s *session) hello(credential *enroll.Credential) bool {
	overdue := time.AfterFunc(s.hub.cfg.HelloTimeout, func() { s.end(wire.CloseHelloTimeout, "no hello came") })
	frame, err := s.conn.Receive()
	overdue.Stop()
	if err != nil {
		s.note(err)
		return false
	}
	first := frame.Messages[0]
	if first.Type != wire.TypeHello {
		s.bad(fleet.CodeOutOfOrder, "the first message is hello")
		return false
	}
	hello, err := wire.Decode[wire.Hello](first)
	if err != nil {
		s.hub.counts.badMessages.Add(1)
		s.refuse(fleet.Errorf(fleet.CodeBadMessage, err.Error()))
		return false
	}
	if err := s.open(credential, &hello, first.Unknown); err != nil {
		s.refuse(err)
		return false
	}
	return s.take(frame.Messages[1:])
}

// open registers the node and enters the hub; the loop sends the welcome.
func (s *session) open(credential *enroll.Credential, hello *wire.Hello, unknown []string) error {
	proto, ok := wire.Agree(hello.ProtoMin, hello.ProtoMax)
	if !ok {
		return fleet.Errorf(fleet.CodeVersion, fmt.Sprintf(
			"this server speaks protocol %d to %d, the agent %d to %d: upgrade the older one", wire.ProtoMin, wire.ProtoMax, hello.ProtoMin, hello.ProtoMax))
	}
	s.proto = proto
	ctx, cancel := context.WithTimeout(s.gateway.ctx, registerWithin)
	defer cancel()
	registered, err := s.gateway.desk.Register(ctx, *credential, claimOf(hello, s.from))
	if err != nil {
		return err
	}
	s.node = registered.Node.ID
	labels, reserved := wire.SplitLabels(hello.Labels)
	s.unknown(unknown, reserved)
	if registered.IgnoredRole != "" {
		s.audit("claimed_role_ignored", fmt.Sprintf("claimed %s, is %s", registered.IgnoredRole, registered.Node.Role))
	}
	s.conn.SetReceiveLimits(s.hub.cfg.Limits)
	// The loop answers or stops: a deadline could leave a session that nobody closes.
	event := helloOf(hello, registered, labels, s.from)
	event.Secret = credential.Secret
	s.chain = newChain()
	identify(&event, hello, s.chain)
	if err := s.gateway.loop.Hello(context.Background(), event, s.enter); err != nil {
		return err
	}
	s.hub.counts.sessions.Add(1)
	return nil
}

func (s *session) enter(opened core.Session) { s.hub.enter(s, opened) }

// unknown counts keys and labels that no struct has. Those that claim authority
// change nothing and leave one audit entry a session, and few a node.
func (s *session) unknown(keys, reserved []string) {
	s.hub.counts.unknownKeys.Add(uint64(len(keys)))
	claims := reserved
	for _, key := range keys {
		if wire.ClaimsAuthority(key) {
			claims = append(claims, key)
		}
	}
	if len(claims) == 0 {
		return
	}
	s.hub.counts.claimedKeys.Add(uint64(len(claims)))
	if s.claimed {
		return
	}
	s.claimed = true
	s.audit("claimed_pool_ignored", wire.CleanText(strings.Join(claims, ", "), wire.MaxText))
}

// refuse answers a hello that can't be taken, and ends the connection.
func (s *session) refuse(err error) {
	s.hub.counts.refused.Add(1)
	code, detail, wait := fleet.CodeInternal, "the node could not be registered", time.Duration(0)
	var known *fleet.Error
	if errors.As(err, &known) {
		code, detail, wait = known.Code, known.Detail, time.Duration(known.RetryAfter)*time.Millisecond
	}
	s.log(slog.LevelInfo, "hello refused", "code", code, "error", err)
	closing := closeCodeOf(code)
	s.hub.send(s, wire.Msg(wire.Refused{
		Code: string(code), Detail: detail, RetryAfterMs: max(wait, closing.RetryAfter()).Milliseconds(), Fatal: hopeless[code],
	}))
	s.end(closing, string(code))
}

// hopeless refusals need a person: the same hello will never be taken.
var hopeless = map[fleet.Code]bool{
	fleet.CodeLicenseRefused: true, fleet.CodeNodeIDTaken: true, fleet.CodeVersion: true, fleet.CodeBadMessage: true,
}

// bad says what was wrong with a message, and ends the connection.
func (s *session) bad(code fleet.Code, detail string) {
	s.hub.counts.badMessages.Add(1)
	s.log(slog.LevelWarn, "bad message", "code", code, "detail", detail)
	s.hub.send(s, wire.Msg(wire.Error{Code: string(code), Detail: detail, Fatal: true}))
	s.end(wire.CloseBadMessage, detail)
}

// note logs how the connection ended, and counts an end for what the peer sent.
func (s *session) note(err error) {
	var end *wsconn.End
	if errors.As(err, &end) && end.Local {
		switch end.Code {
		case wire.CloseBadMessage, wire.CloseText, wire.CloseTooBig, wire.CloseProtocol:
			s.hub.counts.badMessages.Add(1)
		case wire.CloseSlowConsumer:
			s.hub.counts.slowConsumer.Add(1)
		}
	}
	s.hub.cfg.Logger.Debug("connection over", "node", s.node, "address", s.from, "error", err)
}

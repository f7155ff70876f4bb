package session

import (
	"log/slog"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
)

// take hands the messages of one frame to the loop and reports whether the
// session goes on. All of the frame is read before any of it is told, so that the
// loop finds it together and answers it together. Whatever the frame said, it
// renews the lease.
func (s *session) take(messages []wire.Message) bool {
	var few [4]func() // nearly every frame has fewer
	told, err := s.read(messages, few[:0])
	for _, tell := range told {
		tell()
	}
	switch {
	case err != nil:
		s.bad(fleet.CodeBadMessage, err.Error())
		return false
	case len(told) == 0 && len(messages) > 0:
		s.gateway.loop.Alive(s.opened)
	}
	return true
}

// read appends the events that messages are for the loop, up to the first bad one.
func (s *session) read(messages []wire.Message, told []func()) ([]func(), error) {
	for _, m := range messages {
		s.unknown(m.Unknown, nil)
		if !m.Type.Known() {
			s.unknownType(m)
			continue
		}
		tell, err := s.event(m)
		if err != nil {
			return told, err
		}
		if tell != nil {
			told = append(told, tell)
		}
	}
	return told, nil
}

// unknownType answers a request of a newer build; what is no request is counted only.
func (s *session) unknownType(m wire.Message) {
	s.hub.counts.unknownTypes.Add(1)
	if m.ID != "" {
		s.hub.send(s, wire.Reply(m, wire.Error{Code: wire.CodeUnknownType, Detail: "no message of this build: " + string(m.Type)}))
	}
}

// event makes of one message what tells the loop of it; nil: nothing does.
func (s *session) event(m wire.Message) (tell func(), err error) {
	loop := s.gateway.loop
	switch m.Type {
	case wire.TypeHeartbeat:
		return told(m, func(b *wire.Heartbeat) { loop.Heartbeat(s.opened, heartbeatOf(b, s.hub.cfg.Now())) })
	case wire.TypeAccept:
		return told(m, func(b *wire.Accept) { loop.Accept(s.opened, attemptOf(b.Job, b.Attempt)) })
	case wire.TypeDecline:
		return told(m, func(b *wire.Decline) { loop.Decline(s.opened, attemptOf(b.Job, b.Attempt), b.Reason) })
	case wire.TypeProgress:
		return told(m, func(b *wire.Progress) {
			loop.Progress(s.opened, attemptOf(b.Job, b.Attempt), int32(b.Percent))
		})
	case wire.TypeResult:
		return s.result(m)
	case wire.TypeInventory:
		return told(m, func(b *wire.Inventory) { loop.Inventory(s.opened, inventoryOf(b)) })
	case wire.TypeGoodbye:
		return told(m, s.goodbye)
	case wire.TypeLog:
		return nil, s.logPiece(m)
	case wire.TypeRotated:
		return nil, s.rotated(m)
	case wire.TypeError:
		return nil, s.peerError(m)
	}
	return nil, &wire.BadMessage{Type: m.Type, Problem: "is not for a node to send now"}
}

// bodyOf is what wire.Decode asks of a message's body.
type bodyOf[T any] interface {
	*T
	wire.Body
	Validate() error
}

// told decodes a message's body; what it returns gives the body on.
func told[T any, P bodyOf[T]](m wire.Message, to func(*T)) (func(), error) {
	body := new(T)
	if err := wire.DecodeInto[T, P](m, body); err != nil {
		return nil, err
	}
	return func() { to(body) }, nil
}

func (s *session) result(m wire.Message) (func(), error) {
	attempt, result, err := resultOf(m)
	if err != nil {
		return nil, err
	}
	return func() { s.gateway.loop.Result(s.opened, attempt, result) }, nil
}

// goodbye is the node's last message: nothing is waited for behind it.
func (s *session) goodbye(b *wire.Goodbye) {
	s.gateway.loop.Goodbye(s.opened, string(b.Kind))
	s.end(wire.CloseNormal, "goodbye")
}

// logPiece is for who follows the log; the loop hears nothing of it.
func (s *session) logPiece(m wire.Message) error {
	b, err := wire.Decode[wire.Log](m)
	if err != nil {
		return err
	}
	return s.tails.take(&b, s.hub.cfg.TailPause)
}

// rotated says that the next session comes with the new secret: that one ends the
// rotation, and this word of it is for the log. It is believed once, of the change
// that this session was told of; another is counted only, for it may be of one that
// the session before was told of.
func (s *session) rotated(m wire.Message) error {
	b, err := wire.Decode[wire.Rotated](m)
	if err != nil {
		return err
	}
	if told := s.rotation.Load(); told == nil || *told != b.ID || !s.rotation.CompareAndSwap(told, nil) {
		s.hub.counts.strayRotated.Add(1)
		return nil
	}
	s.log(slog.LevelInfo, "node has a new secret")
	return nil
}

// expect remembers what the node may answer once.
func (s *session) expect(send *core.Send) {
	if send.Kind == core.SendRotate {
		id := send.Rotate
		s.rotation.Store(&id)
	}
}

// peerError is what the agent says of a message of ours.
func (s *session) peerError(m wire.Message) error {
	b, err := wire.Decode[wire.Error](m)
	if err == nil {
		s.log(slog.LevelWarn, "node reports an error", "code", b.Code, "detail", b.Detail)
	}
	return err
}

package session

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
)

// take hands the messages of one frame to the loop and reports whether the
// session goes on. Whatever the frame said, it renews the lease.
func (s *session) take(messages []wire.Message) bool {
	silent := len(messages) > 0
	for _, m := range messages {
		s.unknown(m.Unknown, nil)
		if !m.Type.Known() {
			s.unknownType(m)
			continue
		}
		told, err := s.tell(m)
		if err != nil {
			s.bad(fleet.CodeBadMessage, err.Error())
			return false
		}
		silent = silent && !told
	}
	if silent {
		s.gateway.loop.Alive(s.node, s.epoch)
	}
	return true
}

// unknownType answers a request of a newer build; what is no request is counted only.
func (s *session) unknownType(m wire.Message) {
	s.hub.counts.unknownTypes.Add(1)
	if m.ID != "" {
		s.hub.send(s, wire.Reply(m, wire.Error{Code: wire.CodeUnknownType, Detail: "no message of this build: " + string(m.Type)}))
	}
}

// tell makes one message an event of the loop. It reports whether there was one.
func (s *session) tell(m wire.Message) (told bool, err error) {
	switch m.Type {
	case wire.TypeHeartbeat:
		return true, hand(m, func(b *wire.Heartbeat) { s.gateway.loop.Heartbeat(s.node, s.epoch, heartbeatOf(b)) })
	case wire.TypeAccept:
		return true, hand(m, func(b *wire.Accept) { s.gateway.loop.Accept(s.node, s.epoch, attemptOf(b.Job, b.Attempt)) })
	case wire.TypeDecline:
		return true, hand(m, func(b *wire.Decline) {
			s.gateway.loop.Decline(s.node, s.epoch, attemptOf(b.Job, b.Attempt), b.Reason)
		})
	case wire.TypeProgress:
		return true, hand(m, func(b *wire.Progress) {
			s.gateway.loop.Progress(s.node, s.epoch, attemptOf(b.Job, b.Attempt), int32(b.Percent))
		})
	case wire.TypeResult:
		return true, s.result(m)
	case wire.TypeGoodbye:
		return true, hand(m, s.goodbye)
	case wire.TypeError:
		return false, hand(m, s.peerError)
	}
	return false, &wire.BadMessage{Type: m.Type, Problem: "is not for a node to send now"}
}

// bodyOf is what wire.Decode asks of a message's body.
type bodyOf[T any] interface {
	*T
	wire.Body
	Validate() error
}

// hand decodes a message's body and gives it on.
func hand[T any, P bodyOf[T]](m wire.Message, to func(*T)) error {
	body, err := wire.Decode[T, P](m)
	if err != nil {
		return err
	}
	to(&body)
	return nil
}

func (s *session) result(m wire.Message) error {
	attempt, result, err := resultOf(m)
	if err != nil {
		return err
	}
	s.gateway.loop.Result(s.node, s.epoch, attempt, result)
	return nil
}

// goodbye is the node's last message: nothing is waited for behind it.
func (s *session) goodbye(b *wire.Goodbye) {
	s.gateway.loop.Goodbye(s.node, s.epoch, string(b.Kind))
	s.end(wire.CloseNormal, "goodbye")
}

// peerError is what the agent says of a message of ours.
func (s *session) peerError(b *wire.Error) {
	s.hub.cfg.Logger.Warn("node reports an error", "node", s.node, "epoch", s.epoch, "code", b.Code, "detail", b.Detail)
}

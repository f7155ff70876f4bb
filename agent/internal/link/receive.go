package link

import (
	"fmt"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// receive delivers what comes until the connection ends, and returns why it did.
func (l *Link) receive(number int64, conn *wsconn.Conn) error {
	for {
		frame, err := conn.Receive()
		if err != nil {
			return err
		}
		bodies := make([]wire.Body, 0, len(frame.Messages))
		for _, m := range frame.Messages {
			var body wire.Body
			if body, err = l.take(conn, m); err != nil {
				break
			}
			if body != nil {
				bodies = append(bodies, body)
			}
		}
		// When nobody listens any more the connection is being closed; it is read to its
		// end, because cutting it here would take along what still has to go out.
		if len(bodies) > 0 {
			l.post(Received{number, bodies})
		}
		if err != nil {
			return err
		}
	}
}

// take decodes one message; nil: it is nobody's. One that breaks the rules ends the
// connection; one that this build does not know does not.
func (l *Link) take(conn *wsconn.Conn, m wire.Message) (wire.Body, error) {
	body, err := decode(m)
	switch {
	case err != nil:
		conn.Close(wire.CloseBadMessage, err.Error())
		return nil, err
	case body == nil:
		l.ignored(conn, m)
		return nil, nil
	}
	switch body := body.(type) {
	case wire.Welcome:
		if _, ok := wire.Agree(body.Proto, body.Proto); !ok {
			err := &VersionError{body.Proto}
			conn.Close(wire.CloseVersion, err.Error())
			return nil, err
		}
		conn.SetSendLimits(within(body.Limits, wire.DefaultLimits()))
	case wire.Error:
		l.cfg.Log.Warn("the control plane found a fault with a message", "code", body.Code, "detail", body.Detail)
		return nil, nil
	}
	return body, nil
}

// VersionError is a welcome of a protocol that this agent does not speak.
type VersionError struct{ Proto int64 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the control plane speaks protocol %d, this agent %d to %d", e.Proto, wire.ProtoMin, wire.ProtoMax)
}

// decode gives the body of a message that an agent receives; nil for any other.
func decode(m wire.Message) (wire.Body, error) {
	switch m.Type {
	case wire.TypeWelcome:
		return body(wire.Decode[wire.Welcome](m))
	case wire.TypeRefused:
		return body(wire.Decode[wire.Refused](m))
	case wire.TypeHeartbeatAck:
		return body(wire.Decode[wire.HeartbeatAck](m))
	case wire.TypeOffer:
		return body(wire.Decode[wire.Offer](m))
	case wire.TypeStart:
		return body(wire.Decode[wire.Start](m))
	case wire.TypeVoid:
		return body(wire.Decode[wire.Void](m))
	case wire.TypeCancel:
		return body(wire.Decode[wire.Cancel](m))
	case wire.TypeResultAck:
		return body(wire.Decode[wire.ResultAck](m))
	case wire.TypeRotate:
		return body(wire.Decode[wire.Rotate](m))
	case wire.TypeLogRequest:
		return body(wire.Decode[wire.LogRequest](m))
	case wire.TypeError:
		return body(wire.Decode[wire.Error](m))
	}
	return nil, nil
}

func body[T wire.Body](b T, err error) (wire.Body, error) { return b, err }

// ignored answers a request that this build does not know.
func (l *Link) ignored(conn *wsconn.Conn, m wire.Message) {
	l.cfg.Log.Debug("message ignored", "type", string(m.Type))
	if m.ID == "" {
		return
	}
	answer := wire.Error{Code: wire.CodeUnknownType, Detail: "this agent does not know " + string(m.Type)}
	_ = conn.Send(wire.Reply(m, answer)) // it fails when the connection is ending, which Receive tells
}

// within keeps the server's limits within our own.
func within(l, most wire.Limits) wire.Limits {
	return wire.Limits{Frame: min(l.Frame, most.Frame), String: min(l.String, most.String), List: min(l.List, most.List)}
}

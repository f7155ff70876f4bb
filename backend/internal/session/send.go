package session

import (
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
)

// bodyOf is the message that carries a send of the core to the session; nil for
// SendClose.
func (h *Hub) bodyOf(to *session, s *core.Send) wire.Body {
	job, attempt := s.Job.String(), int64(s.Attempt)
	switch s.Kind {
	case core.SendOffer, core.SendProbe:
		return h.offerOf(s)
	case core.SendStart:
		return wire.Start{Job: job, Attempt: attempt}
	case core.SendVoid:
		return wire.Void{Job: job, Attempt: attempt}
	case core.SendCancel:
		return wire.Cancel{Job: job, Attempt: attempt, GraceMs: s.GraceMs}
	case core.SendResultAck:
		return wire.ResultAck{Job: job, Attempt: attempt, Verdict: verdicts[s.Verdict]}
	case core.SendHeartbeatAck:
		return h.ackOf(s.Ack)
	case core.SendWelcome:
		return h.welcomeOf(to, s)
	case core.SendRotate:
		return wire.Rotate{ID: s.Rotate}
	case core.SendError:
		return wire.Error{Code: string(s.Code), Detail: s.Detail}
	}
	return nil
}

var verdicts = [...]wire.Verdict{
	core.VerdictStored: wire.VerdictStored, core.VerdictDuplicate: wire.VerdictDuplicate,
	core.VerdictFenced: wire.VerdictFenced, core.VerdictCanceled: wire.VerdictCanceled,
}

func (h *Hub) offerOf(s *core.Send) wire.Offer {
	spec := s.Spec
	return wire.Offer{
		Job: s.Job.String(), Attempt: int64(s.Attempt),
		App: spec.App, Runner: spec.Runner, Backend: spec.Backend,
		Payload: wire.Payload{Params: pairsOf(spec.Params), Inputs: inputsOf(spec.Inputs)},
		Demands: wire.Capacity{
			Slots: spec.Demands.Slots, Resources: amountsOf(spec.Demands.Resources), Memory: amountsOf(spec.Demands.Memory),
		},
		Limits:     wire.RunLimits{RunMs: spec.RunTimeoutMs},
		DeadlineMs: h.cfg.OfferTimeout.Milliseconds(),
	}
}

func (h *Hub) welcomeOf(to *session, s *core.Send) wire.Welcome {
	return wire.Welcome{
		Proto: to.proto, NodeID: s.Node, Epoch: s.Epoch, Chain: to.chain, Limits: h.cfg.Limits, Times: h.cfg.Times,
		Pool: s.Welcome.Pool, Holds: holdsOf(s.Welcome.Holds), Void: refsOf(s.Welcome.Void),
	}
}

// ackOf repeats what must be true of the node. What is over the message's bounds
// comes with the next one: by then some of it is true.
func (h *Hub) ackOf(a *core.HeartbeatAck) wire.HeartbeatAck {
	return wire.HeartbeatAck{
		OK: a.OK, LeaseMs: h.cfg.Times.Suspect,
		Holds: holdsOf(a.Holds), Cancel: cancelsOf(a.Cancel), Void: refsOf(a.Void),
	}
}

func holdsOf(list []fleet.Hold) []wire.Hold {
	return convert(list, wire.MaxHolds, func(h fleet.Hold) wire.Hold {
		return wire.Hold{Kind: string(h.Kind), Owner: string(h.Owner), Reason: h.Reason}
	})
}

func refsOf(list []core.Attempt) []wire.AttemptRef {
	return convert(list, wire.MaxRefs, func(a core.Attempt) wire.AttemptRef {
		return wire.AttemptRef{Job: a.Job.String(), Attempt: int64(a.Attempt)}
	})
}

func cancelsOf(list []core.Attempt) []wire.CancelRef {
	return convert(list, wire.MaxRefs, func(a core.Attempt) wire.CancelRef {
		return wire.CancelRef{Job: a.Job.String(), Attempt: int64(a.Attempt), GraceMs: a.GraceMs}
	})
}

func pairsOf(list []fleet.Label) []wire.Pair {
	return convert(list, len(list), func(l fleet.Label) wire.Pair { return wire.Pair(l) })
}

func inputsOf(list []fleet.Input) []wire.Input {
	return convert(list, len(list), func(in fleet.Input) wire.Input { return wire.Input(in) })
}

func amountsOf(list []fleet.Quantity) []wire.Amount {
	return convert(list, len(list), func(q fleet.Quantity) wire.Amount { return wire.Amount(q) })
}

// convert maps the first limit items.
func convert[From, To any](list []From, limit int, item func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	all := make([]To, min(len(list), limit))
	for i := range all {
		all[i] = item(list[i])
	}
	return all
}

// closeCodes is the WebSocket's end that fits the core's reason; CloseRestart,
// which asks for nothing but a new dial, for every other one.
var closeCodes = map[fleet.Code]wire.CloseCode{
	fleet.CodeUnauthenticated:   wire.CloseRevoked,
	fleet.CodeForbidden:         wire.CloseRevoked,
	fleet.CodeNotFound:          wire.CloseRevoked,
	fleet.CodeLicenseRefused:    wire.CloseRevoked,
	fleet.CodeLicenseLimit:      wire.CloseLicenseLimit,
	fleet.CodeNodeIDTaken:       wire.CloseLicenseLimit,
	fleet.CodeConflict:          wire.CloseSuperseded,
	fleet.CodeDuplicateIdentity: wire.CloseDuplicateNode,
	fleet.CodeRateLimited:       wire.CloseRateLimited,
	fleet.CodeVersion:           wire.CloseVersion,
	fleet.CodeBadMessage:        wire.CloseBadMessage,
	fleet.CodeOutOfOrder:        wire.CloseBadMessage,
}

func closeCodeOf(code fleet.Code) wire.CloseCode {
	if c, ok := closeCodes[code]; ok {
		return c
	}
	return wire.CloseRestart
}

package agent

import (
	"errors"

	"rockpool/agent/internal/identity"
	"rockpool/agent/internal/link"
	"rockpool/shared/footprint"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// causeShuttingDown is how a result says that the agent stopped before the end.
const causeShuttingDown = "node_shutting_down"

// act carries out what was decided, in the order that Effects demands.
func (l *loop) act() {
	for _, n := range l.out.Notes {
		if n.Attention {
			l.log.Error(n.Text)
		} else {
			l.log.Info(n.Text)
		}
	}
	for _, w := range l.out.Welcomed {
		l.tasks = append(l.tasks, diskTask{remember: &identity.Record{NodeID: w.NodeID, Epoch: w.Epoch, Chain: w.Chain}})
		l.begun.Do(footprint.Shrink)
	}
	for _, s := range l.out.Sends {
		l.send(s)
	}
	l.link.Flush()
	for _, ref := range l.kept {
		delete(l.results, ref)
	}
	l.kept = l.kept[:0]
	for _, h := range l.out.Hangups {
		l.link.Hangup(h.Conn, h.Gently, h.Why)
	}
	l.actOnWork()
	if l.out.SelfTest {
		l.selfTest.begin()
	}
	for _, d := range l.out.Dials {
		l.link.Dial(d.Conn, duration(d.Timeout))
	}
}

func (l *loop) actOnWork() {
	for _, ref := range l.out.Starts {
		l.log.Info("job started", "job", ref.Job, "attempt", ref.Attempt, "runner", l.offers[ref].Runner)
		l.runners.Start(ref, l.offers[ref])
		delete(l.offers, ref)
	}
	for _, s := range l.out.Stops {
		l.log.Info("job asked to end", "job", s.Ref.Job, "attempt", s.Ref.Attempt)
		l.runners.Stop(s.Ref, duration(s.Grace))
	}
	for _, r := range l.out.Reports {
		result := l.resultOf(r)
		l.log.Info("job ended", "job", r.Ref.Job, "attempt", r.Ref.Attempt, "status", string(result.Status), "reason", result.Reason, "detail", result.Detail)
		l.results[r.Ref] = result
		l.tasks = append(l.tasks, diskTask{put: &result, ref: r.Ref})
	}
	for _, ref := range l.out.Forgets {
		delete(l.offers, ref)
		delete(l.results, ref)
	}
	for _, f := range l.out.Frees {
		l.log.Debug("result freed", "job", f.Ref.Job, "attempt", f.Ref.Attempt, "verdict", f.Verdict)
		l.tasks = append(l.tasks, diskTask{remove: true, ref: f.Ref})
	}
}

// resultOf is what an attempt's result says. An attempt that never started has an
// empty one.
func (l *loop) resultOf(r nodecore.Report) wire.Result {
	result, ok := l.results[r.Ref]
	if !ok {
		result = wire.Result{Job: r.Ref.Job.String(), Attempt: int64(r.Ref.Attempt), Status: wire.ResultCanceled}
	}
	switch r.As {
	case nodecore.ReportCanceled:
		result.Status, result.Reason, result.Detail = wire.ResultCanceled, "", ""
	case nodecore.ReportShutdown:
		result.Status, result.Reason, result.Detail = wire.ResultFailed, causeShuttingDown, "the agent stopped before the job's end"
	}
	return result
}

// bytesOf is about what a result has on the channel.
func bytesOf(r wire.Result) int {
	const rest, output = 1 << 10, 256 // of the other fields, of one declared file
	return rest + len(r.Detail) + len(r.Output) + len(r.Head) + len(r.Tail) + output*len(r.Outputs)
}

// send puts one message on the channel; Flush lets it go. A connection that takes no
// more is given up: the next session begins from what is true then.
func (l *loop) send(s nodecore.Send) {
	if s.Kind == nodecore.SendHeartbeat {
		l.tasks = append(l.tasks, diskTask{watch: true})
	}
	if _, here := l.results[s.Ref]; s.Kind == nodecore.SendResult && !here {
		l.tasks = append(l.tasks, diskTask{handIn: s.Conn, ref: s.Ref})
		return
	}
	err := l.link.Queue(s.Conn, l.message(s))
	if s.Kind == nodecore.SendGoodbye && err == nil {
		l.left = l.goodbye == wire.GoodbyeLeft
	}
	if err == nil || errors.Is(err, wsconn.ErrClosed) {
		return // an end comes as an event
	}
	l.log.Warn("a message can't be sent", "error", err)
	l.link.Hangup(s.Conn, false, err.Error())
}

func (l *loop) message(s nodecore.Send) wire.Body {
	job, attempt := s.Ref.Job.String(), int64(s.Ref.Attempt)
	switch s.Kind {
	case nodecore.SendHello:
		return l.helloNow(s)
	case nodecore.SendHeartbeat:
		return link.Heartbeat(s.State)
	case nodecore.SendAccept:
		return wire.Accept{Job: job, Attempt: attempt}
	case nodecore.SendDecline:
		return wire.Decline{Job: job, Attempt: attempt, Reason: s.Reason}
	case nodecore.SendResult:
		return l.results[s.Ref] // as it has just been spooled
	case nodecore.SendInventory:
		return l.inventory
	case nodecore.SendRotated:
		return wire.Rotated{ID: s.ID}
	}
	return wire.Goodbye{Kind: l.goodbye}
}

// helloNow is the hello of a new session.
func (l *loop) helloNow(s nodecore.Send) wire.Hello {
	h, record := l.hello, l.id.Record()
	if record.Registered() {
		h.NodeID = "" // it has its name
	}
	h.LastEpoch, h.Chain = record.Epoch, s.Chain
	h.Running, h.Spooled = link.Running(s.State.Work), int64(s.State.Spooled)
	return h
}

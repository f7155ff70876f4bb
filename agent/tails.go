package agent

import (
	"time"

	"rockpool/agent/internal/link"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// Bounds of what a node tells of its running attempts' logs.
const (
	tailEvery = 250 * time.Millisecond // at most one answer an attempt in this time
	tailWait  = 5 * time.Second        // for something new, then an answer without bytes
	maxTails  = 64                     // requests that wait; more are not taken
)

// tails are the requests for logs that have no answer yet: one an attempt, the
// latest. Nothing is sent that was not asked for, and each request is answered
// once: the next one is the flow control. The loop alone uses them.
type tails struct {
	waiting map[nodecore.Ref]tail
	ticker  *time.Ticker // nil while nothing waits
}

// tail is one request.
type tail struct {
	conn    int64
	ask     wire.LogRequest
	overdue time.Time // an answer without bytes is due
}

// ask takes a request; it is answered at a tick.
func (t *tails) ask(now time.Time, conn int64, ask wire.LogRequest) {
	ref := link.Ref(ask.Job, ask.Attempt)
	if _, again := t.waiting[ref]; !again && len(t.waiting) >= maxTails {
		return
	}
	if t.ticker == nil {
		t.waiting, t.ticker = map[nodecore.Ref]tail{}, time.NewTicker(tailEvery)
	}
	t.waiting[ref] = tail{conn, ask, now.Add(tailWait)}
}

// ticks is when to answer; nil while nothing waits.
func (t *tails) ticks() <-chan time.Time {
	if t.ticker == nil {
		return nil
	}
	return t.ticker.C
}

// logs is what a running attempt has written; runner.Set has them.
type logs interface {
	Log(ref nodecore.Ref, offset int64, limit int) (at int64, part []byte, runs bool)
}

// answer sends what there is.
func (t *tails) answer(now time.Time, from logs, send func(conn int64, answer wire.Log)) {
	for ref, w := range t.waiting {
		at, part, runs := from.Log(ref, w.ask.Offset, int(w.ask.Max))
		if runs && len(part) == 0 && now.Before(w.overdue) {
			continue
		}
		delete(t.waiting, ref)
		if len(part) == 0 {
			at = w.ask.Offset // a request beyond the end is answered where it asked
		}
		send(w.conn, wire.Log{Job: w.ask.Job, Attempt: w.ask.Attempt, Stream: w.ask.Stream, Offset: at, Bytes: part, End: !runs})
	}
	if len(t.waiting) == 0 {
		t.stop()
	}
}

func (t *tails) stop() {
	if t.ticker != nil {
		t.ticker.Stop()
		t.ticker = nil
	}
}

// sendLog puts a piece of a log on the channel. One that can't go is dropped: a
// log is worth no session, and who asked on a connection that is over asks again.
func (l *loop) sendLog(conn int64, answer wire.Log) {
	if err := l.link.Send(conn, answer); err != nil {
		l.log.Debug("a piece of a log is not sent", "job", answer.Job, "attempt", answer.Attempt, "error", err)
	}
}

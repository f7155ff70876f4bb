package session

import (
	"context"
	"slices"
	"sync"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

// Bounds of the logs that are followed. Each log has one open request, so that a
// node has at most maxTails × tailAsk = 64 KiB of them under way.
const (
	maxTails = 8        // logs of one node at a time
	tailAsk  = 8 << 10  // bytes asked for at once
	tailKept = 64 << 10 // bytes of a log that a follower may be behind
)

// tails are the logs of one node that somebody follows. What a node sends of them
// goes to the followers and nowhere else.
type tails struct {
	mu   sync.Mutex
	over bool // the session is
	open map[tailKey]*tail
}

type tailKey struct {
	job     ids.JobID
	attempt int32
}

// tail is one attempt's log with those who follow it. They share one open request:
// the next one goes out when somebody has read all that there is.
type tail struct {
	key       tailKey
	kept      []byte
	at        int64 // where kept begins
	next      int64 // where it ends
	asked     bool  // a request is open; its answer is waited for whoever is left
	resting   bool  // the node has no more for now: it is asked again after a pause
	over      bool
	followers int
	change    chan struct{} // closed and replaced when something came
}

// Follow shows the log of an attempt that runs on a node, from an offset on, until
// the node says that it does not run there any more, or has no session: then it
// returns nil. A piece may begin beyond the end of the one before: what stood
// between is not kept any more, as for a follower who is slow. It returns ctx's
// error, that of show, or rate_limited when too many logs of the node are followed.
func (h *Hub) Follow(ctx context.Context, node string, job ids.JobID, attempt int32, from int64, show func(at int64, part []byte) error) error {
	h.mu.RLock()
	s := h.current[node]
	h.mu.RUnlock()
	if s == nil {
		return nil
	}
	t, err := s.tails.join(tailKey{job, attempt}, from)
	if t == nil {
		return err
	}
	defer s.tails.leave(t)
	for {
		at, part, over, change := s.readTail(t, from)
		switch {
		case len(part) > 0:
			if err := show(at, part); err != nil {
				return err
			}
			from = at + int64(len(part))
			continue
		case over:
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readTail gives what is kept from an offset on. When that is nothing the node is
// asked for more.
func (s *session) readTail(t *tail, from int64) (at int64, part []byte, over bool, change <-chan struct{}) {
	s.tails.mu.Lock()
	at, part, over, change = t.read(from)
	ask := s.welcomed.Load() && len(part) == 0 && !t.over && !t.asked && !t.resting
	if ask {
		t.asked = true
	}
	request := wire.LogRequest{
		Job: t.key.job.String(), Attempt: int64(t.key.attempt), Stream: wire.LogOutput, Offset: t.next, Max: tailAsk,
	}
	s.tails.mu.Unlock()
	if ask {
		s.hub.send(s, wire.Msg(request))
	}
	return at, part, over, change
}

func (t *tail) read(from int64) (at int64, part []byte, over bool, change <-chan struct{}) {
	at = max(from, t.at)
	if at < t.next {
		part = slices.Clone(t.kept[at-t.at:])
	}
	return at, part, t.over, t.change
}

// join makes the caller a follower; no tail: the session is over, or err says why.
func (ts *tails) join(key tailKey, from int64) (*tail, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.over {
		return nil, nil
	}
	t := ts.open[key]
	if t == nil {
		if len(ts.open) >= maxTails {
			return nil, fleet.Errorf(fleet.CodeRateLimited, "too many logs of this node are followed at once")
		}
		if ts.open == nil {
			ts.open = map[tailKey]*tail{}
		}
		t = &tail{key: key, at: from, next: from, change: make(chan struct{})}
		ts.open[key] = t
	}
	t.followers++
	return t, nil
}

func (ts *tails) leave(t *tail) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.followers--
	ts.tidy(t)
}

// tidy forgets a log that nobody follows and nothing will come of.
func (ts *tails) tidy(t *tail) {
	if t.over || t.followers == 0 && !t.asked {
		if ts.open[t.key] == t {
			delete(ts.open, t.key)
		}
	}
}

// take gives a piece to those who follow. One that nobody asked for, or another one
// than was asked for, is a *wire.BadMessage: no node sends such by chance, because
// a request stays open until its answer or the session's end. A piece shorter than
// was asked for is followed by a pause, or a node that answers at once with little
// or nothing would be asked without end.
func (ts *tails) take(m *wire.Log, pause time.Duration) error {
	attempt := attemptOf(m.Job, m.Attempt)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.open[tailKey{attempt.Job, attempt.Attempt}]
	switch {
	case t == nil || !t.asked:
		return &wire.BadMessage{Type: wire.TypeLog, Problem: "was not asked for"}
	case m.Offset < t.next:
		return &wire.BadMessage{Type: wire.TypeLog, Field: "offset", Problem: "is before the one asked for"}
	case len(m.Bytes) > tailAsk:
		return &wire.BadMessage{Type: wire.TypeLog, Field: "bytes", Problem: "are more than were asked for"}
	}
	t.asked, t.over = false, m.End
	if len(m.Bytes) < tailAsk && !m.End {
		t.resting = true
		time.AfterFunc(pause, func() { ts.rested(t) })
	}
	t.add(m.Offset, m.Bytes)
	t.wake()
	ts.tidy(t)
	return nil
}

// welcome lets those ask who follow already.
func (ts *tails) welcome() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.open {
		t.wake()
	}
}

// rested lets those who follow ask again.
func (ts *tails) rested(t *tail) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.resting = false
	t.wake()
}

// add keeps a piece. What a gap parts from it is dropped.
func (t *tail) add(offset int64, part []byte) {
	if len(part) == 0 {
		return
	}
	if offset > t.next {
		t.kept, t.at = nil, offset
	}
	t.kept = append(t.kept, part...)
	t.next = offset + int64(len(part))
	if extra := len(t.kept) - tailKept; extra > 0 {
		t.kept, t.at = slices.Clone(t.kept[extra:]), t.at+int64(extra)
	}
}

func (t *tail) wake() {
	close(t.change)
	t.change = make(chan struct{})
}

// end ends all of them, and those to come: the session is over.
func (ts *tails) end() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.over = true
	for _, t := range ts.open {
		t.over = true
		t.wake()
	}
	ts.open = nil
}

package enroll

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// mostAtOnce is how many secrets one statement looks up at most.
const mostAtOnce = 512

// lookup finds nodes by their secrets. One statement is under way at a time; what
// comes meanwhile waits for it, and then goes together.
type lookup struct {
	store Store
	turn  chan struct{} // held by the statement that is under way

	mu      sync.Mutex
	waiting []*question
}

// question is whose a secret is.
type question struct {
	ctx    context.Context // of who asks
	secret Sum
	answer chan answer // has room for it
}

type answer struct {
	node record.Member
	err  error
}

func newLookup(store Store) *lookup { return &lookup{store: store, turn: make(chan struct{}, 1)} }

// node finds the node that has the secret, or gives up with ctx. Without one the
// error is not_found.
func (l *lookup) node(ctx context.Context, secret Sum) (record.Member, error) {
	q := &question{ctx, secret, make(chan answer, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, q)
	l.mu.Unlock()
	select {
	case l.turn <- struct{}{}:
		go l.ask() // for others too: they must not wait for this one's context
	case a := <-q.answer:
		return a.node, a.err
	case <-ctx.Done():
		return record.Member{}, ctx.Err()
	}
	select {
	case a := <-q.answer:
		return a.node, a.err
	case <-ctx.Done():
		return record.Member{}, ctx.Err()
	}
}

// ask answers what waits now, and ends the turn.
func (l *lookup) ask() {
	defer func() { <-l.turn }()
	asked := l.take()
	if len(asked) == 0 {
		return
	}
	secrets := make([]Sum, len(asked))
	for i, q := range asked {
		secrets[i] = q.secret
	}
	ctx, done := untilAllGaveUp(asked)
	defer done()
	found, err := l.store.MembersBySecret(ctx, secrets)
	if err != nil {
		err = fmt.Errorf("look up the secrets of nodes: %w", err)
	}
	for _, q := range asked {
		node, known := found[q.secret]
		switch {
		case err != nil:
			q.answer <- answer{err: err}
		case !known:
			q.answer <- answer{err: fleet.Errorf(fleet.CodeNotFound, "no node has this secret")}
		default:
			q.answer <- answer{node: node}
		}
	}
}

// take gives the questions whose askers still wait, as many as go together.
func (l *lookup) take() []*question {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := make([]*question, 0, min(len(l.waiting), mostAtOnce))
	for len(l.waiting) > 0 && len(asked) < mostAtOnce {
		if q := l.waiting[0]; q.ctx.Err() == nil {
			asked = append(asked, q)
		}
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
	}
	return asked
}

// untilAllGaveUp is a context that ends when nobody waits for an answer any more.
func untilAllGaveUp(asked []*question) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var left atomic.Int64
	left.Store(int64(len(asked)))
	stops := make([]func() bool, len(asked))
	for i, q := range asked {
		stops[i] = context.AfterFunc(q.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

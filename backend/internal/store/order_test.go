package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// play takes a batch through its turn as Writer does.
type play struct {
	whole, taken, failed bool
	follows              bool // it is for the database not to take it when the one before fails
	turn                 *turn
	err                  error
}

// course is what happens on a connection that has no database behind it.
type course struct {
	mu                    sync.Mutex
	sent, answers, settle []int64
	inUse                 atomic.Int32 // who sends, or has it for itself
}

func (c *course) use(fn func()) error {
	defer c.inUse.Add(-1)
	if c.inUse.Add(1) != 1 {
		return errors.New("two use the connection at a time")
	}
	fn()
	return nil
}

func (c *course) note(list *[]int64, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*list = append(*list, n)
}

func (c *course) run(p *play) (err error) {
	t := p.turn
	defer func() {
		t.settle(p.err)
		c.note(&c.settle, t.n)
	}()
	if p.whole {
		if p.follows, p.err = t.send(); p.err != nil {
			return nil
		}
		err = c.use(func() { c.note(&c.sent, t.n) })
		t.sentAll()
		t.awaitAnswer()
		c.note(&c.answers, t.n)
		t.gotAnswer()
		if p.taken || err != nil {
			return err
		}
	}
	if p.err = t.alone(); p.err != nil {
		return nil
	}
	t.mu.Lock()
	unanswered := t.sent != t.answered
	t.mu.Unlock()
	if unanswered {
		return fmt.Errorf("batch %d is alone while an answer is still to come", t.n)
	}
	if p.failed {
		p.err = fmt.Errorf("batch %d failed", t.n)
	}
	return c.use(func() {})
}

// Whatever comes of batches: they are sent, answered and settled in their order, who is
// alone is so, and one that began behind one that failed fails with it.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o, c := &order{}, &course{}
		plays := make([]*play, rapid.IntRange(1, 12).Draw(rt, "batches"))
		for i := range plays {
			whole := rapid.Bool().Draw(rt, "whole")
			plays[i] = &play{
				whole: whole, taken: whole && rapid.IntRange(0, 2).Draw(rt, "taken") > 0, failed: rapid.IntRange(0, 3).Draw(rt, "failed") == 0,
			}
		}
		for group := plays; len(group) > 0; {
			n := rapid.IntRange(1, len(group)).Draw(rt, "at a time")
			if err := c.together(o, group[:n]); err != nil {
				rt.Fatal(err)
			}
			group = group[n:]
		}
		for name, list := range map[string][]int64{"sent": c.sent, "answered": c.answers} {
			if !slices.IsSorted(list) {
				rt.Fatalf("%s in the order %v", name, list)
			}
		}
		if len(c.settle) != len(plays) || o.settled != int64(len(plays)) {
			rt.Fatalf("%d of %d are settled", len(c.settle), len(plays))
		}
		for i, p := range plays[1:] {
			before := plays[i]
			if p.turn.behind && before.err != nil && !(p.taken && p.follows) && p.err != before.err {
				rt.Fatalf("batch %d came to %v behind one that came to %v", p.turn.n, p.err, before.err)
			}
			if !p.turn.behind && p.err != nil && !p.failed {
				rt.Fatalf("batch %d came to %v, behind nobody", p.turn.n, p.err)
			}
		}
	})
}

// together begins batches before any of them is settled, and runs them at once.
func (c *course) together(o *order, plays []*play) error {
	for _, p := range plays {
		p.turn = o.begin()
	}
	errs := make(chan error, len(plays))
	for _, p := range plays {
		go func() { errs <- c.run(p) }()
	}
	var all error
	for range plays {
		all = errors.Join(all, <-errs)
	}
	return all
}

package enroll

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"rockpool/backend/internal/record"
)

// hanging is a store that answers when it is told to, or when nobody waits any more.
type hanging struct {
	Store
	mu      sync.Mutex
	asked   []int // how many secrets each statement looked up, and 0 for each license
	answers chan struct{}
}

func (h *hanging) hang(ctx context.Context, secrets int) error {
	h.mu.Lock()
	h.asked = append(h.asked, secrets)
	h.mu.Unlock()
	select {
	case <-h.answers:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *hanging) MembersBySecret(ctx context.Context, secrets []Sum) (map[Sum]record.Member, error) {
	found := map[Sum]record.Member{}
	for _, s := range secrets {
		if s[0] < 128 {
			found[s] = record.Member{MaxSlots: int64(s[0])}
		}
	}
	return found, h.hang(ctx, len(secrets))
}

func (h *hanging) Node(ctx context.Context, _ string) (record.Node, error) {
	return record.Node{}, h.hang(ctx, 0)
}

// However many nodes come at once, the database has connections for operators left.
func TestAttack_A29_NodesTakeTurnsAtTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{answers: make(chan struct{})}
		turns := newTurns(store)
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		failed := make(chan error, 200)
		for range 100 {
			done.Go(func() { _, err := turns.MemberBySecret(ctx, Sum{}); failed <- err })
			done.Go(func() { _, err := turns.Node(ctx, "ams-1"); failed <- err })
		}
		synctest.Wait()
		if len(store.asked) != atOnce+1 {
			t.Errorf("%d questions at one time, want %d", len(store.asked), atOnce+1)
		}
		store.answers <- struct{}{} // one answer lets one more ask
		synctest.Wait()
		if len(store.asked) != atOnce+2 {
			t.Errorf("%d questions after one answer, want %d", len(store.asked), atOnce+2)
		}
		cancel() // who waits gives up
		done.Wait()
		close(failed)
		gaveUp := 0
		for err := range failed {
			if errors.Is(err, context.Canceled) {
				gaveUp++
			}
		}
		if gaveUp < 100 {
			t.Errorf("%d gave up", gaveUp)
		}
	})
}

// The secrets that come while a statement is under way are looked up together by the
// next one. Each asker gets its own node, or hears that there is none; who gave up
// takes nobody along.
func TestLookup_WhatWaitsGoesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{answers: make(chan struct{})}
		turns := newTurns(store)
		ask := func(ctx context.Context, i int) <-chan answer {
			to := make(chan answer, 1)
			go func() {
				node, err := turns.MemberBySecret(ctx, Sum{byte(i)})
				to <- answer{node, err}
			}()
			synctest.Wait()
			return to
		}
		impatient, giveUp := context.WithCancel(t.Context())
		first := ask(impatient, 0)
		var askers []<-chan answer
		for i := range 200 {
			askers = append(askers, ask(t.Context(), i))
		}
		late := ask(impatient, 7)
		giveUp() // the first statement has nobody left: it ends
		for _, a := range []<-chan answer{first, late} {
			if got := <-a; !errors.Is(got.err, context.Canceled) {
				t.Errorf("who gave up has %v", got.err)
			}
		}
		synctest.Wait() // the second one is under way, and it is the one that is answered
		store.answers <- struct{}{}
		for i, a := range askers {
			switch got := <-a; {
			case i < 128 && (got.err != nil || got.node.MaxSlots != int64(i)):
				t.Errorf("asker %d has node %d, %v", i, got.node.MaxSlots, got.err)
			case i >= 128 && !isNotFound(got.err):
				t.Errorf("asker %d, whose secret no node has: %v", i, got.err)
			}
		}
		if len(store.asked) != 2 || store.asked[0] != 1 || store.asked[1] != 200 {
			t.Errorf("the statements looked up %v secrets, want 1 and 200", store.asked)
		}
	})
}

package enroll

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"rockpool/backend/internal/core/fleet"
)

// hanging is a store that answers when it is told to.
type hanging struct {
	Store
	mu      sync.Mutex
	asked   int
	answers chan struct{}
}

func (h *hanging) NodeBySecret(context.Context, Sum) (fleet.NodeRecord, error) {
	h.mu.Lock()
	h.asked++
	h.mu.Unlock()
	<-h.answers
	return fleet.NodeRecord{}, nil
}

// However many nodes come at once, the database has connections for operators left.
func TestAttack_A29_NodesTakeTurnsAtTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{answers: make(chan struct{})}
		turns := newTurns(store)
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		failed := 0
		for range 100 {
			done.Go(func() {
				if _, err := turns.NodeBySecret(ctx, Sum{}); errors.Is(err, context.Canceled) {
					store.mu.Lock()
					failed++
					store.mu.Unlock()
				}
			})
		}
		synctest.Wait()
		if store.asked != atOnce {
			t.Errorf("%d questions at one time, want %d", store.asked, atOnce)
		}
		store.answers <- struct{}{} // one answer lets one more ask
		synctest.Wait()
		if store.asked != atOnce+1 {
			t.Errorf("%d questions after one answer, want %d", store.asked, atOnce+1)
		}
		cancel() // who waits gives up
		synctest.Wait()
		close(store.answers)
		done.Wait()
		if failed != 100-atOnce-1 {
			t.Errorf("%d gave up, want %d", failed, 100-atOnce-1)
		}
	})
}

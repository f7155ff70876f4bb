package api

import (
	"context"
	"sync"
)

// idempotencyKey is a key of one user's.
type idempotencyKey struct {
	user int64
	key  string
}

// keyLocks lets one request per key through at a time.
type keyLocks[K comparable] struct {
	mu   sync.Mutex
	held map[K]chan struct{} // closed when free again
}

func newKeyLocks[K comparable]() *keyLocks[K] { return &keyLocks[K]{held: map[K]chan struct{}{}} }

// lock waits for the key; the caller calls unlock, once or more. An error is ctx's.
func (k *keyLocks[K]) lock(ctx context.Context, key K) (unlock func(), err error) {
	for {
		k.mu.Lock()
		busy, taken := k.held[key]
		if !taken {
			mine := make(chan struct{})
			k.held[key] = mine
			k.mu.Unlock()
			return sync.OnceFunc(func() { k.free(key, mine) }), nil
		}
		k.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (k *keyLocks[K]) free(key K, mine chan struct{}) {
	k.mu.Lock()
	delete(k.held, key)
	k.mu.Unlock()
	close(mine)
}

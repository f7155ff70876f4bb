package agent

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"rockpool/agent/internal/identity"
	"rockpool/agent/internal/link"
)

// rotation gives the node a new secret when the control plane asks for it: the
// secret is on the disk before it leaves the machine, and known to the control
// plane before it is shown. What a crash leaves undone is asked for again.
type rotation struct {
	id     *identity.Identity
	client *link.Client
	log    *slog.Logger
	done   chan string // rotations whose secret both sides know

	asked  string // the newest one
	ready  bool   // its secret is known to the control plane
	cancel context.CancelFunc
	work   sync.WaitGroup
}

func newRotation(id *identity.Identity, client *link.Client, log *slog.Logger) *rotation {
	return &rotation{id: id, client: client, log: log, done: make(chan string), cancel: func() {}}
}

// Waits between tries to hand a secret in.
const (
	firstHandInWait = time.Second
	mostHandInWait  = 30 * time.Second
)

// ask begins a rotation, unless it is under way. It reports whether that one is
// done already.
func (r *rotation) ask(rotation string) (ready bool) {
	if rotation == r.asked {
		return r.ready
	}
	r.stop()
	ctx, cancel := context.WithCancel(context.Background())
	r.asked, r.ready, r.cancel = rotation, false, cancel
	r.work.Go(func() {
		if !r.handIn(ctx, rotation) {
			return
		}
		select {
		case r.done <- rotation:
		case <-ctx.Done():
		}
	})
	return false
}

// handIn makes the secret and hands it in, again and again until the control plane
// has it or says that it wants it no more.
func (r *rotation) handIn(ctx context.Context, rotation string) bool {
	for wait := firstHandInWait; ; wait = min(2*wait, mostHandInWait) {
		secret, err := r.id.NextSecret(rotation)
		if err == nil {
			err = r.client.PutSecret(ctx, rotation, secret.Reveal())
		}
		var refused *link.StatusError
		switch {
		case err == nil:
			r.id.Known(rotation)
			return true
		case ctx.Err() != nil:
			return false
		case errors.As(err, &refused) && refused.Final():
			r.log.Error("the control plane does not take the new secret: the old one stays", "rotation", rotation, "error", err)
			return false
		}
		r.log.Warn("a new secret is not handed in yet: it is tried again", "rotation", rotation, "error", err)
		select {
		case <-time.After(wait/2 + rand.N(wait/2)):
		case <-ctx.Done():
			return false
		}
	}
}

// stop ends what is under way and waits for it.
func (r *rotation) stop() {
	r.cancel()
	r.work.Wait()
}

// rotate begins a rotation, or says again that it is done.
func (l *loop) rotate(id string) {
	if l.rotation.ask(id) {
		l.rotated(id)
		return
	}
	l.log.Info("the control plane asks for a new secret", "rotation", id)
}

// rotated tells that both sides know the new secret, which opens the next session.
func (l *loop) rotated(id string) {
	l.rotation.ready = true
	if l.id.Stale() {
		l.node.Rotated(l.clock.now(), id, &l.out)
	}
}

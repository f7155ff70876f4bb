package backend

import (
	"context"
	"sync/atomic"
	"time"

	"rockpool/backend/internal/core/fleet"
)

// answering is what the watcher knows of the database: a context that ends when it is
// found away, so that nobody waits for it who can be told.
type answering struct{ current atomic.Pointer[spell] }

type spell struct {
	context.Context
	end context.CancelCauseFunc
}

// now is the context of the database as it is known. tell came before.
func (d *answering) now() context.Context { return d.current.Load() }

// tell notes that the database answers again, or that it was found away just now.
func (d *answering) tell(answers bool, now time.Time) {
	if answers {
		ctx, end := context.WithCancelCause(context.Background())
		d.current.Store(&spell{ctx, end})
		return
	}
	d.current.Load().end(fleet.Errorf(fleet.CodeUnavailable,
		"the database does not answer; fleet frozen since "+now.UTC().Format(time.RFC3339)))
}

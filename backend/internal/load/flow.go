package load

import (
	"context"
	"sync"
)

// flow lets jobs in while not too many of them are open.
type flow struct {
	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when done grew
	accepted int
	done     int
	most     int // open at a time
}

func newFlow(most int) *flow { return &flow{most: most, changed: make(chan struct{})} }

// admit waits until so many more jobs may be open, and counts them as accepted;
// more than may ever be open go in when nothing else is.
func (f *flow) admit(ctx context.Context, jobs int) error {
	for {
		f.mu.Lock()
		if open := f.accepted - f.done; open+jobs <= f.most || open <= 0 {
			f.accepted += jobs
			f.mu.Unlock()
			return nil
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ended takes news of how many jobs are done in all.
func (f *flow) ended(done int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set(done)
}

// endedOne adds one that is done.
func (f *flow) endedOne() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.set(f.done + 1)
}

func (f *flow) set(done int) {
	if done > f.done {
		f.done = done
		close(f.changed)
		f.changed = make(chan struct{})
	}
}

// counts are the jobs that were accepted and done so far.
func (f *flow) counts() (accepted, done int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accepted, f.done
}

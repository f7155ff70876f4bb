package runner

import (
	"runtime"
	"sync"
)

// onOwnThread runs f on a thread that ends with it. The kernel kills a child when
// the thread that started it ends, and so also when the agent dies; and nothing else
// ever runs on a thread that was made ready for a child. The process's first thread
// is none of these: its children are orphans.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: a goroutine that ends so takes its thread along
		if onFirstThread() {
			onOwnThread(f) // on another one, while this one is taken
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// thread is such a thread, which does what it is given, one after the other.
type thread chan func()

// threads are those that wait for the next child: to make one costs a quarter of what
// a short process does. Safe for concurrent use.
type threads struct {
	mu    sync.Mutex
	spare []thread
	over  bool
}

// spareThreads are kept at most.
const spareThreads = 32

// take gives a thread that has no child.
func (t *threads) take() thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := len(t.spare) - 1; last >= 0 {
		next := t.spare[last]
		t.spare = t.spare[:last]
		return next
	}
	next := make(thread, 1)
	go onOwnThread(func() {
		for f := range next {
			f()
		}
	})
	return next
}

// give takes a thread back that has no child any more and does nothing.
func (t *threads) give(back thread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || len(t.spare) == spareThreads {
		close(back)
		return
	}
	t.spare = append(t.spare, back)
}

// close ends those that wait; the others end with their child.
func (t *threads) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for _, next := range t.spare {
		close(next)
	}
	t.spare = nil
}

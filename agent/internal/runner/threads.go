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

// threads are such threads for one child after the other: to make one costs a quarter
// of what a short process does.
type threads struct {
	mu    sync.Mutex
	spare []chan func() // of those that wait for the next child
	over  bool
}

// spareThreads are kept at most.
const spareThreads = 8

// run has f done on a thread for children. It does not wait for its end.
func (t *threads) run(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.spare) - 1
	if last < 0 {
		go onOwnThread(func() { t.serve(f) })
		return
	}
	next := t.spare[last]
	t.spare = t.spare[:last]
	next <- f
}

// serve does f, and then whatever comes, until there is no more.
func (t *threads) serve(f func()) {
	for next := make(chan func(), 1); f != nil; f = <-next {
		f()
		if !t.rest(next) {
			return
		}
	}
}

// rest takes a thread for the next child, unless there are enough.
func (t *threads) rest(next chan func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || len(t.spare) == spareThreads {
		return false
	}
	t.spare = append(t.spare, next)
	return true
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

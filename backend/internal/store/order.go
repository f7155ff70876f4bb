package store

import "sync"

// order lets commits overlap and take effect one after the other. A batch gets a number
// when it comes. It is sent when the one before was sent, its answer is read when the one
// before has its own, and it is settled, the end of its commit, when the one before is.
// What was not taken as it was sent waits until it is alone with the connection: what was
// sent behind it has its answer by then, and nothing further is sent.
type order struct {
	mu      sync.Mutex
	moved   sync.Cond
	begun   int64 // the newest batch's number
	sending bool  // a batch is being sent
	// How far batches have come: the number of the newest one that was sent, has its
	// answer, is settled.
	sent, answered, settled int64
	failure                 error // of the newest that is settled
}

// turn is a batch's place.
type turn struct {
	*order
	n      int64
	behind bool // the one before was not settled when this one came: it needs it to be
}

func (o *order) begin() *turn {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.moved.L = &o.mu
	o.begun++
	return &turn{order: o, n: o.begun, behind: o.settled < o.begun-1}
}

// when waits until a condition holds, and changes what others wait for.
func (o *order) when(cond func() bool, change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !cond() {
		o.moved.Wait()
	}
	change()
	o.moved.Broadcast()
}

func always() bool { return true }

// send waits until the batch may be sent. follows: the one before has no answer yet. An
// error is that of the batch before, as alone has it, and then the batch is not sent.
func (t *turn) send() (follows bool, err error) {
	t.when(
		func() bool { return t.sent == t.n-1 && (t.answered < t.n-1 || t.settled == t.n-1) },
		func() {
			if follows = t.answered < t.n-1; !follows {
				err = t.before()
			}
			t.sending = err == nil
		},
	)
	return follows, err
}

// before is the failure of the batch before, which is settled, if this one needs it.
func (t *turn) before() error {
	if t.behind {
		return t.failure
	}
	return nil
}

// withdraw says that the batch is not sent after all.
func (t *turn) withdraw() { t.when(always, func() { t.sending = false }) }

// sentAll says that it was.
func (t *turn) sentAll() { t.when(always, func() { t.sending, t.sent = false, t.n }) }

// awaitAnswer waits until the next answer is the batch's.
func (t *turn) awaitAnswer() {
	t.when(func() bool { return t.answered == t.n-1 }, func() {})
}

func (t *turn) gotAnswer() { t.when(always, func() { t.answered = t.n }) }

// alone waits until nobody uses the connection, nor will before the batch is settled.
// An error is that of the batch before, without which this one can't be.
func (t *turn) alone() (err error) {
	t.when(
		func() bool { return t.settled == t.n-1 && t.answered == t.sent && !t.sending },
		func() { err = t.before() },
	)
	return err
}

// settle ends the batch's turn.
func (t *turn) settle(failure error) {
	t.when(func() bool { return t.settled == t.n-1 }, func() {
		t.sent, t.answered = max(t.sent, t.n), max(t.answered, t.n)
		t.settled, t.failure = t.n, failure
	})
}

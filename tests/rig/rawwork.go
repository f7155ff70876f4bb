package rig

import (
	"testing"
	"time"

	"rockpool/shared/wire"
)

// heard is what wire.Decode asks of a message's body.
type heard[T any] interface {
	*T
	wire.Body
	Validate() error
}

// Hear waits for the node's next message of T's type. Others before it stay.
func Hear[T any, P heard[T]](t testing.TB, n *RawNode) T {
	t.Helper()
	kind := P(new(T)).Type()
	overdue := time.After(patience)
	for {
		m, news, found := n.pick(kind)
		if found {
			body, err := wire.Decode[T, P](m)
			if err != nil {
				t.Fatal(err)
			}
			return body
		}
		select {
		case <-news:
		case <-overdue:
			t.Fatalf("node %s heard no %s within %v", n.Name, kind, patience)
		}
	}
}

// pick takes the first message of a type out of the inbox; news is closed when
// there may be another one.
func (n *RawNode) pick(kind wire.Type) (m wire.Message, news <-chan struct{}, found bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, m := range n.inbox {
		if m.Type == kind {
			n.inbox = append(n.inbox[:i:i], n.inbox[i+1:]...)
			return m, nil, true
		}
	}
	return wire.Message{}, n.news, false
}

// Take accepts the next offer and waits until its attempt may begin.
func (n *RawNode) Take(t testing.TB) wire.Offer {
	t.Helper()
	offer := n.Accept(t)
	n.Begin(t, offer)
	return offer
}

// Accept accepts the next offer: before the offer's time is over, however long the
// node then takes for other work.
func (n *RawNode) Accept(t testing.TB) wire.Offer {
	t.Helper()
	offer := Hear[wire.Offer](t, n)
	n.hold(refOf(offer.Job, offer.Attempt), wire.PhaseAccepted)
	n.Send(t, wire.Accept{Job: offer.Job, Attempt: offer.Attempt})
	return offer
}

// Begin waits until the attempt of an accepted offer may begin.
func (n *RawNode) Begin(t testing.TB, offer wire.Offer) {
	t.Helper()
	for ref := refOf(offer.Job, offer.Attempt); !n.began(ref); {
		start := Hear[wire.Start](t, n)
		if !n.begin(refOf(start.Job, start.Attempt)) {
			t.Fatalf("start %+v, which was not accepted, before that of %+v", start, ref)
		}
	}
	n.hold(refOf(offer.Job, offer.Attempt), wire.PhaseRunning)
}

// Report hands in a result, and gives the verdict.
func (n *RawNode) Report(t testing.TB, r wire.Result) wire.Verdict {
	t.Helper()
	n.drop(refOf(r.Job, r.Attempt))
	n.Send(t, r)
	ack := Hear[wire.ResultAck](t, n)
	if ack.Job != r.Job || ack.Attempt != r.Attempt {
		t.Fatalf("acknowledged %+v instead of %s/%d", ack, r.Job, r.Attempt)
	}
	return ack.Verdict
}

// Succeed is the result of an attempt that went well.
func Succeed(o wire.Offer) wire.Result {
	return wire.Result{Job: o.Job, Attempt: o.Attempt, Status: wire.ResultSucceeded}
}

// Diligent is an Answer: it accepts every offer and ends it well at its start.
func Diligent(n *RawNode, m wire.Message) { n.Diligent(m) }

func refOf(job string, attempt int64) wire.AttemptRef {
	return wire.AttemptRef{Job: job, Attempt: attempt}
}

func (n *RawNode) hold(ref wire.AttemptRef, phase wire.Phase) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held[ref] = phase
}

// begin notes a start; false: the node holds no such attempt. A heartbeat that
// crossed an earlier start gets that start once more, maybe after its end.
func (n *RawNode) begin(ref wire.AttemptRef) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, held := n.held[ref]
	n.begun[ref] = held || n.begun[ref]
	return n.begun[ref]
}

func (n *RawNode) began(ref wire.AttemptRef) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.begun[ref]
}

func (n *RawNode) drop(ref wire.AttemptRef) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.held, ref)
}

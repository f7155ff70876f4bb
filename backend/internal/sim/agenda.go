package sim

import (
	"math/bits"

	"rockpool/backend/internal/core/due"
)

// eventKind is what an event is.
type eventKind uint8

const (
	evNodeTick   eventKind = iota // a node's deciding code has something to do
	evUp                          // a message arrives at the server
	evDown                        // a message arrives at a node
	evDialed                      // a dial has an answer
	evClientGone                  // a node learns that its connection ended
	evServerGone                  // the server learns that a connection ended
	evFinish                      // an attempt's processes have ended
	evStored                      // a result is on the node's disk, or could not be written
	evTested                      // a node's self-test has an answer
	evBoot                        // a node's process begins
	evApplied                     // a transaction is in the store, or is not
	evCommitted                   // the server hears how a transaction ended
	evLoaded                      // the fleet was read from the store
	evRecalled                    // rows of ended jobs were read
	evTold                        // the core hears of a change that the store has
	evDemand                      // a demand submits its next job
	evSubmit                      // a client submits an order, or does so again
	evStep                        // a line of the scenario's script
	evUndo                        // the end of a fault that lasts
	evServer                      // the server's process begins again, or goes on
	evCheck                       // an expectation with a time
	evPing                        // the server's pings found a silent connection
	evChurn                       // a node comes or goes by its distribution
)

// event is one thing that happens. Only the fields of its kind are set.
type event struct {
	at   Time
	msg  *message // also carries the connection or the function that it is about
	n    int64    // of a job, a step or a process
	node int32
	kind eventKind
}

// agenda holds what is to happen, in the order of its times; of one millisecond,
// what was planned first happens first. Nearly everything is planned for the next
// few seconds: each millisecond of those has a list of its own, what comes later
// waits in a heap.
type agenda struct {
	from   Time // all that is planned is at from or later
	next   Time // when the first of the near ones happens; Never: there is none
	lists  [nearby]list
	filled [nearby / 64]uint64 // which lists are not empty
	far    due.Heap            // at from+nearby or later

	places []place // the first stands for none
	free   int32
}

// nearby is how many milliseconds have lists: a power of two, more than a usual
// heartbeat.
const nearby = 1 << 14

// list is a queue of places; 0: none.
type list struct{ first, last int32 }

// place is where an event lies still until it happens. It is half of what the
// processor reads at once: an event's list or the heap has its time.
type place struct {
	msg   *message
	n     int64
	node  int32
	after int32 // the next of its list
	kind  eventKind
}

func newAgenda() agenda { return agenda{next: Never, places: make([]place, 1, 1024)} }

// first is when the next event happens; Never: there is none.
func (a *agenda) first() Time { return min(a.next, a.far.First()) }

func (a *agenda) push(ev event) {
	at := a.put(ev)
	if ev.at < a.from+nearby {
		a.append(ev.at, at)
		return
	}
	a.far.Push(ev.at, at)
}

// put finds a place for an event.
func (a *agenda) put(ev event) int32 {
	p := place{msg: ev.msg, n: ev.n, node: ev.node, kind: ev.kind}
	at := a.free
	if at == 0 {
		a.places = append(a.places, p)
		return int32(len(a.places) - 1)
	}
	a.free = a.places[at].after
	a.places[at] = p
	return at
}

// append lets a place wait at the end of its millisecond's list.
func (a *agenda) append(t Time, at int32) {
	i := t & (nearby - 1)
	l := &a.lists[i]
	if l.first == 0 {
		l.first = at
		a.filled[i/64] |= 1 << (i % 64)
		a.next = min(a.next, t)
	} else {
		a.places[l.last].after = at
	}
	l.last = at
}

// pop takes the first event out. There must be one.
func (a *agenda) pop() event {
	if t := a.first(); t > a.from {
		a.advance(t)
	}
	i := a.next & (nearby - 1)
	l := &a.lists[i]
	at := l.first
	p := &a.places[at]
	top := event{at: a.next, msg: p.msg, n: p.n, node: p.node, kind: p.kind}
	if l.first = p.after; l.first == 0 {
		a.filled[i/64] &^= 1 << (i % 64)
		a.next = a.nextFilled(a.next)
	}
	p.msg, p.after = nil, a.free
	a.free = at
	return top
}

// advance brings what is near now into the lists, before anything is planned there.
func (a *agenda) advance(to Time) {
	a.from = to
	for a.far.First() < to+nearby {
		d := a.far.Pop()
		a.append(d.At, d.Place)
	}
}

// nextFilled finds the first list after that of t.
func (a *agenda) nextFilled(t Time) Time {
	i := int(t & (nearby - 1))
	if rest := a.filled[i/64] >> (i % 64); rest != 0 {
		return t + Time(bits.TrailingZeros64(rest))
	}
	base := t - t%64
	for k := 1; k <= len(a.filled); k++ {
		if word := a.filled[(i/64+k)%len(a.filled)]; word != 0 {
			return base + Time(64*k+bits.TrailingZeros64(word))
		}
	}
	return Never
}

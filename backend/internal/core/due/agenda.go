// Package due keeps what has a time in the order of its times.
package due

import (
	"math/bits"

	"rockpool/backend/internal/core/fleet"
)

// nearby is how many milliseconds have lists: a power of two, more than the usual
// lease and heartbeat.
const nearby = 1 << 15

// Agenda holds what is due, in the order of its times; of one millisecond, what was
// planned first comes first. Nearly everything is planned for the next seconds: each
// millisecond of those has a list of its own, and what comes later waits in a heap,
// as does what should have come before the one that is under way. What is planned
// lies still at its place. An Agenda is not to be copied.
type Agenda[T any] struct {
	now    fleet.Time // the millisecond under way
	first  int32      // of its list, 0: nothing is left of it
	last   int32
	next   fleet.Time // the earliest of the others that has a list
	newest []int32    // of the lists: the place that was planned last, 0: it is empty
	filled [nearby / 64]uint64
	far    heap

	places []place[T] // the first stands for none
	free   int32
	size   int
}

// place is where something lies until it is due.
type place[T any] struct {
	what T
	link int32 // what was planned for its millisecond before; once that is under way, after
}

// NewAgenda makes an empty one.
func NewAgenda[T any]() *Agenda[T] {
	return &Agenda[T]{next: fleet.Never, newest: make([]int32, nearby), places: make([]place[T], 1, 64)}
}

// Len is how much is planned.
func (a *Agenda[T]) Len() int { return a.size }

// First is when the first is due; fleet.Never: nothing is planned.
func (a *Agenda[T]) First() fleet.Time {
	if a.first != 0 {
		return min(a.now, a.far.first())
	}
	return min(a.next, a.far.first())
}

// Add plans what for a time.
func (a *Agenda[T]) Add(at fleet.Time, what T) {
	a.size++
	p := a.put(what)
	switch {
	case at == a.now:
		a.append(p)
	case at < a.now || at >= a.now+nearby:
		a.far.push(at, p)
	default:
		a.list(at, p)
	}
}

// put finds a place.
func (a *Agenda[T]) put(what T) int32 {
	at := a.free
	if at == 0 {
		a.places = append(a.places, place[T]{what: what})
		return int32(len(a.places) - 1)
	}
	p := &a.places[at]
	a.free = p.link
	p.what, p.link = what, 0
	return at
}

// append lets a place be the last of the millisecond under way.
func (a *Agenda[T]) append(p int32) {
	if a.first == 0 {
		a.first = p
	} else {
		a.places[a.last].link = p
	}
	a.last = p
}

// list puts a place into its millisecond's list. Newest first: nothing but the place
// itself is touched.
func (a *Agenda[T]) list(at fleet.Time, p int32) {
	i := at & (nearby - 1)
	a.places[p].link = a.newest[i]
	a.newest[i] = p
	a.filled[i/64] |= 1 << (i % 64)
	a.next = min(a.next, at)
}

// Pop takes the first out. There must be one.
func (a *Agenda[T]) Pop() (fleet.Time, T) {
	at := a.First()
	if at < a.now {
		return at, a.take(a.far.pop().place)
	}
	if a.first == 0 {
		a.turn(at)
	}
	p := a.first
	a.first = a.places[p].link
	return at, a.take(p)
}

// take empties a place.
func (a *Agenda[T]) take(at int32) T {
	a.size--
	p := &a.places[at]
	what := p.what
	*p = place[T]{link: a.free}
	a.free = at
	return what
}

// turn lets a later millisecond begin: its list is brought into the order in which it
// was planned, and what is near now gets into the lists.
func (a *Agenda[T]) turn(to fleet.Time) {
	a.now = to
	for a.far.first() < to+nearby {
		d := a.far.pop()
		a.list(d.at, d.place)
	}
	i := to & (nearby - 1)
	p := a.newest[i]
	a.newest[i] = 0
	a.filled[i/64] &^= 1 << (i % 64)
	a.last = p
	for after := int32(0); p != 0; {
		a.places[p].link, after, p = after, p, a.places[p].link
		a.first = after
	}
	a.next = a.nextFilled(to)
}

// nextFilled finds the first list after that of t, which is empty.
func (a *Agenda[T]) nextFilled(t fleet.Time) fleet.Time {
	i := int(t & (nearby - 1))
	if rest := a.filled[i/64] >> (i % 64); rest != 0 {
		return t + fleet.Time(bits.TrailingZeros64(rest))
	}
	base := t - t%64
	for k := 1; k <= len(a.filled); k++ {
		if word := a.filled[(i/64+k)%len(a.filled)]; word != 0 {
			return base + fleet.Time(64*k+bits.TrailingZeros64(word))
		}
	}
	return fleet.Never
}

// Move plans everything anew, for the time that to gives; of one time, in the order
// of before.
func (a *Agenda[T]) Move(to func(what *T) fleet.Time) {
	all, now := make([]T, 0, a.size), a.now
	for a.size > 0 {
		_, what := a.Pop()
		all = append(all, what)
	}
	a.now = now // no millisecond after it has begun
	for i := range all {
		a.Add(to(&all[i]), all[i])
	}
}

// Reset empties the agenda and keeps its memory.
func (a *Agenda[T]) Reset() {
	clear(a.newest)
	clear(a.places)
	a.now, a.first, a.last, a.next, a.free, a.size = 0, 0, 0, fleet.Never, 0, 0
	a.filled = [nearby / 64]uint64{}
	a.places, a.far.list = a.places[:1], a.far.list[:0]
}

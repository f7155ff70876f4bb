// Package due keeps what has a time in the order of its times. What is due lies
// still at a place of its owner's; only the deadlines move.
package due

import "rockpool/backend/internal/core/fleet"

// Deadline is when what lies at a place is due.
type Deadline struct {
	At    fleet.Time
	seq   uint64
	Place int32
}

func (d *Deadline) before(other *Deadline) bool {
	return d.At < other.At || d.At == other.At && d.seq < other.seq
}

// Heap holds deadlines: the earliest first, and of one time the one that was
// pushed first. It is a 4-ary heap without pointers.
type Heap struct {
	list []Deadline
	seq  uint64
}

// First is the earliest deadline's time; fleet.Never: there is none.
func (h *Heap) First() fleet.Time {
	if len(h.list) == 0 {
		return fleet.Never
	}
	return h.list[0].At
}

// Push adds a deadline.
func (h *Heap) Push(at fleet.Time, place int32) {
	h.seq++
	d := Deadline{At: at, seq: h.seq, Place: place}
	h.list = append(h.list, d)
	i := len(h.list) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !d.before(&h.list[parent]) {
			break
		}
		h.list[i] = h.list[parent]
		i = parent
	}
	h.list[i] = d
}

// Pop takes the first deadline out. There must be one.
func (h *Heap) Pop() Deadline {
	top := h.list[0]
	last := len(h.list) - 1
	d := h.list[last]
	h.list = h.list[:last]
	if last > 0 {
		h.sink(0, d)
	}
	return top
}

// sink puts a deadline where it belongs, from i down.
func (h *Heap) sink(i int, d Deadline) {
	for {
		first := 4*i + 1
		if first >= len(h.list) {
			break
		}
		least := first
		for child := first + 1; child < min(first+4, len(h.list)); child++ {
			if h.list[child].before(&h.list[least]) {
				least = child
			}
		}
		if !h.list[least].before(&d) {
			break
		}
		h.list[i] = h.list[least]
		i = least
	}
	h.list[i] = d
}

// Move gives every deadline the time that its place asks for.
func (h *Heap) Move(to func(d Deadline) fleet.Time) {
	for i := range h.list {
		h.list[i].At = to(h.list[i])
	}
	for i := (len(h.list)+2)/4 - 1; i >= 0; i-- { // from the last that has others below it
		h.sink(i, h.list[i])
	}
}

// Reset empties the heap and keeps its memory.
func (h *Heap) Reset() { h.list = h.list[:0] }

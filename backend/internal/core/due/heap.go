package due

import "rockpool/backend/internal/core/fleet"

// deadline is when what lies at a place is due.
type deadline struct {
	at    fleet.Time
	seq   uint64
	place int32
}

func (d *deadline) before(other *deadline) bool {
	return d.at < other.at || d.at == other.at && d.seq < other.seq
}

// heap holds deadlines: the earliest first, and of one time the one that was
// pushed first. It is a 4-ary heap without pointers.
type heap struct {
	list []deadline
	seq  uint64
}

// first is the earliest deadline's time; fleet.Never: there is none.
func (h *heap) first() fleet.Time {
	if len(h.list) == 0 {
		return fleet.Never
	}
	return h.list[0].at
}

func (h *heap) push(at fleet.Time, place int32) {
	h.seq++
	d := deadline{at: at, seq: h.seq, place: place}
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

// pop takes the first deadline out. There must be one.
func (h *heap) pop() deadline {
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
func (h *heap) sink(i int, d deadline) {
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

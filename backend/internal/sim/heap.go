package sim

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
	msg  *message
	conn *conn
	do   func()
	n    int64 // of a job, a step or a process
	node int32
	kind eventKind
}

// heap is a 4-ary heap by (at, seq): what was pushed first happens first. What it
// moves has no pointers; the events lie still in their places.
type heap struct {
	list   []entry
	places []event
	free   []int32
	seq    uint64
}

type entry struct {
	at    Time
	seq   uint64
	place int32
}

func (e *entry) before(other *entry) bool {
	return e.at < other.at || e.at == other.at && e.seq < other.seq
}

func (h *heap) first() Time {
	if len(h.list) == 0 {
		return Never
	}
	return h.list[0].at
}

func (h *heap) push(ev event) {
	h.seq++
	e := entry{at: ev.at, seq: h.seq, place: h.put(ev)}
	h.list = append(h.list, e)
	i := len(h.list) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h.list[parent]) {
			break
		}
		h.list[i] = h.list[parent]
		i = parent
	}
	h.list[i] = e
}

// put finds a place for an event.
func (h *heap) put(ev event) int32 {
	if last := len(h.free) - 1; last >= 0 {
		place := h.free[last]
		h.free = h.free[:last]
		h.places[place] = ev
		return place
	}
	h.places = append(h.places, ev)
	return int32(len(h.places) - 1)
}

func (h *heap) pop() event {
	place := h.list[0].place
	top := h.places[place]
	h.places[place] = event{}
	h.free = append(h.free, place)
	last := len(h.list) - 1
	e := h.list[last]
	h.list = h.list[:last]
	if last > 0 {
		h.sink(e)
	}
	return top
}

func (h *heap) sink(e entry) {
	i := 0
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
		if !h.list[least].before(&e) {
			break
		}
		h.list[i] = h.list[least]
		i = least
	}
	h.list[i] = e
}

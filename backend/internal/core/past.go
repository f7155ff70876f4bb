package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/lease"
	"rockpool/shared/ids"
)

// past is what this process remembers of a node: the newest of what it was chosen
// for and of what happened on it. Like its sessions it outlives a Load.
type past struct {
	chosen recent[Choice]
	hours  hourly // how often it was chosen
	events recent[NodeEvent]
	opened fleet.Time // the newest session; 0: none
}

// So many are remembered and shown of one node.
const (
	maxChosen   = 10
	maxEvents   = 40
	maxRejected = 5
)

// NodePast is what a node was chosen for lately, what waits because of it among
// others, and what happened on it, as far as this process saw.
type NodePast struct {
	OpenedAt    fleet.Time // of the newest session; 0: none since this process began
	Times       lease.Times
	RoundTripMs int64 // of a heartbeat, as the node measured it; 0: it told none
	Record      fleet.NodeRecord
	Free        fleet.Vector
	Chosen      []Choice       // newest first
	ChosenTimes int64          // how often since then
	ChosenSince fleet.Time     // this hour and the 24 before it, or since this process began
	Rejected    []Rejection    // by what waits longest
	Events      []NodeEvent    // newest first
	Lease       []lease.Change // newest last
}

// Choice is one attempt that was assigned to the node.
type Choice struct {
	At    fleet.Time
	Job   ids.JobID
	App   string
	Owner int64
	Pool  string // of the node then
	Free  int64  // slots, before
	Tie   bool   // another node had as many
}

// Rejection is work that waits for the node's pool and can't go to the node now.
type Rejection struct {
	Spec    *fleet.JobSpec
	Reasons []fleet.Reason // in their order
}

// NodeEvent is one thing that happened on a node.
type NodeEvent struct {
	At     fleet.Time
	Kind   NodeEventKind
	Job    ids.JobID // zero: of no job
	Epoch  int64     // of a session that opened
	Detail string
}

// NodeEventKind is what happened.
type NodeEventKind uint8

// What can happen; the detail of each is in brackets.
const (
	NodeOpened     NodeEventKind = iota // a session [the agent's version]
	NodeStarted                         // an accepted offer [the runner]
	NodeDeclined                        // an offer [the node's reason]
	NodeUnanswered                      // an offer
	NodeCanceling                       // a cancel was sent
	NodeResult                          // of an attempt [its cause, empty: it succeeded]
	NodeLostWork                        // an attempt is believed lost
	NodeMoved                           // [the pool where it is now]
	NodeHeld                            // [kind, owner and reason]
	NodeLifted                          // a hold [kind and owner]
	NodeGoodbye                         // [its kind]
)

// note remembers what happened on the node.
func (p *past) note(at fleet.Time, kind NodeEventKind, job ids.JobID, detail string) {
	p.events.add(NodeEvent{At: at, Kind: kind, Job: job, Detail: detail}, maxEvents)
}

// noteSession remembers that a session opened.
func (p *past) noteSession(at fleet.Time, epoch int64, agent string) {
	p.opened = at
	p.events.add(NodeEvent{At: at, Kind: NodeOpened, Epoch: epoch, Detail: agent}, maxEvents)
}

// noteRecord remembers what another record changes: its pool and operators' holds.
func (p *past) noteRecord(at fleet.Time, was, is *fleet.NodeRecord) {
	if was.Pool != is.Pool {
		p.note(at, NodeMoved, ids.JobID{}, is.Pool)
	}
	for _, h := range is.Holds {
		if !slices.Contains(was.Holds, h) {
			p.noteHold(at, NodeHeld, h)
		}
	}
	for _, h := range was.Holds {
		gone := !slices.ContainsFunc(is.Holds, func(o fleet.Hold) bool { return o.Kind == h.Kind && o.Owner == h.Owner })
		if gone {
			p.noteHold(at, NodeLifted, h)
		}
	}
}

func (p *past) noteHold(at fleet.Time, kind NodeEventKind, h fleet.Hold) {
	who := h.Actor
	if who == "" {
		who = string(h.Owner)
	}
	detail := string(h.Kind) + ", " + who
	if h.Reason != "" && kind == NodeHeld {
		detail += ": " + h.Reason
	}
	p.note(at, kind, ids.JobID{}, detail)
}

// NodePast shows what is remembered of a node, and what it can't take now; of one
// that memory does not know, nothing.
func (d *Dispatch) NodePast(now fleet.Time, id string) NodePast {
	n := d.nodes[id]
	if n == nil {
		return NodePast{Times: d.leases()}
	}
	times, since := n.past.hours.day(now)
	return NodePast{
		ChosenTimes: times, ChosenSince: since,
		OpenedAt: n.past.opened, Times: d.leases(), RoundTripMs: n.roundTrip, Record: *n.rec, Free: n.slot.Free(),
		Chosen: n.past.chosen.list(), Rejected: d.rejectedBy(n), Events: n.past.events.list(), Lease: n.lease.Past,
	}
}

// rejectedBy looks at the work that waits for the node's pool, the first of each
// kind of request.
func (d *Dispatch) rejectedBy(n *node) (list []Rejection) {
	for _, w := range d.queue.Firsts(n.rec.Pool) {
		j := d.jobs[w.Job]
		if reasons := n.slot.Reasons(&j.wait.Request, j.avoid); len(reasons) > 0 {
			list = append(list, Rejection{Spec: j.spec, Reasons: reasons})
		}
		if len(list) == maxRejected {
			break
		}
	}
	return list
}

// choose remembers that the node was chosen.
func (p *past) choose(c Choice) {
	p.chosen.add(c, maxChosen)
	p.hours.add(c.At)
}

const hour = fleet.Time(3_600_000)

// hourly counts by the hour, of the newest hour with something in it and the 24
// before it.
type hourly struct {
	counts [25]int32
	newest int64 // hours since the clock's beginning
}

// turn empties the hours that have passed since the newest one.
func (h *hourly) turn(to int64) {
	for at := max(h.newest+1, to-int64(len(h.counts))+1); at <= to; at++ {
		h.counts[at%int64(len(h.counts))] = 0
	}
	h.newest = max(h.newest, to)
}

func (h *hourly) add(at fleet.Time) {
	h.turn(int64(at / hour))
	h.counts[h.newest%int64(len(h.counts))]++
}

// day is the sum of this hour and the 24 before it, and when the first of them began.
func (h hourly) day(now fleet.Time) (sum int64, since fleet.Time) {
	h.turn(int64(now / hour))
	for _, n := range h.counts {
		sum += int64(n)
	}
	return sum, max(0, now/hour-fleet.Time(len(h.counts))+1) * hour
}

// recent are the newest of many things.
type recent[T any] struct {
	ring []T
	next int // the oldest, once the ring is full
}

func (r *recent[T]) add(v T, most int) {
	if held := len(r.ring); held < most {
		if held == cap(r.ring) { // there is one of these for each node: none is larger than it must be
			r.ring = append(make([]T, 0, min(max(4, 3*held), most)), r.ring...)
		}
		r.ring = append(r.ring, v)
		return
	}
	r.ring[r.next] = v
	r.next = (r.next + 1) % most
}

// list copies them, newest first.
func (r *recent[T]) list() []T {
	list := slices.Concat(r.ring[r.next:], r.ring[:r.next])
	slices.Reverse(list)
	return list
}

// choice is the job's newest assignment, under its decision.
func (j *job) choice(at fleet.Time) Choice {
	return Choice{
		At: at, Job: j.spec.ID, App: j.spec.App, Owner: j.spec.Owner, Pool: j.held.rec.Pool,
		Free: j.placed.RemainingSlots + j.spec.Demands.Slots, Tie: j.placed.TieBreak,
	}
}

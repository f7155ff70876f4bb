package core

import (
	"slices"
	"strings"

	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/backend/internal/core/lease"
	"rockpool/backend/internal/core/placement"
	"rockpool/backend/internal/core/schedule"
)

// node is a node's record with what this process knows of it.
// It is small, so that what heartbeats touch of ten thousand of them stays near:
// what they don't lies elsewhere.
type node struct {
	rec   *fleet.NodeRecord
	slot  schedule.Node // its place in the index
	rev   uint64        // of the newest change that can be seen
	place int32         // in Dispatch.places
	jobs  []*job        // with a reservation here
	live                // beside what a heartbeat touches of the others

	placements []*holding    // likewise with a reservation
	owner      int64         // whose own node it counts as; 0: nobody's
	timer      fleet.Time    // when its lease is looked at
	freed      bool          // in Dispatch.freed
	reserve    *reserve      // it is kept for a job, or nil
	alarms     []*alarm.Case // about it, that last
	gauge      *gauge        // of its pool

	holdTimer fleet.Time // when its holds are looked at

	identity entryAt // its newest write
}

// live is what only the node's sessions tell: it outlives a Load.
type live struct {
	epoch         int64 // of the newest session
	open          bool  // that session's connection stands
	accepting     bool
	healthy       bool
	pending       *HelloEvent // its hello, until the session is committed
	lease         lease.Lease
	silences      hold.Silences
	acceptReason  string
	healthReasons []string
	spooled       int64
	loadMilli     int64
	memoryMiB     int64
	skewMs        int64 // of its clock
	roundTrip     int64 // ms, as the newest heartbeat said of an earlier one; 0: nothing
	awaits        bool  // the newest session's chain value waits for a heartbeat
	known         *knownOf

	report    *fleet.NodeReport // of the newest committed hello; nil: none since this process began
	bootSince fleet.Time        // when this process first heard of its boot; 0: it had that boot before
	hellos    hellos
	strays    hellos     // of its duplicates
	doubt     fleet.Time // until then the work of another process than the session's may still run

	inventory *fleet.Inventory // not known to be stored yet, or nil

	past       *past
	fell       fleet.Time // when its lease became suspect last by what the node did; 0: not since this process began
	rejections hold.Rejections
	probe      probe // the newest; of a deaf node
	flaps      hold.Flaps
}

// nodeOf gives the node that has this place in the index.
func nodeOf(slot *schedule.Node) *node { return slot.Owner.(*node) }

// ready reports a node that may be offered work: its session is committed and
// its lease is ready.
func (l *live) ready() bool {
	return l.open && l.pending == nil && l.lease.State == fleet.LeaseReady
}

// speaks reports that the epoch is that of the open session.
func (l *live) speaks(epoch int64) bool { return l.open && l.epoch == epoch }

var holdReasons = map[fleet.HoldKind]fleet.Reason{
	fleet.HoldCordon: fleet.Cordoned, fleet.HoldDrain: fleet.Draining,
	fleet.HoldQuarantine: fleet.Quarantine, fleet.HoldAuto: fleet.AutoHold, fleet.HoldDeaf: fleet.Deaf,
}

// blocks lists what keeps all work from the node.
func (n *node) blocks() schedule.Blocks {
	var b schedule.Blocks
	if !n.ready() {
		b = b.With(fleet.LeaseNotReady)
	}
	if n.rec.Left {
		b = b.Gone()
	}
	if !n.healthy || !n.accepting {
		b = b.With(fleet.Unhealthy)
	}
	for _, h := range n.rec.Holds {
		if reason, known := holdReasons[h.Kind]; known {
			b = b.With(reason)
		} else {
			b = b.With(fleet.Cordoned)
		}
	}
	return b
}

// rooms are where nodes and what belongs to them lie, those that come together beside
// each other.
type rooms struct {
	nodes  []node
	knowns []knownOf
	pasts  []past
}

func roomsFor(nodes int) rooms {
	return rooms{make([]node, nodes), make([]knownOf, nodes), make([]past, nodes)}
}

// newNode makes a node of a record, which is its own from then on, in the i-th room.
func (d *Dispatch) newNode(rec *fleet.NodeRecord, r *rooms, i int) *node {
	n := &r.nodes[i]
	*n = node{rec: rec, timer: fleet.Never, holdTimer: fleet.Never, live: live{accepting: true, healthy: true, known: &r.knowns[i], past: &r.pasts[i]}}
	n.slot.ID, n.slot.Owner = rec.ID, n
	if rec.Left {
		n.lease.State = fleet.LeaseLeft
	}
	d.nodes[rec.ID] = n
	n.place = int32(len(d.places))
	d.places = append(d.places, n)
	at, _ := slices.BinarySearchFunc(d.order, rec.ID, func(n *node, id string) int { return strings.Compare(n.rec.ID, id) })
	d.order = slices.Insert(d.order, at, n)
	return n
}

// reindex puts the node where its record says.
func (d *Dispatch) reindex(now fleet.Time, n *node) {
	d.seen(n)
	n.gauge = d.gaugeOf(n.rec.Pool)
	d.look.nodes, d.look.hopes = true, true
	d.index.Put(&n.slot, n.rec.Pool, schedule.Attrs{
		Role: n.rec.Role, Backend: n.rec.Backend, Region: n.rec.Region, Runners: n.rec.Runners,
	}, n.rec.Capacity, n.blocks())
	d.review(n.reserve)
	d.countOwner(now, n, n.rec.Owner)
	if n.slot.Eligible() {
		d.free(n)
	}
}

// reblock looks again at what keeps work from the node.
func (d *Dispatch) reblock(n *node) {
	blocks := n.blocks()
	if blocks == n.slot.Blocks() {
		return
	}
	d.seen(n)
	d.look.nodes = true
	d.index.Block(&n.slot, blocks)
	d.review(n.reserve)
	if blocks == 0 {
		d.free(n)
	}
}

// countOwner keeps count of the nodes that are a user's own: in any pool but
// unassigned, in any state but left. With the first and the last one, what the
// user's apps may fall back to changes.
func (d *Dispatch) countOwner(now fleet.Time, n *node, owner int64) {
	if n.rec.Pool == fleet.PoolUnassigned || n.lease.State == fleet.LeaseLeft {
		owner = 0
	}
	if owner == n.owner {
		return
	}
	before := n.owner
	n.owner = owner
	if before != 0 {
		if d.owners[before]--; d.owners[before] == 0 {
			d.rerouteOwner(now, before)
		}
	}
	if owner != 0 {
		if d.owners[owner]++; d.owners[owner] == 1 {
			d.rerouteOwner(now, owner)
		}
	}
}

func (d *Dispatch) rerouteOwner(now fleet.Time, owner int64) {
	d.reroute(now, func(spec *fleet.JobSpec) bool { return d.appOf(spec).Owner == owner })
}

// PutNode tells of a new or changed record, after the store has it: a move,
// operators' holds, an owner. The very next decision uses it. What the record says
// of the node itself is older than what a newer session has told, and then ignored;
// of holds that are the core's own, and of the chain, memory knows better.
func (d *Dispatch) PutNode(now fleet.Time, rec fleet.NodeRecord, out *Effects) {
	d.putNode(now, rec, CloseRevoked, out)
}

// RevokeNode takes a node's session and work away, after the store has taken its
// secret: its record says that it has left. Like every record it counts for nothing
// where a newer one is known: the node has registered again since.
func (d *Dispatch) RevokeNode(now fleet.Time, rec fleet.NodeRecord, reason string, out *Effects) {
	d.putNode(now, rec, because(CloseRevoked, reason), out)
}

// LeaveNode takes a node out of the fleet on an operator's word, after the store
// has: its session ends, and its work goes on as the jobs' policies say. Its record
// counts as RevokeNode's does.
func (d *Dispatch) LeaveNode(now fleet.Time, rec fleet.NodeRecord, detail string, out *Effects) {
	d.putNode(now, rec, because(CloseLeft, detail), out)
}

func because(why, detail string) string {
	if detail == "" {
		return why
	}
	return why + ": " + detail
}

// putNode takes a record; the session of a node that has left by it ends with the
// words gone.
func (d *Dispatch) putNode(now fleet.Time, rec fleet.NodeRecord, gone string, out *Effects) {
	n := d.nodes[rec.ID]
	switch {
	case n == nil:
		alone := roomsFor(1)
		n = d.newNode(&rec, &alone, 0)
		n.lease.Seen = now // from now on it may come
	case rec.Version < n.rec.Version:
		return
	default:
		left := rec.Left && !n.rec.Left
		n.registered(rec)
		if rec.Epoch < n.rec.Epoch {
			rec.Epoch, rec.BootID, rec.MachineID = n.rec.Epoch, n.rec.BootID, n.rec.MachineID
			rec.Capacity, rec.Backend, rec.Runners, rec.Region = n.rec.Capacity, n.rec.Backend, n.rec.Runners, n.rec.Region
		}
		n.booted(now, rec.BootID)
		rec.Holds = hold.Merged(rec.Holds, n.rec.Holds)
		rec.Identity = n.mergedIdentity(&rec)
		was := n.rec.Identity
		n.past.noteRecord(now, n.rec, &rec)
		n.rec = &rec
		d.heedIdentity(now, n, &was, out)
		if left {
			d.close(n, fleet.CodeForbidden, gone, out)
			d.leave(now, n, out)
		}
	}
	d.reindex(now, n)
	d.watch(now, n) // its new pool may have no mass loss
	d.passHolds(now, n, out)
	d.settle(now, out)
}

// registered lets a node that had left begin anew when its record says that it
// registered again: it has not left any more, though its session is still to come.
func (n *node) registered(rec fleet.NodeRecord) {
	if n.lease.State == fleet.LeaseLeft && !rec.Left && rec.Version > n.rec.Version {
		n.lease = lease.Lease{Past: n.lease.Past}
	}
}

// close ends the node's session, if it is open.
func (d *Dispatch) close(n *node, code fleet.Code, detail string, out *Effects) {
	if !n.open {
		return
	}
	n.open, n.pending = false, nil
	out.Sends = append(out.Sends, Send{Kind: SendClose, Node: n.rec.ID, Epoch: n.epoch, Code: code, Detail: detail})
}

// leave takes the node out of the fleet; its work goes elsewhere.
func (d *Dispatch) leave(now fleet.Time, n *node, out *Effects) {
	if h, held := n.quarantine(); held {
		d.dropHold(now, n, h, out)
	}
	n.lease.On(lease.Left, now, d.leases())
	n.rec.Left = true
	d.look.hopes = true
	d.reblock(n)
	d.countOwner(now, n, n.rec.Owner)
	d.nodeAlarmOver(now, fleet.AlarmNodeLost, n, out)
	d.autoOver(now, n, out)
	d.undeafen(now, n, out)
	d.loseAll(now, n, out)
	d.seen(n)
}

// loseAll ends all attempts of a node, in the order in which their jobs would
// be served, and then its placements.
func (d *Dispatch) loseAll(now fleet.Time, n *node, out *Effects) {
	gone := slices.Clone(n.jobs)
	slices.SortFunc(gone, byService)
	for _, j := range gone {
		d.lose(now, j, out)
	}
	for _, p := range slices.Clone(n.placements) {
		d.endPlacement(now, p, placement.Gone, out)
	}
}

// watch sets the timer of the node's lease. A session that waits for its commit
// has none: that is not the node's silence.
func (d *Dispatch) watch(now fleet.Time, n *node) {
	due := max(now, n.lease.Due(d.leases())) // one in the past would look as if this process had stood still
	if n.pending != nil || due >= n.timer {
		return
	}
	n.timer = due
	d.timers.add(timer{at: due, kind: leaseDue, node: n})
}

// leaseDue looks at a lease whose time may have passed.
func (d *Dispatch) leaseDue(now fleet.Time, t timer, out *Effects) {
	n := t.node
	if t.at != n.timer {
		return
	}
	n.timer = fleet.Never
	if n.pending == nil && d.spared(now, n, out) {
		return // until that is over
	}
	if n.pending == nil && n.lease.On(lease.Silent, now, d.leases()) {
		d.seen(n)
		n.fall(now)
		if n.lease.State == fleet.LeaseLost {
			d.alarmLost(now, n, out)
			d.close(n, fleet.CodeUnavailable, CloseLost, out)
			d.reblock(n)
			d.loseAll(now, n, out)
		}
		d.reblock(n)
	}
	d.watch(now, n)
}

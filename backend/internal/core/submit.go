package core

import "rockpool/backend/internal/core/fleet"

// Submit takes a validated job: it is offered at once when a node is free that
// nobody who waits could use, waits or fails with the reasons when none is, and
// rests until its time comes. The batch gets its row; ins.Row and ins.At are not
// read. The id must be new. A job past its app's bounds is refused, and nothing is
// written.
func (d *Dispatch) Submit(now fleet.Time, ins JobInsert, out *Effects) (why RefusedWhy, refused bool) {
	id := ins.Spec.ID
	if d.jobs[id] != nil {
		return 0, false
	}
	if why, refused := d.refuses(now, &ins); refused {
		return why, true
	}
	j := d.newJob(ins.Spec)
	ins.At = now
	d.insert(j, ins, out)
	d.openJob(j)
	if ins.NotBefore > now {
		d.pause(now, j, fleet.CauseNotBefore, ins.NotBefore, out)
	} else {
		d.placeOrQueue(now, j, out)
	}
	d.settle(now, out)
	return 0, false
}

// insert makes the job's entry in the batch that of a new row.
func (d *Dispatch) insert(j *job, ins JobInsert, out *Effects) {
	d.inBatch(j, out) // numbers the batch
	j.entry = entry{gen: out.gen, insert: true, at: len(out.Inserts), assign: -1, release: -1}
	out.Inserts = append(out.Inserts, ins)
}

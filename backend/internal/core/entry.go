package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// stored is what the database has, or will have once the batches handed out so
// far are committed.
type stored struct {
	state   fleet.JobState
	attempt int32
	held    string // node with the reservation, or empty
}

// entry is a job's place in the batch that is being filled.
type entry struct {
	gen     uint64 // of the batch; another one: the job is not in it
	at      int    // in Inserts or Updates
	insert  bool
	fresh   bool // the reservation that is held was made in this batch
	adopt   bool // by adoption
	assign  int  // in Reservations, or -1
	release int
	from    stored
}

// open finds or makes the job's entry in the batch.
func (d *Dispatch) open(j *job, out *Effects) *entry {
	if !d.inBatch(j, out) {
		j.entry = entry{gen: out.gen, at: len(out.Updates), assign: -1, release: -1, from: j.written}
		out.Updates = append(out.Updates, JobUpdate{Job: j.spec.ID, FromState: j.written.state, FromAttempt: j.written.attempt})
	}
	return &j.entry
}

// inBatch reports that the batch has an entry of the job; it numbers a batch
// that it sees for the first time.
func (d *Dispatch) inBatch(j *job, out *Effects) bool { return j.entry.gen == d.number(out) }

func (d *Dispatch) number(out *Effects) uint64 {
	if out.gen == 0 {
		d.batches++
		out.gen = d.batches
	}
	return out.gen
}

// write brings the job's entry in the batch up to the job as it is.
func (d *Dispatch) write(j *job, out *Effects) {
	d.seenOf(j)
	e := d.open(j, out)
	if e.insert {
		out.Inserts[e.at].Row = j.row
	} else {
		out.Updates[e.at].Row = j.row
	}
	held := ""
	if j.held != nil {
		held = j.held.slot.ID
	} else {
		e.fresh, e.adopt = false, false
	}
	d.writeReservation(j, held, out)
	j.written = stored{j.row.State, j.row.Attempt, held}
}

// writeReservation makes the batch's reservations of the job lead from what was
// held before the batch to what is held now.
func (d *Dispatch) writeReservation(j *job, held string, out *Effects) {
	e := &j.entry
	moved := e.fresh || held != e.from.held
	d.setReservation(&e.release, moved && e.from.held != "", Reservation{Job: j.spec.ID, Node: e.from.held, Release: true, Demand: &j.spec.Demands}, out)
	r := Reservation{Job: j.spec.ID, Node: held, Demand: &j.spec.Demands, Adopt: e.adopt}
	if held != "" && !e.adopt {
		r.Pool = j.row.Pool
	}
	d.setReservation(&e.assign, moved && held != "", r, out)
}

func (d *Dispatch) setReservation(at *int, want bool, r Reservation, out *Effects) {
	switch {
	case want && *at < 0:
		*at = len(out.Reservations)
		out.Reservations = append(out.Reservations, r)
	case want:
		out.Reservations[*at] = r
	case *at >= 0:
		d.dropReservation(*at, out)
		*at = -1
	}
}

// dropReservation takes one out of the batch; the last one takes its place.
func (d *Dispatch) dropReservation(at int, out *Effects) {
	last := len(out.Reservations) - 1
	moved := out.Reservations[last]
	out.Reservations[at] = moved
	out.Reservations = out.Reservations[:last]
	if at == last {
		return
	}
	j := d.jobs[moved.Job]
	if j == nil {
		return // a placement's: it knows its own by its id
	}
	e := &j.entry
	if moved.Release {
		e.release = at
	} else {
		e.assign = at
	}
}

// withdraw forgets an assignment that only the unfinished batch knows: the
// number is used, but no node ever had the attempt.
func (d *Dispatch) withdraw(j *job, out *Effects) {
	id, attempt := j.spec.ID, j.row.Attempt
	out.Fallbacks = slices.DeleteFunc(out.Fallbacks, func(f FallbackRecord) bool { return f.Job == id && f.Attempt == attempt })
	j.disown()
}

// disown clears the node of an attempt that was never stored as anybody's.
func (j *job) disown() {
	j.row.Node, j.row.Pool, j.row.Fallback = "", "", false
	j.placed = nil
}

// wasIn reads from a batch what the database had of the job before it.
func (e *Effects) wasIn(id ids.JobID) (was stored, insert *JobInsert) {
	for i := range e.Reservations {
		if r := &e.Reservations[i]; r.Job == id && r.Release {
			was.held = r.Node
		}
	}
	for i := range e.Updates {
		if u := &e.Updates[i]; u.Job == id {
			was.state, was.attempt = u.FromState, u.FromAttempt
			return was, nil
		}
	}
	for i := range e.Inserts {
		if e.Inserts[i].Spec.ID == id {
			return stored{}, &e.Inserts[i]
		}
	}
	return was, nil
}

// dropUpdate takes one out of the batch; the last one takes its place.
func (d *Dispatch) dropUpdate(at int, out *Effects) {
	last := len(out.Updates) - 1
	moved := out.Updates[last]
	out.Updates[at] = moved
	out.Updates[last] = JobUpdate{}
	out.Updates = out.Updates[:last]
	if at != last {
		d.jobs[moved.Job].entry.at = at
	}
}

// attemptOf is the job's attempt as the batch has it.
func (e *Effects) attemptOf(id ids.JobID) int32 {
	for i := range e.Updates {
		if e.Updates[i].Job == id {
			return e.Updates[i].Row.Attempt
		}
	}
	for i := range e.Inserts {
		if e.Inserts[i].Spec.ID == id {
			return e.Inserts[i].Row.Attempt
		}
	}
	return 0
}

package core

import "rockpool/backend/internal/core/fleet"

// waitCause is what a job's time is spent on while it does not run.
type waitCause uint8

const (
	waitsNot   waitCause = iota // it runs, or has ended
	waitsQueue                  // for a node
	waitsPause                  // not-before, or the pause after an attempt
	waitsHold                   // for a person to resolve it
	waitsOffer                  // for its node's yes
)

// ledger is what a job waits for, and since when.
type ledger struct {
	cause waitCause
	since fleet.Time
}

// waits notes what the job waits for from now on. The time that it waited for
// something else before counts for that, in the row that is written next: a row
// never has a part of the waiting that goes on.
func (d *Dispatch) waits(now fleet.Time, j *job, cause waitCause) {
	if cause == j.ledger.cause {
		return
	}
	j.row.Waits = d.waitedUntil(now, j)
	j.ledger = ledger{cause: cause, since: now}
}

// waitedUntil is the job's ledger with the time up to now.
func (d *Dispatch) waitedUntil(now fleet.Time, j *job) fleet.WaitLedger {
	w, span := j.row.Waits, int64(max(0, now-j.ledger.since))
	switch j.ledger.cause {
	case waitsQueue:
		w.Pool += span
	case waitsPause:
		w.Backoff += span
	case waitsHold:
		w.Hold += span
	case waitsOffer:
		w.Offer += span
	}
	return w
}

package core

import "rockpool/backend/internal/core/fleet"

// waitCause is what a job's time is spent on while it does not run.
type waitCause uint8

const (
	waitsNot   waitCause = iota // it runs, or has ended
	waitsQueue                  // for a node: the queue tells why
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
// something else before counts for that, in the row that is written next.
func (d *Dispatch) waits(now fleet.Time, j *job, cause waitCause) {
	if cause == j.ledger.cause {
		return
	}
	j.row.Waits = d.waitedUntil(now, j)
	j.ledger = ledger{cause: cause, since: now}
}

// bank puts the time up to now into the row of a job that goes on waiting. Its
// decision, written with it, says from when on the rest counts: after a restart
// all of that counts as time without a node.
func (d *Dispatch) bank(now fleet.Time, j *job) {
	j.row.Waits, j.ledger.since = d.waitedUntil(now, j), now
	j.wait.Banked(now)
}

// waitedUntil is the job's ledger with the time up to now.
func (d *Dispatch) waitedUntil(now fleet.Time, j *job) fleet.WaitLedger {
	w, span := j.row.Waits, int64(max(0, now-j.ledger.since))
	switch j.ledger.cause {
	case waitsQueue:
		pool, fairness, quota := j.wait.Waited(now, j.ledger.since)
		w.Pool += pool
		w.Fairness += fairness
		w.Quota += quota
	case waitsPause:
		w.Backoff += span
	case waitsHold:
		w.Hold += span
	case waitsOffer:
		w.Offer += span
	}
	return w
}

// waitedForNodes is how long the job has waited for a node in all.
func (d *Dispatch) waitedForNodes(now fleet.Time, j *job) fleet.Time {
	w := d.waitedUntil(now, j)
	return fleet.Time(w.Pool + w.Fairness + w.Quota)
}

// ledgerOf gives what a waiting job that was read back waits for, and up to when
// its row has the time.
func (o *OpenJob) ledgerOf(now fleet.Time, j *job) ledger {
	switch dec := j.row.Decision; {
	case j.row.Cause == fleet.CauseHeld:
		return ledger{waitsHold, now} // since when, its row does not say
	case j.row.Cause == fleet.CauseNotBefore:
		return ledger{waitsPause, min(now, o.SubmittedAt)}
	case j.row.Cause == fleet.CauseBackoff:
		return ledger{waitsPause, min(now, j.row.NotBefore-j.backoff())}
	case dec != nil && dec.Outcome == fleet.OutcomeWaiting:
		return ledger{waitsQueue, min(now, dec.At)}
	}
	return ledger{waitsQueue, now}
}

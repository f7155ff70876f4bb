package store

import (
	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// round is one try to write a batch: the statements, and what did not come back.
type round struct {
	w     *Writer
	e     *core.Effects
	out   *leftOut
	batch *pgx.Batch
	whole bool // it is sent as a whole: PostgreSQL counts what came back

	day      string // the partition that its updates name, if they do
	capacity capacity
	stale    []core.Refusal // jobs and sessions that are not as memory believed
	unplaced []core.Refusal // assignments that their node does not take
}

// refused names what to leave out next. A node may have turned out full only
// because of jobs that were stale anyway: those go first.
func (r *round) refused() []core.Refusal {
	if len(r.stale) > 0 {
		return r.stale
	}
	return r.unplaced
}

// queue sends the statements in the order in which rows are locked everywhere:
// nodes by id, jobs, placements, alarms, the audit chain's head.
func (r *round) queue() {
	r.lockNodes()
	r.queueHolds()
	r.queueSessions()
	r.queueIdentities()
	r.queueInventories()
	r.queueCapacity()
	r.queueInserts()
	r.queueUpdates()
	r.queueAttempts()
	r.queuePlacements()
	r.queueFallbacks()
	r.queueAlarms()
	r.queueAudits()
}

// storedState is the name of a state in the database, where running is offered.
func storedState(s fleet.JobState) string {
	if s == fleet.JobRunning {
		s = fleet.JobOffered
	}
	return s.String()
}

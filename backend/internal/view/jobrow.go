package view

import (
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/wire"
)

// jobState is what the view knows of one job.
type jobState struct {
	owner int64
	slots int64 // asked for
	open  bool  // by the newest committed row
	row   wire.JobRow
	began fleet.Time // of the current attempt, as memory last said
	// waits is the decision in words; only the topic of the job shows it.
	waits string
}

// jobOf is a job as the database has it.
func jobOf(j *record.Job) *jobState {
	s := &jobState{owner: j.Spec.Owner, slots: j.Spec.Demands.Slots, open: !j.State.Terminal()}
	s.row = specRow(&j.Spec, j.SubmittedAt)
	s.row.State, s.row.Reason, s.row.Detail = j.State.String(), string(j.Cause), j.Detail
	s.row.Attempt, s.row.Node, s.row.Pool, s.row.Fallback = int64(j.Attempt), j.Node, j.Pool, j.Fallback
	s.row.StartedAt, s.row.EndedAt = millis(j.StartedAt), millis(j.EndedAt)
	if kept, err := record.DecodeDecision(j.Decision); err == nil && j.Decision != nil {
		s.decided(&kept.Decision)
	}
	return s
}

func specRow(spec *fleet.JobSpec, submitted time.Time) wire.JobRow {
	return wire.JobRow{
		ID: spec.ID.String(), App: spec.App, Runner: spec.Runner, Priority: int64(spec.Priority), CreatedAt: submitted.UnixMilli(),
	}
}

// commit takes a committed step.
func (s *jobState) commit(row *core.JobRow, wall func(fleet.Time) time.Time) {
	s.open = !row.State.Terminal()
	r := &s.row
	running := r.State == fleet.JobRunning.String() && row.State == fleet.JobOffered && int64(row.Attempt) == r.Attempt
	r.State, r.Reason, r.Detail = row.State.String(), string(row.Cause), row.Detail
	if running { // the row of a running job says offered
		r.State = fleet.JobRunning.String()
	}
	if int64(row.Attempt) != r.Attempt {
		r.Percent = 0
	}
	r.Attempt, r.Node, r.Pool, r.Fallback = int64(row.Attempt), row.Node, row.Pool, row.Fallback
	r.StartedAt, r.EndedAt = wallMillis(row.StartedAt, wall), wallMillis(row.EndedAt, wall)
	if row.Decision != nil {
		s.decided(row.Decision)
	}
}

// live takes what memory has of an open job. An end is told once it is committed:
// nobody shall see it taken back by a crash. decided: a waiting job's decision is
// that of this moment, not the one that was stored.
func (s *jobState) live(v *core.JobView, decided bool, wall func(fleet.Time) time.Time) {
	if v.State.Terminal() || !s.open {
		return
	}
	r := &s.row
	r.State, r.Reason = v.State.String(), string(v.Cause)
	r.Attempt, r.Node, r.Pool, r.Fallback, r.Percent = int64(v.Attempt), v.Node, v.Pool, v.Fallback, int64(v.Percent)
	if v.StartedAt != s.began { // the wall clock's answer to the same question may differ
		s.began, r.StartedAt = v.StartedAt, wallMillis(v.StartedAt, wall)
	}
	if v.Decision != nil && (decided || v.State != fleet.JobQueued) {
		s.decided(v.Decision)
	}
}

func (s *jobState) decided(d *fleet.Decision) { s.waits = d.Text(s.row.App, s.owner, s.slots) }

func millis(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

func wallMillis(t fleet.Time, wall func(fleet.Time) time.Time) int64 {
	if t == 0 {
		return 0
	}
	return wall(t).UnixMilli()
}

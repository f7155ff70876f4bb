package core

import (
	"cmp"
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// alarms is the table of alarms: it takes a batch's rows as the SQL does.
type alarmTable struct {
	rows  map[int64]fleet.Alarm
	fail  func(string, ...any)
	specs func(ids.JobID) *fleet.JobSpec
	wrote int // rows, over all batches
}

func (s *alarmTable) commit(writes []AlarmWrite) {
	seen := map[int64]bool{}
	for _, w := range writes {
		a := w.Alarm
		if seen[a.ID] {
			s.fail("alarm %d stands twice in one batch", a.ID)
		}
		seen[a.ID] = true
		s.check(&a)
		a.Waiting = slices.Clone(a.Waiting)
		s.rows[a.ID] = a
		s.wrote++
	}
}

func (s *alarmTable) check(a *fleet.Alarm) {
	was, known := s.rows[a.ID]
	if passedOn := a.SilencedUntil < was.SilencedUntil; known && (was.ResolvedAt != 0 && !passedOn || was.ResolvedAt != a.ResolvedAt && was.ResolvedAt != 0 || was.Fingerprint != a.Fingerprint || was.RaisedAt != a.RaisedAt || was.Count > a.Count || was.LastAt > a.LastAt) {
		s.fail("alarm %+v became %+v", was, a)
	}
	if a.Count < 1 || a.LastAt < a.RaisedAt || a.Detail == "" || len(a.Waiting) > fleet.MaxAlarmWaiting || a.WaitingNow < int64(len(a.Waiting)) {
		s.fail("a row that may not be: %+v", a)
	}
	for id, other := range s.rows {
		if id != a.ID && other.ResolvedAt == 0 && a.ResolvedAt == 0 && other.Fingerprint == a.Fingerprint {
			s.fail("%+v is raised while %d lasts", a, id)
		}
	}
}

// kept gives what a new process reads.
func (s *alarmTable) kept(now fleet.Time) (list []fleet.Alarm) {
	for _, a := range s.rows {
		if a.ResolvedAt == 0 || a.SilencedUntil > now {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b fleet.Alarm) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// explain finds the alarm of every failure by exhaustion: raised before, or with
// it, and lasting then.
func (s *alarmTable) explain(e *Effects, out func(ids.JobID) bool) {
	failed := func(spec *fleet.JobSpec, row *JobRow) {
		if row.State != fleet.JobFailed || row.Cause != fleet.CausePoolExhausted || out(spec.ID) {
			return
		}
		f := fleet.Fingerprint{Kind: fleet.AlarmPoolExhausted, Role: spec.Role, App: spec.App}
		if len(row.Decision.Pools) > 0 {
			f.Pool = row.Decision.Pools[0].Pool
		}
		for _, a := range s.rows {
			if a.Fingerprint == f && a.RaisedAt <= row.EndedAt && (a.ResolvedAt == 0 || a.ResolvedAt >= row.EndedAt) {
				return
			}
		}
		s.fail("%s failed for want of a candidate without an alarm %+v: %+v", spec.ID, f, s.rows)
	}
	for i := range e.Inserts {
		failed(e.Inserts[i].Spec, &e.Inserts[i].Row)
	}
	for i := range e.Updates {
		failed(s.specs(e.Updates[i].Job), &e.Updates[i].Row)
	}
}

package core

import (
	"cmp"
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// alarms is the table of alarms: it takes a batch's rows as the SQL does.
type alarmTable struct {
	rows  map[int64]fleet.Alarm
	fail  func(string, ...any)
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
	if known && (was.ResolvedAt != 0 || was.Fingerprint != a.Fingerprint || was.RaisedAt != a.RaisedAt || was.Count > a.Count || was.LastAt > a.LastAt) {
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

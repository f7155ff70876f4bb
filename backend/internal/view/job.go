package view

import (
	"slices"
	"strings"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// newestJobs is how many jobs the topic has.
const newestJobs = 200

// jobs are those of one topic: the newest ones, or a single one.
type jobs struct {
	of    map[ids.JobID]*jobState
	only  ids.JobID // the topic is this job's; zero: the newest ones
	scope record.Scope
	lacks bool // a job came into the scope of which only its newest step was told
}

func newJobs(only ids.JobID, scope record.Scope, rows []record.Job) *jobs {
	set := &jobs{of: make(map[ids.JobID]*jobState, len(rows)), only: only, scope: scope}
	for i := range rows {
		set.of[rows[i].Spec.ID] = jobOf(&rows[i])
	}
	return set
}

// take brings in one committed step and says which rows it changed.
func (s *jobs) take(news *core.JobNews, wall func(fleet.Time) time.Time) []changed {
	j, pool := s.of[news.Job], poolOf(news.Row.Pool, news.Row.Decision)
	if j == nil {
		if news.Spec == nil || !s.only.IsZero() {
			s.lacks = s.lacks || !s.scope.All() && s.scope.Sees(0, pool) && s.wants(news.Job)
			return nil
		}
		if !s.scope.Sees(news.Spec.Owner, pool) {
			return nil
		}
		j = &jobState{owner: news.Spec.Owner, slots: news.Spec.Demands.Slots, row: specRow(news.Spec, wall(news.SubmittedAt))}
		s.of[news.Job] = j
	}
	if !s.scope.Sees(j.owner, pool) { // it was placed in another pool
		delete(s.of, news.Job)
		return []changed{{news.Job.String(), true}}
	}
	j.commit(&news.Row, wall)
	return append(s.trim(), changed{news.Job.String(), !j.open})
}

// wants reports a job that the topic would show.
func (s *jobs) wants(id ids.JobID) bool {
	if !s.only.IsZero() {
		return s.only == id
	}
	return len(s.of) < newestJobs || id.Compare(s.oldest()) > 0
}

func (s *jobs) oldest() (oldest ids.JobID) {
	for id := range s.of {
		if oldest.IsZero() || id.Compare(oldest) < 0 {
			oldest = id
		}
	}
	return oldest
}

// trim forgets the oldest beyond what the topic has.
func (s *jobs) trim() (gone []changed) {
	for len(s.of) > newestJobs {
		oldest := s.oldest()
		delete(s.of, oldest)
		gone = append(gone, changed{oldest.String(), false})
	}
	return gone
}

// open lists the jobs that memory may know more of.
func (s *jobs) open() (list []ids.JobID) {
	for id, j := range s.of {
		if j.open {
			list = append(list, id)
		}
	}
	return list
}

// live brings in what memory has of open jobs and says which rows it changed.
func (s *jobs) live(views map[ids.JobID]core.JobView, decided bool, wall func(fleet.Time) time.Time) (list []changed) {
	for id, j := range s.of {
		v, open := views[id]
		if !open {
			continue
		}
		before, waits := j.row, j.waits
		j.live(&v, decided, wall)
		if j.row != before || !s.only.IsZero() && j.waits != waits {
			list = append(list, changed{id.String(), false})
		}
	}
	return list
}

// ids lists the rows, the newest first.
func (s *jobs) ids() []string {
	list := make([]string, 0, len(s.of))
	for id := range s.of {
		list = append(list, id.String())
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(b, a) })
	return list
}

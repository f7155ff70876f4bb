package store_test

import (
	"fmt"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
)

// Jobs end whatever days they are of, one alone or several at once, and whether or
// not the server's role may name their partitions.
func TestUpdate_OfAnyDays(t *testing.T) {
	o := newOld(t, 1)
	today, yesterday := time.Now(), o.day
	days := map[string][]time.Time{
		"one": {today}, "one of yesterday": {yesterday}, "two": {today, today},
		"of two days": {yesterday, today}, "more of two days": {yesterday, today, yesterday, today},
	}
	for _, named := range []bool{true, false} {
		if !named {
			o.urls.Exec(t, "REVOKE ALL ON jobs_"+today.UTC().Format("20060102")+" FROM "+storetest.ServerRole)
			o.w = storetest.NewWriter(t, o.db)
		}
		for name, times := range days {
			t.Run(fmt.Sprintf("%s, named %v", name, named), func(t *testing.T) {
				end := &core.Effects{}
				for _, at := range times {
					o.finish(end, &fleet.JobSpec{ID: o.job(at, false), Demands: fleet.Vector{Slots: 1}})
				}
				o.commit(end)
				for i := range end.Updates {
					if job := o.house.job(end.Updates[i].Job); job.State != fleet.JobSucceeded {
						t.Errorf("%+v", job)
					}
				}
			})
		}
	}
	if o.reserved() != 0 {
		t.Errorf("%d slots are reserved", o.reserved())
	}
}

// A job whose day is gone with its partition is refused, and nothing else is.
func TestUpdate_OfADayThatIsGone(t *testing.T) {
	h := newHouse(t)
	for _, others := range []int{0, 1} {
		e := &core.Effects{}
		jobs := h.submit(e, others)
		h.commit(e)
		gone := storetest.Spec(h.app, time.Now().AddDate(0, 0, -300))
		end := &core.Effects{}
		h.finish(end, append(jobs, gone)...)
		end.Reservations = end.Reservations[:others]
		for range 2 {
			out := h.try(end)
			if len(out) != 1 || out[0] != (core.Refusal{Job: gone.ID, Why: core.RefusedStale}) {
				t.Fatalf("beside %d others: refused %+v", others, out)
			}
			if others > 0 {
				break // they have ended
			}
		}
	}
}

// The server's role may name the partitions of jobs: those that it has made, and
// those that were there before it had the right to.
func TestPartition_RightsOfTheServer(t *testing.T) {
	h := newHouse(t)
	may := func() bool {
		return storetest.Query[bool](t, h.urls, `SELECT bool_and(has_table_privilege($1, i.inhrelid, 'SELECT') AND has_table_privilege($1, i.inhrelid, 'UPDATE'))
			FROM pg_inherits i WHERE i.inhparent = 'jobs'::regclass`, storetest.ServerRole)
	}
	h.must(h.db.EnsurePartitions(ctx, time.Now().AddDate(0, 0, 30)))
	if !may() {
		t.Error("partitions were made without the rights on jobs")
	}
	h.urls.Exec(t, "REVOKE ALL ON jobs_"+time.Now().UTC().Format("20060102")+" FROM "+storetest.ServerRole)
	h.must(store.Migrate(ctx, h.urls.Admin, storetest.ServerRole))
	if !may() {
		t.Error("a migration leaves older partitions without rights")
	}
}

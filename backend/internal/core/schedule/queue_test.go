package schedule

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// The queue serves a pool's work in order, whatever came and went before.
func TestQueue_ServesByPriorityThenArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueue()
		var all []*Waiter
		pools := []string{"a", "b", "c"}
		in := map[*Waiter][]string{}
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(all) == 0 || rapid.IntRange(0, 2).Draw(t, "add") > 0 {
				w := &Waiter{Job: ids.JobID{byte(i)}, Priority: int32(rapid.IntRange(0, 2).Draw(t, "priority")), Seq: uint64(i)}
				w.Request = Request{Role: "r", Demand: &fleet.Vector{Slots: int64(rapid.IntRange(1, 3).Draw(t, "slots"))}}
				all = append(all, w)
			}
			w := rapid.SampledFrom(all).Draw(t, "waiter")
			if rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				q.Remove(w)
				delete(in, w)
				continue
			}
			from := rapid.IntRange(0, 2).Draw(t, "pool")
			in[w] = pools[from:]
			q.Add(0, w, in[w], 0, 0)
		}
		if q.Len() != len(in) {
			t.Fatalf("%d wait, want %d", q.Len(), len(in))
		}
		for _, pool := range pools {
			var want []*Waiter
			var first int64
			for w, tries := range in {
				if slices.Contains(tries, pool) {
					want = append(want, w)
				}
				if tries[0] == pool {
					first++
				}
			}
			slices.SortFunc(want, func(a, b *Waiter) int {
				if a.before(b) {
					return -1
				}
				return 1
			})
			if got := served(q, pool); !slices.Equal(got, want) || q.First(pool) != first {
				t.Fatalf("%s serves %d, want %d; first %d, want %d", pool, len(got), len(want), q.First(pool), first)
			}
			// What was set aside is back.
			if got := served(q, pool); !slices.Equal(got, want) {
				t.Fatalf("%s does not serve the same twice", pool)
			}
		}
	})
}

func served(q *Queue, pool string) []*Waiter {
	var got []*Waiter
	round := q.Round(pool)
	for w := round.Next(nil); w != nil; w = round.Next(nil) {
		got = append(got, w)
		round.SetAside(w)
	}
	round.End()
	return got
}

func TestRound_PassesOverAllOfOneShape(t *testing.T) {
	q := NewQueue()
	demand := func(slots int64) Request { return Request{Role: "r", Demand: &fleet.Vector{Slots: slots}} }
	for i := range 100 {
		q.Add(0, &Waiter{Priority: 9, Seq: uint64(i), Request: demand(8)}, []string{"p"}, 0, 0)
	}
	small := &Waiter{Priority: 1, Seq: 1000, Request: demand(1)}
	q.Add(0, small, []string{"p"}, 0, 0)
	round := q.Round("p")
	big := round.Next(nil)
	round.Pass(big)
	if got := round.Next(nil); got != small {
		t.Fatalf("after one large one was passed over comes %+v", got)
	}
	round.Pass(small)
	if got := round.Next(nil); got != nil {
		t.Fatalf("a passed round gives %+v", got)
	}
	round.End()
}

func (w *Waiter) before(other *Waiter) bool {
	a, b := w.entry(), other.entry()
	return a.before(&b)
}

package schedule

import (
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Where work stands is as many as are served before it, whatever came and went.
func TestQueue_StandingIsTheOrderOfTheApp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueue()
		var all []*Waiter
		apps := []string{"a", "b"}
		for i := range rapid.IntRange(1, 80).Draw(t, "work") {
			w := &Waiter{Job: ids.JobID{byte(i)}, App: rapid.SampledFrom(apps).Draw(t, "app"), Priority: int32(rapid.IntRange(0, 2).Draw(t, "priority")), Seq: uint64(i)}
			w.Request = Request{Role: "r", Demand: &fleet.Vector{Slots: int64(rapid.IntRange(1, 2).Draw(t, "slots"))}}
			all = append(all, w)
			q.Add(0, w, []string{"p"}, 0, 0)
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				q.Remove(rapid.SampledFrom(all).Draw(t, "which"))
			}
		}
		for _, w := range all {
			got, waits := q.Standing(w, "p")
			if waits != w.Waiting() {
				t.Fatalf("waits %v, want %v", waits, w.Waiting())
			}
			if !waits {
				continue
			}
			var want Standing
			var others int64
			for _, other := range all {
				switch {
				case !other.Waiting():
				case other.App != w.App:
					others++
				default:
					want.Of++
					switch {
					case !other.before(w):
					case other.shape == w.shape:
						want.AheadAlike++
					default:
						want.AheadOther++
					}
				}
			}
			var told int64
			for _, a := range got.Apps {
				told += a.Work
			}
			if got.Of != want.Of || got.AheadAlike != want.AheadAlike || got.AheadOther != want.AheadOther || told != others {
				t.Fatalf("stands at %+v, want %+v and %d of others", got, want, others)
			}
		}
	})
}

package due

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

func TestHeap_GivesTheEarliestAndOfOneTimeTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap
		var want []Deadline // in the order in which they come
		byTime := func(a, b Deadline) int { return cmp.Compare(a.At, b.At) }
		for n := range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 20).Draw(t, "what") {
			case 0:
				later := func(d Deadline) fleet.Time { return d.At + fleet.Time(d.Place%3)*5 }
				h.Move(later)
				for i := range want {
					want[i].At = later(want[i])
				}
				slices.SortFunc(want, func(a, b Deadline) int { return cmp.Or(byTime(a, b), cmp.Compare(a.Place, b.Place)) })
			case 1, 2, 3, 4, 5, 6, 7, 8:
				if len(want) == 0 {
					continue
				}
				if got := h.Pop(); got.At != want[0].At || got.Place != want[0].Place {
					t.Fatalf("%+v, want %+v", got, want[0])
				}
				want = want[1:]
			default:
				d := Deadline{At: fleet.Time(rapid.IntRange(0, 9).Draw(t, "at")), Place: int32(n)}
				h.Push(d.At, d.Place)
				want = append(want, d)
				slices.SortStableFunc(want, byTime)
			}
			if first := h.First(); len(want) == 0 && first != fleet.Never || len(want) > 0 && first != want[0].At {
				t.Fatalf("the first is at %d of %+v", first, want)
			}
		}
	})
}

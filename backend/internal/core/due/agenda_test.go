package due

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

// planned is what the agenda is compared with: a list in the order in which all of it
// is to come.
type planned struct {
	at fleet.Time
	n  int
}

func insert(list []planned, p planned) []planned {
	at, _ := slices.BinarySearchFunc(list, p.at+1, func(p planned, at fleet.Time) int { return int(p.at - at) })
	return slices.Insert(list, at, p)
}

// What is planned comes by its time, and of one time in the order in which it was
// planned, however far ahead it was, or overdue.
func TestAgenda_KeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewAgenda[int]()
		var want []planned
		now := fleet.Time(rapid.SampledFrom([]int64{0, 5, 3 * nearby}).Draw(t, "begin"))
		ahead := rapid.OneOf(rapid.Int64Range(-5, 3), rapid.Int64Range(0, 2*nearby), rapid.Just(int64(nearby)), rapid.Int64Range(0, 100*nearby))
		for n := range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 50).Draw(t, "what"); {
			case what == 0:
				move := func(n *int) fleet.Time {
					return want[slices.IndexFunc(want, func(p planned) bool { return p.n == *n })].at + fleet.Time(*n%3)*40
				}
				var moved []planned
				for _, p := range want {
					moved = insert(moved, planned{move(&p.n), p.n})
				}
				a.Move(move)
				want = moved
			case len(want) == 0 || what < 30:
				p := planned{now + fleet.Time(ahead.Draw(t, "ahead")), n}
				want = insert(want, p)
				a.Add(p.at, p.n)
			default:
				if at, n := a.Pop(); n != want[0].n || at != want[0].at {
					t.Fatalf("%d at %d, want %+v", n, at, want[0])
				}
				now = max(now, want[0].at)
				want = want[1:]
			}
			first := fleet.Never
			if len(want) > 0 {
				first = want[0].at
			}
			if a.First() != first || a.Len() != len(want) {
				t.Fatalf("%d are planned, the first at %d; want %d at %d", a.Len(), a.First(), len(want), first)
			}
		}
		a.Reset()
		if a.First() != fleet.Never || a.Len() != 0 {
			t.Fatalf("after a reset %d are planned, the first at %d", a.Len(), a.First())
		}
	})
}

// What is near has lists after a move as before it, however far ahead the last is
// planned: else all that comes from then on would wait in the heap.
func TestAgenda_MovesNothingNearIntoTheHeap(t *testing.T) {
	a := NewAgenda[int]()
	for n := range 100 {
		a.Add(fleet.Time(n), n)
	}
	a.Add(1000*nearby, 100)
	a.Pop()
	a.Move(func(n *int) fleet.Time { return fleet.Time(*n + 40) })
	a.Add(50, 101)
	if far := len(a.far.list); far != 0 {
		t.Errorf("%d of what is near lie in the heap", far)
	}
	for want := fleet.Time(41); a.Len() > 0; want++ {
		at, n := a.Pop()
		if n == 101 {
			want--
		}
		if at != want {
			t.Fatalf("%d at %d, want %d", n, at, want)
		}
	}
}

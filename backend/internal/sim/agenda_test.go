package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What is planned happens by its time, and of one time in the order in which it was
// planned, however far ahead it was.
func TestAgenda_KeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newAgenda()
		var planned []event // in the order in which they are to happen
		now := Time(0)
		ahead := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 2*nearby), rapid.Just(int64(nearby)), rapid.Int64Range(0, 100*nearby))
		for n := range rapid.IntRange(1, 300).Draw(t, "steps") {
			if len(planned) == 0 || rapid.IntRange(0, 4).Draw(t, "plan") > 1 {
				e := event{at: now + Time(ahead.Draw(t, "ahead")), n: int64(n)}
				at, _ := slices.BinarySearchFunc(planned, e.at+1, func(p event, at Time) int { return int(p.at - at) })
				planned = slices.Insert(planned, at, e)
				a.push(e)
				continue
			}
			want := planned[0]
			planned = planned[1:]
			if first := a.first(); first != want.at {
				t.Fatalf("first is %d, want %d", first, want.at)
			}
			if got := a.pop(); got.n != want.n || got.at != want.at {
				t.Fatalf("%d at %d, want %d at %d", got.n, got.at, want.n, want.at)
			}
			now = want.at
		}
		if len(planned) == 0 && a.first() != Never {
			t.Fatalf("nothing is planned, and first is %d", a.first())
		}
	})
}

package hold

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

var (
	cordon = fleet.Hold{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator}
	auto   = fleet.Hold{Kind: fleet.HoldAuto, Owner: fleet.OwnerAuto, Until: 50}
	self   = fleet.Hold{Kind: fleet.HoldDrain, Owner: fleet.OwnerSelf}
	drain  = fleet.Hold{Kind: fleet.HoldDrain, Owner: fleet.OwnerOperator, Deadline: 80}
)

func TestMerged_EachOwnersAuthority(t *testing.T) {
	stale := auto
	stale.Until = 7
	got := Merged([]fleet.Hold{cordon, stale}, []fleet.Hold{auto, drain, self})
	if want := []fleet.Hold{auto, cordon, self}; !slices.Equal(got, want) {
		t.Fatalf("got %+v", got)
	}
	if got := Merged(nil, nil); got != nil {
		t.Fatalf("of nothing: %+v", got)
	}
}

func TestWith_MakesANewListWithOneOfEachKindAndOwner(t *testing.T) {
	before := []fleet.Hold{cordon, self}
	other := cordon
	other.Reason = "new disk"
	after := With(before, other)
	if before[0] != cordon || !slices.Equal(after, []fleet.Hold{other, self}) {
		t.Fatalf("before %+v, after %+v", before, after)
	}
	if rest := Without(after, fleet.HoldDrain, fleet.OwnerOperator); !slices.Equal(rest, after) {
		t.Fatalf("another owner's hold was lifted: %+v", rest)
	}
}

func TestTimes(t *testing.T) {
	list := []fleet.Hold{auto, cordon, drain, self}
	for _, c := range []struct {
		now, next fleet.Time
		ended     int
		over      bool
	}{
		{10, 50, 0, false}, {49, 50, 0, false}, {50, 80, 1, false}, {79, 80, 1, false}, {80, fleet.Never, 1, true}, {90, fleet.Never, 1, true},
	} {
		_, over := Drains(list, c.now)
		if got := Next(list, c.now); got != c.next || len(Ended(list, c.now)) != c.ended || over != c.over {
			t.Errorf("at %d: next %d, ended %+v, over %v", c.now, got, Ended(list, c.now), over)
		}
	}
	early := drain
	early.Deadline = -5 // before this process began
	if drains, over := Drains([]fleet.Hold{early}, 1); !drains || !over {
		t.Error("a deadline before the process's start has not passed")
	}
}

func TestRejections_TheFifthInARow(t *testing.T) {
	var r Rejections
	for round := range 2 {
		for i := range MaxRejections {
			if r.Reject() != (i == MaxRejections-1) {
				t.Fatalf("round %d, rejection %d", round, i)
			}
		}
	}
	for range MaxRejections - 1 {
		r.Reject()
	}
	r.Ran()
	if r.Reject() {
		t.Fatal("the row was not ended by an attempt that ran")
	}
}

// Whatever the times: it is too much exactly when the second last flap since the
// last hold was no longer ago than the span.
func TestFlaps_ThreeWithinTheSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Flaps
		var since []fleet.Time
		now := fleet.Time(1)
		for range rapid.IntRange(1, 40).Draw(t, "flaps") {
			now += fleet.Time(rapid.Int64Range(1, int64(FlapSpan)).Draw(t, "pause"))
			since = append(since, now)
			want := len(since) >= MaxFlaps && now-since[len(since)-MaxFlaps] <= FlapSpan
			if got := f.Flap(now); got != want {
				t.Fatalf("flaps at %v: %v", since, got)
			}
			if want {
				since = nil
			}
		}
	})
}

func TestLonger(t *testing.T) {
	short := auto
	short.Until = 20
	if got := Longer([]fleet.Hold{auto}, short); got != auto {
		t.Fatalf("shortened to %d", got.Until)
	}
	if got := Longer([]fleet.Hold{short}, auto); got != auto {
		t.Fatalf("not prolonged: %d", got.Until)
	}
}

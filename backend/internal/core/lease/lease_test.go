package lease

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

var times = Times{Suspect: 25, Lost: 90}

// Every event in every state, with the last frame at 100.
func TestLease_AllMoves(t *testing.T) {
	const n, r, s, l, f = fleet.LeaseNew, fleet.LeaseReady, fleet.LeaseSuspect, fleet.LeaseLost, fleet.LeaseLeft
	for _, c := range []struct {
		name  string
		event Event
		at    fleet.Time
		want  [5]fleet.LeaseState // from new, ready, suspect, lost, left
	}{
		{"a session opens", Opened, 110, [5]fleet.LeaseState{r, r, r, r, r}},
		{"a frame comes", Renewed, 110, [5]fleet.LeaseState{n, r, r, l, f}},
		{"the connection ends", Broken, 110, [5]fleet.LeaseState{n, s, s, l, f}},
		{"grace of a fresh start", Granted, 110, [5]fleet.LeaseState{s, s, s, s, f}},
		{"excused", Excused, 110, [5]fleet.LeaseState{n, r, s, l, f}},
		{"goodbye", Left, 110, [5]fleet.LeaseState{f, f, f, f, f}},
		{"24 s of silence", Silent, 124, [5]fleet.LeaseState{n, r, s, l, f}},
		{"25 s of silence", Silent, 125, [5]fleet.LeaseState{n, s, s, l, f}},
		{"89 s of silence", Silent, 189, [5]fleet.LeaseState{n, s, s, l, f}},
		{"90 s of silence", Silent, 190, [5]fleet.LeaseState{n, s, l, l, f}},
	} {
		for from, want := range c.want {
			lease := Lease{State: fleet.LeaseState(from), Seen: 100}
			changed := lease.On(c.event, c.at, times)
			if lease.State != want || changed != (fleet.LeaseState(from) != want) {
				t.Errorf("%s: %v becomes %v (changed %v), want %v", c.name, fleet.LeaseState(from), lease.State, changed, want)
			}
		}
	}
}

func TestLease_DueIsWhenSilenceCounts(t *testing.T) {
	for state, want := range map[fleet.LeaseState]fleet.Time{
		fleet.LeaseNew: fleet.Never, fleet.LeaseReady: 125, fleet.LeaseSuspect: 190, fleet.LeaseLost: fleet.Never, fleet.LeaseLeft: fleet.Never,
	} {
		lease := Lease{State: state, Seen: 100}
		if got := lease.Due(times); got != want {
			t.Errorf("%v is due at %d, want %d", state, got, want)
		}
	}
}

func TestLease_RemembersItsNewestChanges(t *testing.T) {
	var lease Lease
	if lease.Since() != 0 {
		t.Errorf("a new lease is %d old", lease.Since())
	}
	for i := range fleet.Time(2 * MaxPast) {
		lease.On(Opened, 10*i+1, times)
		kept := lease.Past
		lease.On(Broken, 10*i+2, times)
		if len(kept) > 0 && kept[len(kept)-1].Event != Opened {
			t.Fatal("a list that was given out has changed")
		}
	}
	last := lease.Past[len(lease.Past)-1]
	if len(lease.Past) != MaxPast || last.Event != Broken || last.State != fleet.LeaseSuspect || lease.Since() != last.At {
		t.Errorf("%d changes, the last %+v", len(lease.Past), last)
	}
	lease.On(Granted, 5000, times)
	if lease.Heard == 5000 || lease.Seen != 5000 {
		t.Error("a grace counts as a frame")
	}
}

package identity

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

func sum(n uint64) (s fleet.Sum) {
	binary.BigEndian.PutUint64(s[:], n)
	return s
}

func shows(chain fleet.Sum, machine, boot string) Presented {
	return Presented{ID: boot + fmt.Sprintf("%x", chain[:8]), Chain: chain, MachineID: machine, BootID: boot, Address: "192.0.2.1"}
}

func TestJudge(t *testing.T) {
	id := fleet.Identity{Current: sum(10), Pending: []fleet.Sum{sum(11), sum(12)}, Past: []fleet.Sum{sum(8), sum(9)}}
	held := id
	held.Claimants = []fleet.Claimant{
		{ID: "h", Chain: sum(10), MachineID: "m1", BootID: "b1", Holder: true}, {ID: "c", Chain: sum(9), MachineID: "m2", BootID: "b2"},
	}
	kept := held
	kept.Keep = "c"
	live := Seen{Epoch: 5, Open: true, BootID: "b1", MachineID: "m1", Earlier: []string{"b0"}}
	away, fresh := live, live
	away.Open = false
	quarantine := Seen{Epoch: 5, BootID: "b1", MachineID: "m1", Held: true}
	confirmed := live
	confirmed.Confirmed = true
	unmarked := live
	unmarked.MachineID = ""
	ahead := func(p Presented, epoch int64) Presented { p.LastEpoch = epoch; return p }
	for _, c := range []struct {
		name string
		id   fleet.Identity
		p    Presented
		seen Seen
		want Verdict
	}{
		{"never showed anything", fleet.Identity{}, shows(fleet.Sum{}, "m1", "b1"), Seen{}, Own},
		{"the first that it shows", fleet.Identity{}, shows(sum(99), "m1", "b1"), Seen{}, Own},
		{"given, and never shown", fleet.Identity{Pending: []fleet.Sum{sum(1)}}, shows(fleet.Sum{}, "m1", "b1"), live, Own},
		{"never showed one, its epoch is ahead", fleet.Identity{Pending: []fleet.Sum{sum(1)}}, ahead(shows(sum(3), "m1", "b1"), 9), fresh, Restored},
		{"current", id, shows(sum(10), "m1", "b1"), live, Own},
		{"pending", id, shows(sum(12), "m1", "b1"), live, Own},
		{"an earlier pending", id, shows(sum(11), "m1", "b1"), live, Own},
		{"a restart takes over", id, shows(sum(10), "m1", "b3"), live, Own},
		{"past", id, shows(sum(9), "m1", "b1"), live, Duplicate},
		{"nothing, though it showed one", id, shows(fleet.Sum{}, "m1", "b1"), live, Duplicate},
		{"unknown", id, shows(sum(77), "m1", "b1"), live, Duplicate},
		{"unknown, its epoch is ahead", id, ahead(shows(sum(77), "m1", "b1"), 9), fresh, Restored},
		{"unknown, its epoch is the database's", id, ahead(shows(sum(77), "m1", "b1"), 5), fresh, Duplicate},
		{"unknown, ahead as far as may be", id, ahead(shows(sum(77), "m1", "b1"), 5+MaxAhead), fresh, Restored},
		{"unknown, ahead, on another machine", id, ahead(shows(sum(77), "m2", "b2"), 9), away, Duplicate},
		{"unknown, ahead, on a machine that can't be told", id, ahead(shows(sum(77), "", "b1"), 9), unmarked, Duplicate},
		{"never showed one, its epoch is absurd", fleet.Identity{}, ahead(shows(sum(3), "m1", "b1"), 2_000_000_000), fresh, Own},
		{"unknown, its epoch is absurd", id, ahead(shows(sum(77), "m1", "b1"), 5+MaxAhead+1), fresh, Duplicate},
		{"unknown, ahead, and the database is no backup", id, ahead(shows(sum(77), "m1", "b1"), 9), confirmed, Duplicate},
		{"past, its epoch is ahead", id, ahead(shows(sum(9), "m1", "b1"), 9), fresh, Duplicate},
		{"another machine beside a session", id, shows(sum(10), "m2", "b2"), live, Duplicate},
		{"another machine after the session", id, shows(sum(10), "m2", "b2"), away, Own},
		{"a machine that can't be told", id, shows(sum(10), "", "b2"), live, Own},
		{"a process that comes back", id, shows(sum(10), "m1", "b0"), away, Duplicate},
		{"held: the holder", held, shows(sum(12), "m1", "b1"), quarantine, Own},
		{"held: the holder after a restart", held, shows(sum(10), "m1", "b9"), quarantine, Own},
		{"held: the holder's value on another machine", held, shows(sum(10), "m9", "b9"), quarantine, Duplicate},
		{"held: the holder's value of another claimant", held, shows(sum(10), "m2", "b2"), quarantine, Duplicate},
		{"held: past", held, shows(sum(9), "m2", "b2"), quarantine, Duplicate},
		{"held: unknown and ahead", held, ahead(shows(sum(77), "m1", "b1"), 9), quarantine, Duplicate},
		{"held: nobody knows the holder", id, shows(sum(10), "m1", "b1"), quarantine, Own},
		{"kept: the chosen one, whatever its chain", kept, shows(sum(9), "m2", "b2"), quarantine, Own},
		{"kept: the chosen one after a restart", kept, shows(sum(9), "m2", "b7"), quarantine, Own},
		{"kept: the other, though its chain is right", kept, shows(sum(10), "m1", "b1"), quarantine, Duplicate},
		{"kept: a third", kept, shows(sum(10), "m3", "b3"), quarantine, Duplicate},
	} {
		if got := Judge(&c.id, &c.p, &c.seen); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// site is the server's side: it judges hellos as the core does.
type site struct {
	id    fleet.Identity
	seen  Seen
	boots []string // of sessions before the newest
	next  uint64
	now   fleet.Time
	taken []string // boot ids, by session
}

// hello gives the value of the welcome; false: refused.
func (s *site) hello(p Presented) (fleet.Sum, bool) {
	s.now++
	s.seen.Earlier = s.boots
	if Judge(&s.id, &p, &s.seen) == Duplicate {
		holder := &Presented{ID: "first", MachineID: s.seen.MachineID, BootID: s.seen.BootID}
		if s.seen.Held || holder.BootID == p.BootID {
			holder = nil
		}
		s.id = Refused(s.id, &p, holder, s.now)
		s.seen.Held, s.seen.Open = true, false
		return fleet.Sum{}, false
	}
	s.next++
	s.id = Opened(s.id, &p, sum(s.next), s.now, s.seen.Held)
	if s.seen.BootID != "" && s.seen.BootID != p.BootID {
		s.boots = append(s.boots, s.seen.BootID)
	}
	s.seen.Open, s.seen.BootID, s.seen.MachineID = true, p.BootID, p.MachineID
	s.taken = append(s.taken, p.BootID)
	return sum(s.next), true
}

func (s *site) heartbeat() { s.id, _ = Confirm(s.id) }

// state is what a node has on its disk.
type state struct{ chain fleet.Sum }

func TestCase_N35_AThousandLostWelcomesHarmNobody(t *testing.T) {
	for _, settled := range []bool{false, true} {
		s, disk := &site{next: 100}, state{}
		if settled {
			for range 2 {
				disk.chain, _ = s.hello(shows(disk.chain, "m", "b"))
				s.heartbeat()
			}
		}
		for i := range 1000 {
			if _, ok := s.hello(shows(disk.chain, "m", "b")); !ok {
				t.Fatalf("refused after %d welcomes that never came", i)
			}
		}
		next, ok := s.hello(shows(disk.chain, "m", "b"))
		s.heartbeat()
		if _, again := s.hello(shows(next, "m", "b")); !ok || !again {
			t.Fatal("refused after the one that came")
		}
	}
}

// One process at a time, whatever is lost on the way and whenever it is restarted:
// nobody is ever refused. What its disk has is the newest value that it heard, or
// the one before, when it stopped while it wrote.
func TestJudge_NeverRefusesTheOnlyOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, disk, boot := &site{next: 100}, state{}, 0
		for range rapid.IntRange(1, 60).Draw(t, "sessions") {
			if rapid.Bool().Draw(t, "restart") {
				boot++
			}
			if rapid.IntRange(0, 5).Draw(t, "disconnected") > 0 {
				s.seen.Open = false
			}
			next, ok := s.hello(shows(disk.chain, "m", fmt.Sprint("b", boot)))
			if !ok {
				t.Fatalf("refused with %x of %+v", disk.chain[:8], s.id)
			}
			late := rapid.SampledFrom([]string{"lost", "came", "confirmed", "confirmed"}).Draw(t, "welcome")
			if late != "lost" {
				disk.chain = next
			}
			if late == "confirmed" {
				s.heartbeat()
			}
		}
	})
}

// twin is one of two processes with a copy of one state.
type twin struct {
	state
	machine string
	boot    int
	name    string
}

func (w *twin) boots() string { return fmt.Sprint(w.name, w.boot) }

// However two copies of one state take turns, they end in quarantine, after that
// the session never changes hands again, and before it did so twice at most.
func TestCase_N8_EveryInterleavingOfACopyEndsInQuarantine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &site{next: 100}
		a := &twin{machine: "m1", name: "a"}
		for range rapid.IntRange(1, 3).Draw(t, "sessions before the copy") {
			a.play(s, true, true)
		}
		b := &twin{state: a.state, machine: rapid.SampledFrom([]string{"m1", "m2", ""}).Draw(t, "machine of the copy"), name: "b"}
		if rapid.Bool().Draw(t, "copied before the welcome was stored") {
			a.play(s, true, rapid.Bool().Draw(t, "confirmed"))
		}
		s.taken = nil
		both := []*twin{a, b}
		for range 4 {
			for _, w := range rapid.Permutation(both).Draw(t, "turn") {
				w.play(s, rapid.Bool().Draw(t, "welcome came"), rapid.Bool().Draw(t, "heartbeat came"))
			}
		}
		for _, w := range both { // and at last nothing is lost any more
			w.play(s, true, true)
		}
		for range 2 {
			for _, w := range both {
				w.play(s, true, true)
			}
		}
		if !s.seen.Held {
			t.Fatalf("two copies live side by side: %v, %+v", s.taken, s.id)
		}
		if n := switches(s.taken); n > 2 {
			t.Fatalf("the session changed hands %d times: %v", n, s.taken)
		}
		if len(s.id.Claimants) < 1 || len(s.id.Claimants) > MaxClaimants {
			t.Fatalf("claimants %+v", s.id.Claimants)
		}
	})
}

// play is one session of the twin: it dials, and may lose its connection anew.
func (w *twin) play(s *site, came, confirmed bool) {
	next, ok := s.hello(shows(w.chain, w.machine, w.boots()))
	if ok && came {
		w.chain = next
		if confirmed {
			s.heartbeat()
		}
	}
}

func switches(taken []string) (n int) {
	for i := 1; i < len(taken); i++ {
		if taken[i][0] != taken[i-1][0] {
			n++
		}
	}
	return n
}

// A secret without the state (N30): it does not matter who speaks next.
func TestCase_N30_AStolenSecretHoldsTheNode(t *testing.T) {
	for _, stolen := range []fleet.Sum{{}, sum(7777)} {
		s, a := &site{next: 100}, &twin{machine: "m1", name: "a"}
		a.play(s, true, true)
		a.play(s, true, true)
		if _, ok := s.hello(shows(stolen, "m1", "a0")); ok || !s.seen.Held || s.seen.Open {
			t.Fatalf("the thief is taken: %+v", s.id)
		}
		if _, ok := s.hello(shows(stolen, "m9", "t1")); ok {
			t.Fatal("the thief is taken at the second try")
		}
		if _, ok := s.hello(shows(a.chain, "m1", "a0")); !ok {
			t.Fatal("the node itself is not taken")
		}
	}
}

func TestCase_D14_AClonedImageIsHeldOnce(t *testing.T) {
	s, a := &site{next: 100}, &twin{machine: "m1", name: "a"}
	a.play(s, true, true)
	clone := &twin{state: a.state, machine: "m2", name: "b"}
	clone.play(s, true, true)
	if !s.seen.Held || switches(s.taken) != 0 {
		t.Fatalf("the clone took over: %v", s.taken)
	}
	for range 5 {
		a.play(s, true, true)
		clone.play(s, true, true)
	}
	if switches(s.taken) != 0 || len(s.id.Claimants) != 2 {
		t.Fatalf("flip-flop: %v, claimants %+v", s.taken, s.id.Claimants)
	}
	holder, _ := s.id.Holder()
	if holder.MachineID != "m1" {
		t.Fatalf("the holder is %+v", holder)
	}
}

// Either claimant may be chosen; from then on the other has no chance.
func TestRepair_EitherMayBeChosen(t *testing.T) {
	for i := range 4 {
		chosen, machine := i%2, []string{"m1", "m2"}[i/2]
		s, a := &site{next: 100}, &twin{machine: "m1", name: "a"}
		a.play(s, true, true)
		a.play(s, true, true)
		b := &twin{state: a.state, machine: machine, name: "b"}
		a.play(s, true, true)
		b.play(s, true, true)
		twins := []*twin{a, b}
		s.id.Keep = s.id.Claimants[chosen].ID
		keep, other := twins[chosen], twins[1-chosen]
		other.boot++
		other.play(s, true, true)
		for range 3 {
			before := len(s.taken)
			keep.boot++ // a restart does not matter
			keep.play(s, true, true)
			if len(s.taken) != before+1 {
				t.Fatalf("claimant %d was chosen and is refused: %+v", chosen, s.id)
			}
			other.play(s, true, true)
			if len(s.taken) != before+1 {
				t.Fatalf("claimant %d was not chosen and is taken", 1-chosen)
			}
		}
		if holder, _ := s.id.Holder(); holder.ID != s.id.Keep {
			t.Fatalf("the holder is %+v, chosen %s", holder, s.id.Keep)
		}
	}
}

// Nobody pushes the holder or the first claimants out of the list.
func TestClaimants_TheFirstOnesStay(t *testing.T) {
	s, a := &site{next: 100}, &twin{machine: "m1", name: "a"}
	a.play(s, true, true)
	a.play(s, true, true)
	for i := range 50 {
		s.hello(shows(sum(uint64(5000+i)), fmt.Sprint("x", i), fmt.Sprint("t", i)))
	}
	ids := []string{}
	for _, c := range s.id.Claimants {
		ids = append(ids, c.BootID)
	}
	if want := []string{"a0", "t0", "t1", "t49"}; !slices.Equal(ids, want) {
		t.Fatalf("claimants %v, want %v", ids, want)
	}
}

// Whoever shows a value that the node was given, whatever others make up: it stays
// in the list and shows that value or another of the node's own.
func TestClaimants_MadeUpValuesPushNobodyOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := &site{next: 100}, &twin{machine: "m1", name: "a"}
		for range 4 {
			a.play(s, true, true)
		}
		values := append(slices.Clone(s.id.Past), s.id.Current, a.chain)
		machines, boots := []string{"m1", "m2"}, []string{"a0", "b0", "c0", "d0", "e0", "f0"}
		hello := func(chain fleet.Sum) {
			s.hello(shows(chain, rapid.SampledFrom(machines).Draw(t, "machine"), rapid.SampledFrom(boots).Draw(t, "boot")))
		}
		for i := range rapid.IntRange(1, 30).Draw(t, "hellos") {
			known := slices.Clone(s.id.Claimants)
			if rapid.IntRange(0, 2).Draw(t, "made up") == 0 {
				hello(rapid.SampledFrom(values).Draw(t, "value"))
				continue
			}
			hello(sum(uint64(9000 + i)))
			for _, c := range known {
				if owns(&s.id, c.Chain) && !slices.ContainsFunc(s.id.Claimants, func(is fleet.Claimant) bool { return is.ID == c.ID && is.Chain == c.Chain }) {
					t.Fatalf("%+v was pushed out of %+v", c, s.id.Claimants)
				}
			}
		}
	})
}

func TestChain_ListsAreBounded(t *testing.T) {
	s, a := &site{next: 100}, &twin{machine: "m1", name: "a"}
	for i := range 100 {
		a.play(s, true, i%3 > 0)
	}
	if len(s.id.Past) > MaxPast || len(s.id.Pending) > MaxPending {
		t.Fatalf("%d past, %d pending", len(s.id.Past), len(s.id.Pending))
	}
}

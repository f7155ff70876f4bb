package alarm

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

var prints = []fleet.Fingerprint{
	{Kind: fleet.AlarmPoolExhausted, Role: "edge", Pool: "pool-7", App: "cam"},
	{Kind: fleet.AlarmPoolExhausted, Role: "origin", Pool: "pool-7", App: "cam"},
	{Kind: fleet.AlarmQueueWait, Pool: "pool-7"},
	{Kind: fleet.AlarmNodeLost, Pool: "pool-7", Node: "n1"},
}

// plainBook is a Book as one would write it without care for cost: all alarms
// that ever were, and what was written of each.
type plainBook struct {
	now     fleet.Time
	all     []fleet.Alarm
	written map[int64]fleet.Alarm
}

func (p *plainBook) lasting(f fleet.Fingerprint) *fleet.Alarm {
	for i := range p.all {
		if p.all[i].Fingerprint == f && p.all[i].ResolvedAt == 0 {
			return &p.all[i]
		}
	}
	return nil
}

// silenced gives the silence that the newest alarm of the fingerprint left.
func (p *plainBook) silenced(f fleet.Fingerprint) (by string, until fleet.Time) {
	for i := len(p.all) - 1; i >= 0; i-- {
		if a := &p.all[i]; a.Fingerprint == f {
			if a.SilencedUntil > p.now {
				return a.SilencedBy, a.SilencedUntil
			}
			return "", 0
		}
	}
	return "", 0
}

func (p *plainBook) write(id int64) {
	for _, a := range p.all {
		if a.ID == id {
			p.written[id] = a
		}
	}
}

// kept is what the database gives a new process.
func (p *plainBook) kept() (list []fleet.Alarm) {
	for i := range p.all {
		if a := p.written[p.all[i].ID]; a.ResolvedAt == 0 || a.SilencedUntil > p.now {
			list = append(list, a)
		}
	}
	return list
}

func TestBook_EqualsAPlainOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, plain, epoch := &Book{}, &plainBook{now: 1000, written: map[int64]fleet.Alarm{}}, int64(3)
		b.Load(epoch, 0, nil)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			plain.now += fleet.Time(rapid.SampledFrom([]int{0, 1, 500, 5000}).Draw(t, "pass"))
			if rapid.IntRange(0, 14).Draw(t, "restart") == 0 {
				epoch++
				for i := range plain.all { // counts that were not written are lost
					plain.all[i] = plain.written[plain.all[i].ID]
				}
				b = &Book{}
				b.Load(epoch, 0, plain.kept())
			}
			stepBook(t, b, plain)
			compareBook(t, b, plain)
		}
	})
}

func stepBook(t *rapid.T, b *Book, plain *plainBook) {
	f := rapid.SampledFrom(prints).Draw(t, "fingerprint")
	c, a := b.Find(f), plain.lasting(f)
	until := plain.now + fleet.Time(rapid.IntRange(-1000, 10_000).Draw(t, "until"))
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0, 1:
		n := int64(rapid.IntRange(1, 5).Draw(t, "times"))
		if a != nil {
			a.Count, a.LastAt = a.Count+n, plain.now
			b.Again(plain.now, c, n)
			return
		}
		by, silent := plain.silenced(f)
		c, before := b.Raise(plain.now, f, n)
		if before != nil {
			at := slices.IndexFunc(plain.all, func(a fleet.Alarm) bool { return a.ID == before.ID })
			plain.all[at].SilencedUntil = plain.now
			plain.write(before.ID)
		}
		plain.all = append(plain.all, fleet.Alarm{
			ID: c.ID, Fingerprint: f, Count: n, RaisedAt: plain.now, LastAt: plain.now, SilencedBy: by, SilencedUntil: silent,
		})
		c.Written()
		plain.write(c.ID)
	case 2:
		if a != nil {
			a.ResolvedAt = plain.now
			b.Resolve(plain.now, c)
			c.Written()
			plain.write(c.ID)
		}
	case 3:
		if a == nil {
			return
		}
		if a.AckedAt == 0 {
			a.AckedAt, a.AckedBy = plain.now, "ann"
		}
		b.Ack(plain.now, c.ID, "ann").Written()
		plain.write(c.ID)
	case 4:
		if a == nil {
			return
		}
		if a.SilencedBy, a.SilencedUntil = "bob", until; until <= plain.now {
			a.SilencedBy, a.SilencedUntil = "", 0
		}
		b.Silence(plain.now, c.ID, until, "bob").Written()
		plain.write(c.ID)
	case 5:
		b.Tell(func(c *Case) { c.Written(); plain.write(c.ID) })
		for _, a := range plain.all {
			if a.ResolvedAt == 0 && !reflect.DeepEqual(plain.written[a.ID], a) {
				t.Fatalf("%+v was not told of, only %+v", a, plain.written[a.ID])
			}
		}
	}
}

func compareBook(t *rapid.T, b *Book, plain *plainBook) {
	var want []int64
	for i := range plain.all {
		a := &plain.all[i]
		if i > 0 && a.ID <= plain.all[i-1].ID {
			t.Fatalf("number %d comes after %d", a.ID, plain.all[i-1].ID)
		}
		c := b.Find(a.Fingerprint)
		if a.ResolvedAt != 0 {
			if at, found := b.find(a.ID); found {
				t.Fatalf("%+v has ended and is listed at %d", a, at)
			}
			if b.Ack(plain.now, a.ID, "x") != nil || b.Silence(plain.now, a.ID, plain.now, "x") != nil {
				t.Fatalf("%+v has ended and was taken", a)
			}
			continue
		}
		want = append(want, a.ID)
		got := c.Alarm
		got.Count, got.LastAt = c.count, c.last
		if !reflect.DeepEqual(got, *a) || !reflect.DeepEqual(c.Alarm, plain.written[a.ID]) {
			t.Fatalf("%+v\nwant %+v, written %+v", c, a, plain.written[a.ID])
		}
	}
	var got []int64
	for _, c := range b.Lasting() {
		got = append(got, c.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%v last, want %v", got, want)
	}
}

// A process that begins again under its own epoch gives no number twice, though
// the alarms that had them are over and not read back.
func TestBook_NumbersAreNeverGivenTwice(t *testing.T) {
	b, seen := &Book{}, map[int64]bool{}
	for range 3 {
		b.Load(2, 0, nil)
		for _, f := range prints {
			c, _ := b.Raise(1, f, 1)
			if seen[c.ID] || c.ID>>20 != 2 {
				t.Fatalf("%d, after %v", c.ID, seen)
			}
			seen[c.ID] = true
			b.Resolve(2, c)
		}
	}
	b.Load(2, 0, []fleet.Alarm{{ID: 5 << 20, Fingerprint: prints[0]}})
	if c, _ := b.Raise(1, prints[1], 1); c.ID != 5<<20+1 {
		t.Fatalf("above a greater one that was read back: %d", c.ID)
	}
	b.Load(2, 9<<20, nil)
	if c, _ := b.Raise(1, prints[1], 1); c.ID != 9<<20+1 {
		t.Fatalf("above the greatest of all: %d", c.ID)
	}
}

// A silence that was ended does not come back from the alarm that had it first.
func TestBook_SilenceGoesOverOnce(t *testing.T) {
	b, until := &Book{}, fleet.Time(1000)
	b.Load(1, 0, nil)
	first, _ := b.Raise(1, prints[0], 1)
	b.Silence(2, first.ID, until, "bob")
	b.Resolve(3, first)
	second, before := b.Raise(4, prints[0], 1)
	if before != first || second.SilencedUntil != until || first.SilencedUntil != 4 {
		t.Fatalf("raised anew: %+v, before %+v", second, before)
	}
	b.Silence(5, second.ID, 5, "ann")
	b.Resolve(6, second)
	b.Load(1, 0, nil) // neither is silenced any more
	if third, before := b.Raise(7, prints[0], 1); before != nil || third.SilencedUntil != 0 {
		t.Fatalf("the third is silenced: %+v", third)
	}
}

func TestBook_CountingAllocatesNothing(t *testing.T) {
	b := &Book{}
	b.Load(1, 0, nil)
	c, _ := b.Raise(1, prints[0], 1)
	b.Again(2, c, 1)
	if n := testing.AllocsPerRun(100, func() { b.Again(3, c, 1) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
	if fmt.Sprint(c.Count, c.count) != "1 103" {
		t.Fatalf("written %d, counted %d", c.Count, c.count)
	}
}

package alarm

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// plainLine is a Line as one would write it without care for cost.
type plainLine struct {
	waits []*Waiter // in the order in which they were added
	late  map[*Waiter]bool
	seen  map[*Waiter]bool
}

func (p *plainLine) sorted() []*Waiter {
	list := slices.Clone(p.waits)
	slices.SortStableFunc(list, func(a, b *Waiter) int { return int(a.Since - b.Since) })
	return list
}

func (p *plainLine) pass(now, limit fleet.Time) (late, unseen int64) {
	for _, w := range p.waits {
		if now-w.Since > limit && !p.late[w] {
			p.late[w] = true
			late++
			if !p.seen[w] {
				p.seen[w] = true
				unseen++
			}
		}
	}
	return late, unseen
}

func TestLine_EqualsAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, plain := &Line{}, &plainLine{late: map[*Waiter]bool{}, seen: map[*Waiter]bool{}}
		now, limit := fleet.Time(1000), fleet.Time(50)
		for i := range rapid.IntRange(1, 150).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 4:
				// Its wait is known to be no longer than what the line has looked at.
				since := now - fleet.Time(rapid.SampledFrom([]int{0, 0, 0, 10, 40}).Draw(t, "ago"))
				w := &Waiter{Job: ids.JobID{byte(i)}, Since: since}
				l.Add(w)
				if first := slices.IndexFunc(plain.sorted(), func(o *Waiter) bool { return o.Since > since && plain.late[o] }); first >= 0 {
					plain.late[w] = true
				}
				plain.waits = append(plain.waits, w)
			case what < 6 && len(plain.waits) > 0:
				w := rapid.SampledFrom(plain.waits).Draw(t, "goes")
				l.Remove(w)
				plain.waits = slices.DeleteFunc(plain.waits, func(o *Waiter) bool { return o == w })
				delete(plain.late, w)
				delete(plain.seen, w)
			case what < 8:
				now += fleet.Time(rapid.IntRange(0, 40).Draw(t, "pass"))
				late, unseen := l.Pass(now, limit)
				if wantLate, wantUnseen := plain.pass(now, limit); late != wantLate || unseen != wantUnseen {
					t.Fatalf("%d are late, %d unseen; want %d, %d", late, unseen, wantLate, wantUnseen)
				}
			case what == 8:
				limit = fleet.Time(rapid.IntRange(0, 100).Draw(t, "limit"))
				l.Rewind()
				clear(plain.late)
			case len(plain.waits) > 0:
				w := rapid.SampledFrom(plain.waits).Draw(t, "hopeless")
				w.Seen, plain.seen[w] = true, true
			}
			compareLine(t, l, plain)
		}
	})
}

func compareLine(t *rapid.T, l *Line, plain *plainLine) {
	var got []*Waiter
	for w := l.First(); w != nil; w = w.Next() {
		got = append(got, w)
	}
	want := plain.sorted()
	if !slices.Equal(got, want) || l.Len() != int64(len(want)) || l.Late() != int64(len(plain.late)) {
		t.Fatalf("the line has %d of %d, %d late of %d", len(got), l.Len(), l.Late(), len(plain.late))
	}
}

func TestLine_AllocatesNothing(t *testing.T) {
	l, w := &Line{}, &Waiter{}
	if n := testing.AllocsPerRun(100, func() { l.Add(w); l.Pass(100, 1); l.Remove(w) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

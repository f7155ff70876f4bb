package nodecore

import (
	"slices"
	"testing"
)

func results(e *Effects) (refs []Ref) {
	for _, s := range sent(e, SendResult) {
		refs = append(refs, s.Ref)
	}
	return refs
}

func TestSpool_HandsInPageByPageOldestFirst(t *testing.T) {
	var held []Ref
	for i := range byte(20) {
		held = append(held, ref(i+1, 1))
	}
	r := newRig(t, func(c *Config) { c.Spooled = held })
	conn := r.welcome()
	got := results(&r.out)
	if len(got) != pageBytes/unknownBytes {
		t.Fatalf("%d results after welcome, want a page of %d", len(got), pageBytes/unknownBytes)
	}
	for i := 0; i < len(held); i++ {
		out := r.event(func(now Time, out *Effects) { r.ResultAck(now, conn, held[i], "stored", out) })
		if len(out.Frees) != 1 || out.Frees[0] != (Freed{held[i], "stored"}) {
			t.Fatalf("verdict %d freed %+v", i, out.Frees)
		}
		got = append(got, results(out)...)
	}
	if len(got) != len(held) {
		t.Fatalf("handed in %d of %d", len(got), len(held))
	}
	for i := range held {
		if got[i] != held[i] {
			t.Fatalf("result %d is %v, want %v", i, got[i], held[i])
		}
	}
	if n := r.State().Spooled; n != 0 {
		t.Errorf("%d spooled at the end", n)
	}
}

// A page is bounded by how many results it has and by their bytes; one for which there
// is no room holds up those behind it.
func TestSpool_PageIsBoundedByResultsAndBytes(t *testing.T) {
	for name, c := range map[string]struct {
		bytes []int // of the results, oldest first
		want  int   // that are sent at once
	}{
		"small":                {slices.Repeat([]int{1 << 10}, page+5), page},
		"large":                {slices.Repeat([]int{pageBytes / 4}, 7), 4},
		"large among small":    {[]int{1, pageBytes, 1}, 1},
		"as large as a page":   {[]int{pageBytes, 1}, 1},
		"what fits with small": {[]int{pageBytes - 2, 1, 1, 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var out Effects
			s := spool{dice: new(dice)}
			for i, bytes := range c.bytes {
				s.put(ref(byte(i+1), 1), bytes)
			}
			if s.next() != 0 {
				t.Error("nothing is to be sent")
			}
			s.send(1, 1, &out)
			got := results(&out)
			if len(got) != c.want {
				t.Fatalf("%d are sent, want %d", len(got), c.want)
			}
			if s.next() <= 1 {
				t.Error("more are to be sent at once")
			}
			for i := range got {
				if got[i] != ref(byte(i+1), 1) {
					t.Errorf("number %d is %v", i, got[i])
				}
			}
			out.Reset()
			s.free(got[0], "stored", &out)
			if s.next() != 0 {
				t.Error("a verdict makes no room")
			}
			if s.send(2, 1, &out); len(results(&out)) == 0 || results(&out)[0] != ref(byte(c.want+1), 1) {
				t.Errorf("then sent %v", results(&out))
			}
		})
	}
}

func TestSpool_ResendsQuicklyThenSlowlyWithoutEnd(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Spooled = []Ref{ref(1, 1)} })
	conn := r.welcome()
	last, tries := r.now, len(results(&r.out))
	for tries < 100 {
		r.until("a resend", func(e *Effects) bool {
			got := len(results(e)) == 1
			r.keeper.acknowledged(r.now)
			return got
		})
		tries++
		gap := r.now - last
		last = r.now
		quick := gap <= quickWait+quickWait/5
		if tries <= quickTries && !quick || tries > quickTries+8 && (quick || gap > slowWaitMax) {
			t.Fatalf("try %d came after %d ms", tries, gap)
		}
	}
	out := r.event(func(now Time, out *Effects) { r.ResultAck(now, conn, ref(1, 1), "fenced", out) })
	if len(out.Frees) != 1 {
		t.Error("a late verdict did not free it")
	}
}

func TestSpool_UnansweredResultsHoldUpNobody(t *testing.T) {
	var held []Ref
	for i := range byte(pageBytes / unknownBytes) {
		held = append(held, ref(i+1, 1))
	}
	late := ref(99, 1)
	r := newRig(t, func(c *Config) { c.Spooled = append(held, late) })
	r.welcome()
	r.until("the one behind them", func(e *Effects) bool {
		r.keeper.acknowledged(r.now)
		for _, got := range results(e) {
			if got == late {
				return true
			}
		}
		return false
	})
}

func TestSpool_NewSessionIsHandedEverythingAnew(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Spooled = []Ref{ref(1, 1), ref(2, 1)} })
	conn := r.welcome()
	r.event(func(now Time, out *Effects) { r.Closed(now, conn, 0, out) })
	r.welcome()
	if got := results(&r.out); len(got) != 2 {
		t.Errorf("%d results handed in under the new session, want 2", len(got))
	}
}

func TestSpool_WriteFailureKeepsTheResultAndTakesNoWork(t *testing.T) {
	r := newRig(t, nil)
	conn := r.welcome()
	r.run(conn, ref(1, 1))
	r.event(func(now Time, out *Effects) { r.Finished(now, ref(1, 1), End{Ran: true}, out) })
	r.event(func(now Time, out *Effects) { r.StoreFailed(now, ref(1, 1), out) })
	if s := r.State(); s.Accepting || s.Reason != ReasonSpoolFailing || s.Spooled != 1 {
		t.Errorf("state %+v, want not accepting and one on its way to the spool", s)
	}
	out := r.until("another try", func(e *Effects) bool {
		r.keeper.acknowledged(r.now)
		return len(e.Reports) == 1
	})
	if out.Reports[0].Ref != ref(1, 1) {
		t.Errorf("tried %+v", out.Reports)
	}
	out = r.event(func(now Time, out *Effects) { r.Stored(now, ref(1, 1), 100, out) })
	if len(results(out)) != 1 || !r.State().Accepting {
		t.Errorf("once stored: %+v, want it sent and the node accepting", out)
	}
}

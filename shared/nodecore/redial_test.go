package nodecore

import "testing"

func TestKeeper_BackoffIsWindowThenFullJitter(t *testing.T) {
	for window, limits := range map[Time][]Time{
		5 * second:  {5 * second, second, 2 * second, 4 * second, 8 * second, 16 * second, 30 * second, 30 * second, 30 * second},
		20 * second: {20 * second, second, 2 * second, 4 * second, 8 * second, 16 * second, 30 * second, 30 * second, 30 * second},
		0:           {0, second / 2, second, 2 * second, 4 * second, 7 * second},
	} {
		d := dice(3)
		widest := make([]Time, len(limits))
		for range 4000 {
			r := redial{dice: &d, window: window}
			for i := range widest {
				waited := r.waited
				wait := r.wait(0)
				if most := max(window, waited, backoffBase); wait > most {
					t.Fatalf("window %d: waits %d ms after %d", window, wait, waited)
				}
				widest[i] = max(widest[i], wait)
			}
			for range 20 { // its waits go on to the longest ones, and end there
				if wait := r.wait(0); wait > backoffMax {
					t.Fatalf("window %d: waits %d ms", window, wait)
				}
			}
			if window > 0 && r.waited < backoffMax {
				t.Fatalf("window %d: 20 more waits end after %d ms", window, r.waited)
			}
		}
		for i, limit := range limits {
			if widest[i] > limit || widest[i] < limit/3 {
				t.Errorf("window %d, wait %d: at most %d ms seen, want up to %d", window, i, widest[i], limit)
			}
		}
	}
}

// However long the server was away, the last of ten thousand nodes dials within the
// window after it is back, or within as long as it was away, and no second has too
// many of them.
func TestRedial_AFleetIsBackWithinTheWindow(t *testing.T) {
	const nodes, window = 10_000, 5 * second
	for _, away := range []Time{second, 3 * second, 5 * second, 12 * second, 25 * second, minute} {
		perSecond := map[Time]int{}
		for seed := range uint64(nodes) {
			r := NewRedial(seed)
			at := r.Wait(0)
			for at < away {
				at += r.Wait(0)
			}
			perSecond[(at-away)/second]++
			if at > away+max(window, away) {
				t.Errorf("%d s away: dials %d ms after it is back", away/second, at-away)
			}
		}
		for s, n := range perSecond {
			if n > 3*nodes/5 {
				t.Errorf("%d s away: %d nodes dial within second %d", away/second, n, s)
			}
		}
	}
}

// A server takes two thousand in a second, as many at once, and puts the others off by
// a second. The last of ten thousand nodes is in not long after the budget would let it.
func TestRedial_WhoIsPutOffIsInAsSoonAsTheServerCanTakeIt(t *testing.T) {
	const (
		nodes, budget = 10_000, 2_000
		window        = 5 * second
		soon          = window + 3*second/2 // 4 s of budget behind the burst, and what chance takes
	)
	for _, away := range []Time{second, 3 * second / 2, 2 * second, 3 * second, 5 * second} {
		dials := map[Time][]*Redial{} // by when they come
		for seed := range uint64(nodes) {
			r := NewRedial(seed)
			at := r.Wait(0)
			dials[at] = append(dials[at], r)
		}
		tokens, in, last := budget*second, 0, Time(0)
		for now := Time(0); in < nodes && now < away+minute; now++ {
			if now >= away {
				tokens = min(tokens+budget, budget*second)
			}
			for _, r := range dials[now] {
				switch {
				case now < away:
					at := now + max(r.Wait(0), 1)
					dials[at] = append(dials[at], r)
				case tokens < second:
					at := now + r.Wait(second)
					dials[at] = append(dials[at], r)
				default:
					tokens, in, last = tokens-second, in+1, now
				}
			}
		}
		if in < nodes || last > away+soon {
			t.Errorf("%d ms away: %d nodes are in, the last %d ms after the server is back; want it within %d", away, in, last-away, soon)
		}
	}
}

// A server that goes on asking is waited for as long as one that is silent.
func TestRedial_ALongTroubleIsWaitedFor(t *testing.T) {
	for _, floor := range []Time{0, second} {
		widest := Time(0)
		for seed := range uint64(500) {
			r := NewRedial(seed)
			for range 15 {
				r.Wait(floor)
			}
			widest = max(widest, r.Wait(floor)-floor)
		}
		if widest < backoffMax*9/10 {
			t.Errorf("floor %d: %d ms at most after 15 dials in vain, want up to %d", floor, widest, backoffMax)
		}
	}
}

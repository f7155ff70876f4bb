package schedule

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

// backlog is a pool in which apps always have work that waits.
type backlog struct {
	q       *Queue
	seq     uint64
	weights map[string]int32
	got     map[string]float64 // slots
}

func newBacklog() *backlog {
	return &backlog{q: NewQueue(), weights: map[string]int32{}, got: map[string]float64{}}
}

func (b *backlog) add(app string, slots int64, priority int32) *Waiter {
	b.seq++
	w := &Waiter{App: app, Priority: priority, Seq: b.seq, Request: Request{Role: "r", Demand: &fleet.Vector{Slots: slots}}}
	b.q.Add(1, w, []string{"p"}, 1, 0)
	return w
}

// serve places what is first.
func (b *backlog) serve() *Waiter {
	round := b.q.Round("p")
	w := round.Next(nil)
	round.End()
	b.q.Served(1, w, "p", b.weights[w.App])
	b.q.Remove(w)
	b.got[w.App] += float64(w.Request.Demand.Slots)
	return w
}

// What two apps with work that waits all the time got, divided by their weights,
// differs by at most one piece of work of each, over any stretch of time.
func TestFlow_SharesDifferByOnePieceAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBacklog()
		apps := rapid.IntRange(2, 5).Draw(t, "apps")
		largest := map[string]float64{}
		for i := range apps {
			app := fmt.Sprint("a", i)
			b.weights[app] = rapid.Int32Range(1, fleet.MaxWeight).Draw(t, "weight")
			for range 3 {
				b.more(t, app, largest)
			}
		}
		from := map[string]float64{}
		for range rapid.IntRange(1, 300).Draw(t, "pieces") {
			if rapid.IntRange(0, 50).Draw(t, "begin anew") == 0 {
				for app := range b.got {
					from[app] = b.got[app]
				}
			}
			b.more(t, b.serve().App, largest)
			for a, wa := range b.weights {
				for c, wc := range b.weights {
					apart := math.Abs((b.got[a]-from[a])/float64(wa) - (b.got[c]-from[c])/float64(wc))
					if bound := largest[a]/float64(wa) + largest[c]/float64(wc); apart > bound*1.01 {
						t.Fatalf("%s (weight %d) and %s (%d) are %.4f apart, bound %.4f: %v", a, wa, c, wc, apart, bound, b.got)
					}
				}
			}
		}
	})
}

func (b *backlog) more(t *rapid.T, app string, largest map[string]float64) {
	slots := rapid.Int64Range(1, 8).Draw(t, "slots")
	largest[app] = max(largest[app], float64(slots))
	b.add(app, slots, rapid.Int32Range(0, 2).Draw(t, "priority"))
}

func TestFlow_LongRunFollowsWeights(t *testing.T) {
	b := newBacklog()
	b.weights = map[string]int32{"a": 100, "b": 250, "c": 650}
	for _, app := range []string{"a", "b", "c"} {
		for i := range 4 {
			b.add(app, int64(1+i%4), 50)
		}
	}
	for i := range 20_000 {
		b.add(b.serve().App, int64(1+i%4), 50)
	}
	all := b.got["a"] + b.got["b"] + b.got["c"]
	for app, weight := range b.weights {
		if share, want := b.got[app]/all, float64(weight)/1000; math.Abs(share-want) > want*0.05 {
			t.Errorf("%s got %.3f of all, its weight says %.3f", app, share, want)
		}
	}
}

func TestFlow_AnotherAppsBacklogDelaysNobody(t *testing.T) {
	b := newBacklog()
	b.weights = map[string]int32{"a": 100, "b": 100}
	for range 10_000 {
		b.add("a", 1, 100)
	}
	for range 50 {
		b.serve()
	}
	first := b.add("b", 1, 0)
	if next := []*Waiter{b.serve(), b.serve()}; !slices.Contains(next, first) {
		t.Fatal("the other app's first job is not among the next two")
	}
}

// What was stuck for long gets its turn, and no more than that.
func TestFlow_NoArrears(t *testing.T) {
	b := newBacklog()
	b.weights = map[string]int32{"stuck": 100, "a": 100}
	for range 100 {
		b.add("stuck", 8, 50)
		b.add("a", 1, 50)
	}
	line := b.q.pools["p"].lines[0]
	for range 50 { // only the small ones fit
		line.passed = b.q.round + 1
		b.serve()
	}
	now := fleet.Time(60_000)
	for range 2 {
		round := b.q.Round("p")
		w := round.Next(nil)
		if w.App != "stuck" {
			if now == 60_000 {
				t.Fatal("what was stuck is not first")
			}
			return
		}
		b.q.Served(now, w, "p", 100)
		b.q.Remove(w)
		now++
	}
	t.Fatal("what was stuck goes on before the others")
}

func TestQueue_ParkedWorkIsNotGiven(t *testing.T) {
	b := newBacklog()
	over, other := b.add("a", 1, 50), b.add("b", 1, 50)
	b.q.Park(5, over)
	if w := b.serve(); w != other {
		t.Fatal("parked work is given")
	}
	if pool, _, quota := over.Waited(25, 1); quota != 20 || pool != 4 {
		t.Fatalf("waited %d for nodes and %d for its quota", pool, quota)
	}
	if pools := b.q.Unpark(25, "a"); len(pools) != 1 || b.serve() != over {
		t.Fatal("what is parked no more is not given")
	}
}

func TestWaiter_PassedOverIsFairness(t *testing.T) {
	x := NewIndex()
	n := &Node{ID: "n"}
	x.Put(n, "p", Attrs{Role: "r"}, fleet.Vector{Slots: 2}, 0)
	b := newBacklog()
	first, second, large := b.add("a", 1, 50), b.add("a", 1, 50), b.add("a", 4, 50)
	x.Reserve(n, first.Request.Demand)
	b.q.PassedOver(101, "p", n, first)
	b.q.Remove(first)
	if pool, fairness, _ := second.Waited(201, 1); pool != 100 || fairness != 100 {
		t.Fatalf("who could have had it waited %d for nodes, %d behind others", pool, fairness)
	}
	if pool, fairness, _ := large.Waited(201, 1); pool != 200 || fairness != 0 {
		t.Fatalf("who could not waited %d for nodes, %d behind others", pool, fairness)
	}
}

// BenchmarkQueue is one decision of the queue: the first of what waits goes, and
// another comes. Eight shapes, a hundred apps.
func BenchmarkQueue(b *testing.B) {
	for _, many := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", many), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			w := newBacklog()
			fill(w, many)
			runtime.GC()
			runtime.ReadMemStats(&after)
			decide := w.decision()
			for b.Loop() {
				decide()
			}
			b.ReportMetric(cpuOf(decide, 100_000), "cpu-ns/op")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(many), "B/job")
			runtime.KeepAlive(w)
		})
	}
}

// decision serves the first of what waits, and lets it wait anew behind all.
func (b *backlog) decision() func() {
	pools := []string{"p"}
	return func() {
		round := b.q.Round("p")
		first := round.Next(nil)
		b.q.Served(1, first, "p", 100)
		b.q.Remove(first)
		b.seq++
		first.Seq = b.seq
		b.q.Add(1, first, pools, 1, 0)
	}
}

func fill(b *backlog, many int) {
	demands := [8]*fleet.Vector{}
	for i := range demands {
		demands[i] = &fleet.Vector{Slots: int64(1 + i)}
	}
	apps := make([]string, 100)
	for i := range apps {
		apps[i] = fmt.Sprint("app", i)
	}
	jobs := make([]Waiter, many)
	for i := range jobs {
		w := &jobs[i]
		w.App, w.Seq, w.Priority = apps[i%len(apps)], uint64(i), int32(i%3)
		w.Request = Request{Role: "r", Demand: demands[i/len(apps)%8]}
		b.q.Add(1, w, []string{"p"}, 1, 0)
	}
	b.seq = uint64(many)
}

// A decision costs the same however much waits.
func TestQueue_DecisionsStayFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	decision := func(many int) func() {
		w := newBacklog()
		fill(w, many)
		return w.decision()
	}
	few, most := decision(1_000), decision(200_000)
	small, large := inTurns(func() float64 { return cpuOf(few, 20_000) }, func() float64 { return cpuOf(most, 20_000) })
	t.Logf("%.0f ns of CPU a decision with 1,000 waiting, %.0f with 200,000", small, large)
	if large > 8*small {
		t.Errorf("%.0f ns with 1,000 waiting, %.0f with 200,000", small, large)
	}
}

package scenario_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/sim"
	"rockpool/backend/internal/sim/scenario"
	"rockpool/tests/scenarios"
)

func load(t testing.TB, name string) *sim.Scenario {
	t.Helper()
	sc, err := scenario.Load(scenarios.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func names(t testing.TB) []string {
	t.Helper()
	list, err := scenario.Names(scenarios.FS)
	if err != nil || len(list) < 5 {
		t.Fatalf("%d scenarios: %v", len(list), err)
	}
	return list
}

// holds plays a seed and shows the report of a failure.
func holds(t *testing.T, sc *sim.Scenario, seed uint64) *sim.Report {
	t.Helper()
	r := sim.Run(sc, seed)
	if !r.OK() {
		if err := r.Text(os.Stderr); err != nil {
			t.Error(err)
		}
		t.Errorf("%s, seed %d: %s", sc.Name, seed, r.Failure.Error())
	}
	return r
}

// Every scenario that ships holds by its own seed.
func TestScenarios_Hold(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			sc := load(t, name)
			if raceEnabled && sc.Oracle {
				t.Skip("millions of events: without the race detector")
			}
			start := time.Now()
			r := holds(t, sc, sc.Seed)
			t.Logf("%d events, %d x real time, hash %s", r.Events, r.Duration/max(1, time.Since(start).Milliseconds()), r.Hash)
		})
	}
}

// The same seed is the same run, however many processors there are; another seed
// is another one.
func TestScenarios_SameSeedSameHash(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			var hashes []string
			for _, procs := range []int{1, 2, 8} {
				runtime.GOMAXPROCS(procs)
				sc := load(t, name)
				sc.Duration, sc.Expect = min(sc.Duration, sim.Span(time.Hour.Milliseconds()/2)), nil
				hashes = append(hashes, sim.Run(sc, sc.Seed).Hash)
			}
			if hashes[0] != hashes[1] || hashes[1] != hashes[2] {
				t.Errorf("hashes %v", hashes)
			}
		})
	}
	sc := load(t, "swarm")
	if sim.Run(sc, 1).Hash == sim.Run(sc, 2).Hash {
		t.Error("two seeds have one hash: it hashes nothing")
	}
}

// The weather of random faults: all rules hold after every event, and after the
// healing everything comes to rest. scripts/soak plays more seeds.
func TestSwarm_HealsWhateverTheSeed(t *testing.T) {
	seeds := uint64(50)
	if raceEnabled {
		seeds = 10
	}
	sc := load(t, "swarm")
	for seed := range seeds {
		if holds(t, sc, seed); t.Failed() {
			return
		}
	}
}

const small = `
title = "one node"
duration = "5m"
[[nodes]]
id = "n"
owner = 1
slots = 2
[[app]]
id = "a"
owner = 1
[[demand]]
app = "a"
from = "20s"
every = "10s"
count = 10
run = "2s"
[[at]]
t = "30s"
do = "cordon"
nodes = "n"
for = "30s"
[[at]]
t = "1m"
do = "slow"
nodes = "n"
for = "10s"
[[at]]
t = "1m45s"
do = "power"
nodes = "n"
[[expect]]
counter = "jobs.succeeded"
is = %
`

// An expectation that is wrong fails with the event, and the shortest list of steps
// has what it takes alone.
func TestExpectation_FailsAndIsShrunk(t *testing.T) {
	for _, c := range []struct {
		want  string
		steps int
		ok    bool
	}{{"10", 1, false}, {"9", 0, true}} {
		sc, err := scenario.Parse(scenarios.FS, "small", []byte(strings.Replace(small, "%", c.want, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r := sim.Run(sc, 4)
		if r.OK() != c.ok {
			t.Fatalf("expected %s: %+v", c.want, r.Failure)
		}
		if c.ok {
			continue
		}
		if r.Failure.Event == 0 || len(r.Shortest) != c.steps || !strings.Contains(r.Shortest[0], "power") {
			t.Errorf("failure %+v, shortest %q", r.Failure, r.Shortest)
		}
	}
}

// What could not be played is refused, with what is wrong.
func TestParse_Refuses(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "duration"},
		{"duration = \"5x\"", "units"},
		{"duration = \"5m\"\nspeed = 3", "unknown field"},
		{"duration = \"5m\"\n[[nodes]]\nid = \"n\"\npool = \"nowhere\"", "nowhere"},
		{"duration = \"5m\"\n[[nodes]]\nid = \"N n\"", "name"},
		{"duration = \"5m\"\n[[demand]]\napp = \"ghost\"", "ghost"},
		{"duration = \"5m\"\n[[at]]\nt = \"1s\"\ndo = \"explode\"", "explode"},
		{"duration = \"5m\"\n[[at]]\nt = \"1s\"\ndo = \"clock_jump\"\nby = \"soon\"", "soon"},
		{"duration = \"5m\"\n[[expect]]\ncounter = \"luck\"\nis = 1", "luck"},
		{"duration = \"5m\"\n[[expect]]\ncounter = \"jobs\"", "min, max or same"},
		{"duration = \"5m\"\n[[churn]]\nnodes = \"*\"\nfit = \"none\"", "none"},
		{"duration = \"5m\"\n[network]\nrtt = \"moon\"", "moon"},
		{"duration = 5m", "small"},
	} {
		if _, err := scenario.Parse(scenarios.FS, "small", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: error %v, want one that says %q", c.text, err, c.says)
		}
	}
	if _, err := scenario.Load(scenarios.FS, "no-such"); err == nil {
		t.Error("a scenario that is not there was loaded")
	}
}

package load

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// BenchmarkStorm kills a server under its nodes, and measures from when it is up
// again until all of them are back; beside it, in turns, the plain server, which
// accepts and welcomes whoever comes. It stays away for as long as ours did, for who
// has dialed in vain waits longer. Run it with -benchtime=1x.
func BenchmarkStorm(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			for range b.N {
				const pairs = 3
				var ours, bare, past []time.Duration
				product, plain := newStorm(b, nodes), newPlainStorm(b, nodes)
				for range pairs {
					away, took := product.strike(b, 0)
					_, beside := plain.strike(b, away)
					ours, bare, past = append(ours, took), append(bare, beside), append(past, took-max(redialWindow, away))
				}
				o, p := middle(ours), middle(bare)
				b.ReportMetric(o.Seconds(), "server-s")
				b.ReportMetric(p.Seconds(), "bare-s")
				b.ReportMetric(o.Seconds()/p.Seconds(), "ratio")
				b.ReportMetric(middle(past).Seconds(), "past-window-s")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

func middle(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[(len(list)-1)/2]
}

// storm is a server and its nodes.
type storm struct {
	fleet       fleet
	kill, start func() // start returns when it is up again
	back        func() // returns when all nodes are
}

// strike takes the server away, at least for some time, and gives it back: for how
// long it was away, and how long its nodes took then.
func (s *storm) strike(b *testing.B, least time.Duration) (away, took time.Duration) {
	b.Helper()
	s.fleet.do(b, backendtest.FleetForgets)
	s.kill()
	killed := time.Now()
	<-time.After(least)
	s.start()
	up := time.Now()
	s.back()
	return up.Sub(killed), time.Since(up)
}

func newStorm(b *testing.B, nodes int) *storm {
	b.Helper()
	s := rig.NewServer(b, "ROCKPOOL_LOG_LEVEL=warn")
	owner, _ := s.NewUser(b, "storm", "storm")
	pool := "pool-" + owner
	order := backendtest.FleetOrder{Server: s.URL, Name: "storm", Licenses: []string{s.NewLicense(b, owner, int64(nodes))}, Nodes: nodes, Slots: 2}
	storm := &storm{fleet: startFleet(b, order), kill: func() { s.Kill(b) }, start: func() { s.Start(b) }}
	storm.back = func() { awaitLeases(b, s, pool, nodes, stormLimit) }
	storm.back()
	return storm
}

func newPlainStorm(b *testing.B, nodes int) *storm {
	b.Helper()
	_, address, end := startPlain(b, "127.0.0.1:0")
	b.Cleanup(func() { end() })
	order := backendtest.FleetOrder{Server: "http://" + address, Name: "plain", Licenses: []string{"none"}, Nodes: nodes, Slots: 2}
	storm := &storm{fleet: startFleet(b, order), kill: func() { end() }}
	storm.start = func() { _, _, end = startPlain(b, address) }
	storm.back = func() {
		rig.Await(b, stormLimit, func() (bool, string) {
			r := storm.fleet.do(b, backendtest.FleetReports)
			return r.Sessions >= nodes, fmt.Sprintf("%d of %d sessions; first troubles: %q", r.Sessions, nodes, r.Troubles)
		})
	}
	storm.back()
	return storm
}

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
// has dialed in vain waits longer. CPU time is the server's and PostgreSQL's until all
// are back. Run it with -benchtime=1x.
func BenchmarkStorm(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			for range b.N {
				const pairs = 3
				var ours, bare, past, own, other []time.Duration
				product, plain := newStorm(b, nodes), newPlainStorm(b, nodes)
				for range pairs {
					away, took := product.strike(b, 0)
					_, beside := plain.strike(b, away)
					ours, bare, past = append(ours, took), append(bare, beside), append(past, took-max(redialWindow, away))
					own, other = append(own, product.own), append(other, product.other)
				}
				o, p := middle(ours), middle(bare)
				b.ReportMetric(o.Seconds(), "server-s")
				b.ReportMetric(p.Seconds(), "bare-s")
				b.ReportMetric(o.Seconds()/p.Seconds(), "ratio")
				b.ReportMetric(middle(past).Seconds(), "past-window-s")
				b.ReportMetric(float64(middle(own).Microseconds())/float64(nodes), "server-µs/node")
				b.ReportMetric(float64(middle(other).Microseconds())/float64(nodes), "postgres-µs/node")
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
	whole       time.Time
	spent       func() (own, other time.Duration) // CPU time of the server and of its PostgreSQL
	own, other  time.Duration                     // of the last strike
}

// healthy is how long a session lives before its node waits anew as for the first time.
const healthy = time.Minute

// strike takes the server away once its nodes are healthy, at least for some time, and
// gives it back: for how long it was away, and how long its nodes took then.
func (s *storm) strike(b *testing.B, least time.Duration) (away, took time.Duration) {
	b.Helper()
	<-time.After(time.Until(s.whole.Add(healthy)))
	s.fleet.do(b, backendtest.FleetForgets)
	s.kill()
	killed := time.Now()
	<-time.After(least)
	s.start()
	up := time.Now()
	own, other := s.spent()
	s.ready()
	s.own, s.other = s.spent()
	s.own, s.other = s.own-own, s.other-other
	return up.Sub(killed), s.whole.Sub(up)
}

// ready returns when all nodes are back.
func (s *storm) ready() {
	s.back()
	s.whole = time.Now()
}

// awaitSessions waits until each node has opened a session.
func (f fleet) awaitSessions(b *testing.B, nodes int) {
	b.Helper()
	rig.Await(b, stormLimit, func() (bool, string) {
		r := f.do(b, backendtest.FleetReports)
		return r.Sessions >= nodes, fmt.Sprintf("%d of %d sessions; first troubles: %q", r.Sessions, nodes, r.Troubles)
	})
}

func newStorm(b *testing.B, nodes int) *storm {
	b.Helper()
	s := rig.NewServer(b, "ROCKPOOL_LOG_LEVEL=warn")
	owner, _ := s.NewUser(b, "storm", "storm")
	pool := "pool-" + owner
	order := backendtest.FleetOrder{Server: s.URL, Name: "storm", Licenses: []string{s.NewLicense(b, owner, int64(nodes))}, Nodes: nodes, Slots: 2}
	storm := &storm{fleet: startFleet(b, order), kill: func() { s.Kill(b) }, start: func() { s.Start(b) }}
	storm.back = func() {
		storm.fleet.awaitSessions(b, nodes) // an operator who asks all the time costs the server too
		awaitLeases(b, s, pool, nodes, stormLimit)
	}
	storm.spent = func() (own, other time.Duration) { return cpuOf(b, s.PID()), postgresTime(b, s) }
	storm.ready()
	return storm
}

func newPlainStorm(b *testing.B, nodes int) *storm {
	b.Helper()
	_, address, end := startPlain(b, "127.0.0.1:0")
	b.Cleanup(func() { end() })
	order := backendtest.FleetOrder{Server: "http://" + address, Name: "plain", Licenses: []string{"none"}, Nodes: nodes, Slots: 2}
	storm := &storm{fleet: startFleet(b, order), kill: func() { end() }}
	storm.start = func() { _, _, end = startPlain(b, address) }
	storm.back = func() { storm.fleet.awaitSessions(b, nodes) }
	storm.spent = func() (own, other time.Duration) { return 0, 0 }
	storm.ready()
	return storm
}

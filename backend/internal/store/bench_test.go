package store_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store/storetest"
)

// BenchmarkCommit is what a commit costs by its size: so many new jobs with their
// assignments, and then their ends. It prints the CPU time of a commit, of this
// process and of the writer's backend; jobs has the partitions of a server that has
// run for a month.
func BenchmarkCommit(b *testing.B) {
	for _, jobs := range []int{1, 4, 24, 300} {
		b.Run(strconv.Itoa(jobs), func(b *testing.B) { benchCommit(b, jobs) })
	}
}

func benchCommit(b *testing.B, jobs int) {
	h := newHouse(b, storetest.Slots(64))
	h.urls.Exec(b, "SELECT ensure_partitions(current_date - 30, current_date + 7)")
	nodes := []storetest.Node{h.node}
	for range 15 {
		nodes = append(nodes, storetest.InsertNode(b, h.db, h.user.ID, storetest.Slots(64)))
	}
	start, end := h.life(nodes, jobs)
	h.commit(start)
	h.commit(end)
	starts, ends := h.spent(), h.spent()
	for b.Loop() {
		start, end := h.life(nodes, jobs)
		starts.add(func() { h.commit(start) })
		ends.add(func() { h.commit(end) })
	}
	starts.report(b, "start")
	ends.report(b, "end")
}

// BenchmarkReturn is what a commit costs that opens the sessions of so many nodes,
// which say what they said before.
func BenchmarkReturn(b *testing.B) {
	for _, nodes := range []int{1, 10, 50} {
		b.Run(strconv.Itoa(nodes), func(b *testing.B) {
			h := newHouse(b)
			opened := &core.Effects{}
			for i := range nodes {
				if i > 0 {
					h.node = storetest.InsertNode(b, h.db, h.user.ID)
				}
				node := h.node
				opened.Sessions = append(opened.Sessions, core.SessionWrite{Node: node.ID, Epoch: 1000, Report: &node.Report})
				opened.Identities = append(opened.Identities, core.IdentityWrite{Node: node.ID, Identity: fleet.Identity{Current: storetest.Sum()}})
			}
			h.commit(opened)
			returns := h.spent()
			for b.Loop() {
				for i := range opened.Sessions {
					opened.Sessions[i].Epoch++
					opened.Identities[i].Identity.Pending = []fleet.Sum{storetest.Sum()}
				}
				returns.add(func() { h.commit(opened) })
			}
			returns.report(b, "return")
		})
	}
}

// life is what is committed of jobs when they start and when they end.
func (h *house) life(nodes []storetest.Node, jobs int) (start, end *core.Effects) {
	start, end = &core.Effects{}, &core.Effects{}
	for i := range jobs {
		h.node = nodes[i%len(nodes)]
		made := h.submit(start, 1)
		start.Inserts[i].Spec.Params = []fleet.Label{{Name: "threads", Value: "1"}}
		h.finish(end, made...)
	}
	return start, end
}

// spent adds up time: wall, this process's CPU and a backend's.
type spent struct {
	backend              int
	wall, self, postgres time.Duration
	rounds               int
}

// spent begins to add up; the writer has its connection.
func (h *house) spent() spent {
	h.t.Helper()
	return spent{backend: storetest.Query[int](h.t, h.urls, "SELECT max(pid) FROM pg_stat_activity WHERE application_name = 'rockpool writer' AND datname = current_database()")}
}

func (s *spent) add(fn func()) {
	postgres, self, start := cpuOf(s.backend), cpuSelf(), time.Now()
	fn()
	s.wall += time.Since(start)
	s.self += cpuSelf() - self
	s.postgres += cpuOf(s.backend) - postgres
	s.rounds++
}

func (s *spent) report(b *testing.B, name string) {
	micros := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(s.rounds) }
	b.ReportMetric(micros(s.wall), name+"-µs")
	b.ReportMetric(micros(s.self), name+"-go-cpu-µs")
	b.ReportMetric(micros(s.postgres), name+"-pg-cpu-µs")
}

func cpuSelf() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpuOf is the CPU time of a process of one thread on this machine; otherwise 0.
func cpuOf(pid int) time.Duration {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/schedstat")
	ran, _, _ := strings.Cut(string(data), " ")
	n, _ := strconv.ParseInt(ran, 10, 64)
	return time.Duration(n)
}

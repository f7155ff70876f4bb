package load

import (
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// BenchmarkIdle is the memory of a server that has nothing to do and is watched: one
// that was set up before and has started again; beside the plain one, and that of an
// agent. The profile of its heap comes after: writing one reads the program's tables,
// which are resident from then on. Run it with -benchtime=1x.
func BenchmarkIdle(b *testing.B) {
	for range b.N {
		s := rig.NewServer(b)
		user, _ := s.NewUser(b, "idle", "idle")
		license := s.NewLicense(b, user, 1)
		s.Stop(b)
		s.Start(b)
		ours, bare := &target{pid: s.PID(), debug: s.DebugURL()}, plain(b, 1)
		server, beside := ours.watched(b), bare.watched(b)
		profiled := ours.measure(b)
		agent := rig.NewAgent(b, s, rig.AgentOptions{Name: "idle", License: license, Slots: 1, More: `builtins = ["checksum"]`})
		node := &target{pid: agent.PID()}
		const mib = 1 << 20
		b.ReportMetric(profiled.heap/mib, "heap-MiB")
		b.ReportMetric(profiled.resident/mib, "profiled-MiB")
		b.ReportMetric(server/mib, "server-MiB")
		b.ReportMetric(beside/mib, "plain-MiB")
		b.ReportMetric(server/beside, "ratio")
		b.ReportMetric(node.resident(b)/mib, "agent-MiB")
		b.ReportMetric(0, "ns/op")
	}
}

// watched is what is resident once the metrics were read some times.
func (t *target) watched(b *testing.B) float64 {
	b.Helper()
	for range 3 {
		rig.MetricAt(b, t.debug+"/metrics", "go_memstats_heap_alloc_bytes")
	}
	return t.resident(b)
}

func (t *target) resident(b *testing.B) float64 {
	b.Helper()
	resident, err := backendtest.Resident(t.pid)
	if err != nil {
		b.Fatal(err)
	}
	return float64(resident)
}

package load

import (
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// BenchmarkIdle is the memory of a server that has nothing to do, beside the plain
// one, and that of an agent. Run it with -benchtime=1x.
func BenchmarkIdle(b *testing.B) {
	for range b.N {
		s := rig.NewServer(b)
		user, _ := s.NewUser(b, "idle", "idle")
		product := (&target{pid: s.PID(), debug: s.DebugURL()}).measure(b)
		bare := plain(b, 1).measure(b)
		agent := rig.NewAgent(b, s, rig.AgentOptions{Name: "idle", License: s.NewLicense(b, user, 1), Slots: 1, More: `builtins = ["checksum"]`})
		resident, err := backendtest.Resident(agent.PID())
		if err != nil {
			b.Fatal(err)
		}
		const mib = 1 << 20
		b.ReportMetric(product.heap/mib, "heap-MiB")
		b.ReportMetric(product.resident/mib, "server-MiB")
		b.ReportMetric(bare.resident/mib, "plain-MiB")
		b.ReportMetric(product.resident/bare.resident, "ratio")
		b.ReportMetric(float64(resident)/mib, "agent-MiB")
		b.ReportMetric(0, "ns/op")
	}
}

package load

import (
	"testing"

	"rockpool/tests/rig"
)

// BenchmarkIdleServer is the memory of a server that has nothing to do, beside the
// plain one. Run it with -benchtime=1x.
func BenchmarkIdleServer(b *testing.B) {
	for range b.N {
		s := rig.NewServer(b)
		product := (&target{pid: s.PID(), debug: s.DebugURL()}).measure(b)
		bare := plain(b, 1).measure(b)
		const mib = 1 << 20
		b.ReportMetric(product.heap/mib, "heap-MiB")
		b.ReportMetric(product.resident/mib, "resident-MiB")
		b.ReportMetric(bare.resident/mib, "plain-resident-MiB")
		b.ReportMetric(product.resident/bare.resident, "ratio")
		b.ReportMetric(0, "ns/op")
	}
}

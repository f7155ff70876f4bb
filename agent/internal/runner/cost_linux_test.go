package runner

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// BenchmarkJobs is what a job costs that is one short process, four at a time, beside
// what bare fork and exec costs.
func BenchmarkJobs(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		began := cpuTime(b)
		for range b.N {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
		reportCPU(b, began)
	})
	b.Run("control groups", func(b *testing.B) { benchmarkJobs(b, true) })
	b.Run("none", func(b *testing.B) { benchmarkJobs(b, false) })
}

func reportCPU(b *testing.B, began time.Duration) {
	b.Helper()
	b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/job")
}

func benchmarkJobs(b *testing.B, cgroups bool) {
	b.Helper()
	book, err := NewBook([]Spec{{Name: "nothing", Argv: []string{"/bin/true"}}}, Builtins{}, "cpu", os.Environ())
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan Done, 4)
	set, err := New(Config{Book: book, Dir: filepath.Join(b.TempDir(), "jobs"), StopGrace: time.Second, Log: slog.New(slog.DiscardHandler), Done: func(d Done) { ended <- d }})
	if err != nil {
		b.Fatal(err)
	}
	if !cgroups {
		set.cgroups = nil
	} else if set.cgroups == nil {
		b.Skip("this machine gives no control groups")
	}
	began := cpuTime(b)
	b.ResetTimer()
	for n := range b.N {
		if n >= 4 {
			<-ended
		}
		ref := nodecore.Ref{Job: ids.JobID{13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}, Attempt: 1}
		set.Start(ref, wire.Offer{Job: ref.Job.String(), Attempt: 1, App: "cam", Runner: "nothing"})
	}
	for range min(b.N, 4) {
		if d := <-ended; d.Result.Status != wire.ResultSucceeded {
			b.Fatal(d.Result)
		}
	}
	b.StopTimer()
	reportCPU(b, began)
	set.Close(time.Second)
}

// cpuTime is what this process and the children that it has waited for took.
func cpuTime(b *testing.B) (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

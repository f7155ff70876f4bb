package scenario_test

import (
	"runtime/debug"
	"syscall"
	"testing"

	"rockpool/backend/internal/sim"
	"rockpool/backend/internal/sim/scenario"
	"rockpool/tests/scenarios"
)

const large = `
title = "10,000 nodes with jittered heartbeats, and 500 jobs a second"
seed = 1
duration = "2m"
[[app]]
id = "a"
owner = 1
[[nodes]]
id = "n"
count = 10000
owner = 1
slots = 2
joins = "10s"
[[demand]]
app = "a"
from = "20s"
rate = 500
run = "4s"
[[expect]]
counter = "jobs.succeeded"
min = 45000
`

// BenchmarkFleet10k prints how much faster than real time the large fleet runs, and
// how many events that is in a second of this machine.
func BenchmarkFleet10k(b *testing.B) {
	sc, err := scenario.Parse(scenarios.FS, "large", []byte(large))
	if err != nil {
		b.Fatal(err)
	}
	var virtual, events int64
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command does
	before := processorTime(b)
	for b.Loop() {
		r := sim.Run(sc, 1)
		if !r.OK() {
			b.Fatal(r.Failure.Error())
		}
		virtual += r.Duration
		events += int64(r.Events)
	}
	took, cpu := b.Elapsed().Seconds(), processorTime(b)-before
	b.ReportMetric(float64(virtual)/1000/took, "x-real-time")
	b.ReportMetric(float64(virtual)/1000/cpu, "x-cpu-time")
	b.ReportMetric(float64(events)/took, "events/s")
}

// processorTime is what this process has used, in seconds: on a machine that others
// use too it says more than the clock.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

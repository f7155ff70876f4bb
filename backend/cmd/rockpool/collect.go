package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How much garbage may lie about, in percent of what is in use. A job is mostly
// garbage: requests, rows, frames. Next to them little is in use, so that
// collecting at Go's own 100 costs a fifth of the server's CPU time for the sake of
// a few MiB. With a million jobs that wait it is gigabytes that three times as much
// would be added to: there garbage has garbageRoom, and leastGC where that is less,
// for a collection walks through all that is in use. GOGC overrules all of it.
const (
	mostGC      = 300
	leastGC     = 75
	garbageRoom = 128 << 20 // bytes
)

// gcPercentOf is the percentage for so many bytes in use.
func gcPercentOf(live uint64) int {
	if live == 0 {
		return mostGC
	}
	return int(min(max(garbageRoom*100/live, leastGC), mostGC))
}

// collectByHeap sets the percentage, and again after each collection.
func collectByHeap() {
	debug.SetGCPercent(mostGC)
	(&collector{percent: mostGC}).await()
}

// collector follows the heap.
type collector struct{ percent int }

// await has turn called after the next collection: nothing refers to the beacon
// that it finds.
func (c *collector) await() {
	beacon := &struct{ of *collector }{c}
	runtime.AddCleanup(beacon, (*collector).turn, c)
}

func (c *collector) turn() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		if percent := gcPercentOf(live[0].Value.Uint64()); percent != c.percent {
			c.percent = percent
			debug.SetGCPercent(percent)
		}
	}
	c.await()
}

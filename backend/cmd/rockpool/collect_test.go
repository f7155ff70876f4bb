package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestGCPercent_LessTheMoreIsInUse(t *testing.T) {
	for live, want := range map[uint64]int{0: 300, 20 << 20: 300, 64 << 20: 200, 128 << 20: 100, 2 << 30: 75} {
		if got := gcPercentOf(live); got != want {
			t.Errorf("%d MiB in use: %d percent, want %d", live>>20, got, want)
		}
	}
}

// After a collection the percentage is that of what the collection left.
func TestCollectByHeap_FollowsTheHeap(t *testing.T) {
	before := debug.SetGCPercent(mostGC)
	kept := make([]byte, 256<<20)
	c := &collector{percent: mostGC}
	c.await()
	until := time.Now().Add(time.Minute)
	for percent() == mostGC {
		if time.Now().After(until) {
			t.Fatalf("garbage is collected at %d percent", percent())
		}
		runtime.GC()
	}
	runtime.KeepAlive(kept)
	debug.SetGCPercent(before)
}

func percent() int {
	now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	return int(now[0].Value.Uint64())
}

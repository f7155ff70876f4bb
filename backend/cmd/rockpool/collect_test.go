package main

import (
	"runtime"
	"runtime/debug"
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
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	kept := make([]byte, 256<<20)
	c := &collector{percent: mostGC}
	c.await()
	until := time.Now().Add(30 * time.Second)
	for percent := mostGC; percent == mostGC; {
		if time.Now().After(until) {
			t.Fatal("the percentage is as it was")
		}
		runtime.GC()
		percent = debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
	}
	runtime.KeepAlive(kept)
}

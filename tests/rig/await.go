package rig

import (
	"testing"
	"time"
)

// Await asks until the answer is yes, and fails with the last state after limit.
func Await(t testing.TB, limit time.Duration, ask func() (done bool, state string)) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, state := ask()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v; last: %s", limit, state)
		}
		<-tick.C
	}
}

package rig

import (
	"testing"
	"time"
)

// Await asks until the answer is yes, and fails with the last state after limit. The
// longer it takes, the less often it asks: each question costs the machine that is
// waited for, and most tests wait beside others.
func Await(t testing.TB, limit time.Duration, ask func() (done bool, state string)) {
	t.Helper()
	for began := time.Now(); ; {
		done, state := ask()
		if done {
			return
		}
		waited := time.Since(began)
		if waited > limit {
			t.Fatalf("not within %v; last: %s", limit, state)
		}
		<-time.After(min(max(waited/20, 20*time.Millisecond), 200*time.Millisecond))
	}
}

package backoff

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func fixed(f float64) func() float64 { return func() float64 { return f } }

func TestNext_WindowThenCurveThenCap(t *testing.T) {
	var r Redial
	almostOne := fixed(0.999999)
	for i, want := range []time.Duration{
		8 * time.Second, // the window
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		30 * time.Second, 30 * time.Second,
	} {
		if got := r.Next(8*time.Second, 0, almostOne); got > want || got < want-want/1000 {
			t.Errorf("wait %d: %v, want just under %v", i, got, want)
		}
	}
	if got := (&Redial{}).Next(0, 0, fixed(0.5)); got != DefaultWindow/2 {
		t.Errorf("without a window: %v", got)
	}
}

func TestEnded_OnlyHealthStartsAnew(t *testing.T) {
	var r Redial
	for range 5 {
		r.Next(time.Second, 0, fixed(0.5))
	}
	r.Ended(Healthy - 1)
	if got := r.Next(time.Second, 0, fixed(0.5)); got != 4*time.Second {
		t.Errorf("after a short session: %v, want half of 8 s", got)
	}
	r.Ended(Healthy)
	if got := r.Next(time.Second, 0, fixed(0.5)); got != 500*time.Millisecond {
		t.Errorf("after a healthy session: %v, want half the window", got)
	}
}

func TestNext_RetryAfterIsAFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Redial{failures: rapid.IntRange(0, 1<<40).Draw(t, "failures")}
		floor := time.Duration(rapid.Int64Range(-1, int64(2*time.Hour)).Draw(t, "floor"))
		window := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "window"))
		got := r.Next(window, floor, fixed(rapid.Float64Range(0, 0.999999).Draw(t, "random")))
		if got < max(floor, 0) || got > max(floor, 0)+max(Cap, window) {
			t.Fatalf("waits %v with a floor of %v", got, floor)
		}
	})
}

package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"rockpool/backend/internal/store"
)

func TestFlow_HoldsBackWhatWouldBeTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlow(10)
		if err := f.admit(t.Context(), 25); err != nil { // nothing else is open
			t.Fatal(err)
		}
		in := make(chan error, 1)
		go func() { in <- f.admit(t.Context(), 6) }()
		for _, done := range []int{5, 20} { // 20 and 5 are open
			f.ended(done)
			synctest.Wait()
			if len(in) != 0 {
				t.Fatalf("6 jobs went in after %d of 25", done)
			}
		}
		f.endedOne()
		synctest.Wait()
		if len(in) != 1 || <-in != nil {
			t.Fatal("6 jobs did not go in beside 4")
		}
		if accepted, done := f.counts(); accepted != 31 || done != 21 {
			t.Errorf("%d accepted, %d done", accepted, done)
		}
	})
}

func TestFlow_EndsWithItsCause(t *testing.T) {
	f := newFlow(1)
	if err := f.admit(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := f.admit(ctx, 1); !errors.Is(err, cause) {
		t.Errorf("admitted with %v", err)
	}
}

func TestBooks_AgreeOrSayWhatDoesNot(t *testing.T) {
	good := func() Books {
		return Books{Accepted: 10, Stored: 7, Ledger: store.Ledger{States: map[string]int64{"succeeded": 7, "queued": 3}, Ended: 7}}
	}
	if err := good().agree(); err != nil {
		t.Fatalf("books that agree: %v", err)
	}
	for what, spoil := range map[string]func(*Books){
		"a job that nobody accepted":                          func(b *Books) { b.States["queued"]++ },
		"a job that vanished":                                 func(b *Books) { b.States["queued"]-- },
		"a job that was lost, and another that nobody posted": func(b *Books) { b.IDs++ },
		"a job that still runs":                               func(b *Books) { b.States["queued"]--; b.States["offered"]++ },
		"a job that failed":                                   func(b *Books) { b.States["succeeded"]--; b.States["failed"]++ },
		"a slot that is still reserved":                       func(b *Books) { b.Reserved = 1 },
		"an end without a result":                             func(b *Books) { b.Resultless = 1 },
		"a result that was not counted":                       func(b *Books) { b.Stored-- },
		"a result too many":                                   func(b *Books) { b.Stored++ },
	} {
		b := good()
		spoil(&b)
		if b.agree() == nil {
			t.Errorf("%s is not seen", what)
		}
	}
}

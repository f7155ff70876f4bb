package backend

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestAnswering_EndsWhenTheDatabaseIsAwayAndBeginsAnew(t *testing.T) {
	var a answering
	a.tell(true, time.Now())
	first := a.now()
	a.tell(false, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if why := context.Cause(first); why == nil || !strings.Contains(why.Error(), "fleet frozen since 2026-01-02T03:04:05Z") {
		t.Errorf("away: %v", why)
	}
	if context.Cause(a.now()) == nil {
		t.Error("who asks while it is away is not told")
	}
	if a.tell(true, time.Now()); context.Cause(a.now()) != nil {
		t.Error("it is back, and nobody is told")
	}
}

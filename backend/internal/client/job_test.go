package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rockpool/backend/internal/rest"
)

// fakeJob ends at a moment of the virtual clock and holds answers like the
// server does, if it holds them at all.
type fakeJob struct {
	start, ends time.Time
	holds       bool
	polls       int
}

func (f *fakeJob) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.polls++
	if text := r.URL.Query().Get("wait"); f.holds && text != "" {
		hold, err := time.ParseDuration(text)
		if err != nil {
			answer(w, 400, rest.ProblemType, `{"code": "bad_request"}`)
			return
		}
		pause(r.Context(), min(hold, time.Until(f.ends)))
	}
	state := "queued"
	if !time.Now().Before(f.ends) {
		state = "succeeded"
	}
	answer(w, 200, "application/json", strings.Replace(jobDocument, "queued", state, 1))
}

func TestWaitJob(t *testing.T) {
	for name, c := range map[string]struct {
		endsIn, limit time.Duration
		holds         bool
		took          time.Duration
		ended         bool
		maxPolls      int
	}{
		"ended before":                  {0, time.Minute, true, 0, true, 1},
		"ends within one poll":          {7 * time.Second, time.Minute, true, 7 * time.Second, true, 2},
		"ends after several polls":      {100 * time.Second, 5 * time.Minute, true, 100 * time.Second, true, 5},
		"does not end":                  {time.Hour, 45 * time.Second, true, 45 * time.Second, false, 3},
		"short":                         {time.Hour, 1500 * time.Nanosecond, true, 1500 * time.Nanosecond, false, 3},
		"server that does not hold":     {3 * time.Second, time.Minute, false, 3 * time.Second, true, 20},
		"does not hold and not end":     {time.Hour, 3 * time.Second, false, 3 * time.Second, false, 20},
		"a limit in the past: one look": {time.Hour, -time.Second, true, 0, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				fake := &fakeJob{start: start, ends: start.Add(c.endsIn), holds: c.holds}
				job, err := memoryClient(t, fake.ServeHTTP).WaitJob(t.Context(), "j1", c.limit)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != c.took || Ended(job) != c.ended || fake.polls > c.maxPolls {
					t.Errorf("%s after %v and %d polls, want ended %v after %v, at most %d polls", job.State, took, fake.polls, c.ended, c.took, c.maxPolls)
				}
			})
		})
	}
}

func TestWaitJob_EndsWithItsContext(t *testing.T) {
	for _, holds := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			fake := &fakeJob{ends: time.Now().Add(time.Hour), holds: holds}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := memoryClient(t, fake.ServeHTTP).WaitJob(ctx, "j1", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("holds %v: got %v", holds, err)
			}
		})
	}
}

func TestJobStates(t *testing.T) {
	exhausted := "pool_exhausted"
	for state, want := range map[string]struct{ ended, succeeded bool }{
		"queued": {}, "offered": {}, "running": {}, "canceling": {}, "of a later release": {},
		"succeeded": {true, true}, "failed": {true, false}, "timed_out": {true, false},
		"canceled": {true, false}, "expired": {true, false}, "dead": {true, false},
	} {
		job := rest.Job{State: state}
		if Ended(job) != want.ended || Succeeded(job) != want.succeeded || NotPlaced(job) {
			t.Errorf("%s: ended %v, succeeded %v", state, Ended(job), Succeeded(job))
		}
	}
	if !NotPlaced(rest.Job{State: "queued", Reason: &exhausted}) {
		t.Error("a job whose pool is exhausted counts as placed")
	}
}

func TestMoveNode_SendsTheVersion(t *testing.T) {
	for version, want := range map[int64]string{0: "", 17: `"17"`} {
		client := memoryClient(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-Match") != want {
				t.Errorf("%d: If-Match is %s", version, r.Header.Get("If-Match"))
			}
			answer(w, 200, "application/json", `{"node": "n1", "from": "pool-7", "to": "unassigned", "applied": true}`)
		})
		if moved, err := client.MoveNode(t.Context(), "n1", rest.MoveRequest{Pool: "unassigned"}, version); err != nil || moved.From != "pool-7" {
			t.Errorf("got %+v, %v", moved, err)
		}
	}
}

func TestSetup_IsNotSentInTheClear(t *testing.T) {
	c, err := New(Options{Server: "http://fleet.example", Transport: inMemory(func(http.ResponseWriter, *http.Request) {
		t.Error("the setup token was sent")
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Setup(t.Context(), rest.SetupRequest{SetupToken: "rps_x"}); !errors.Is(err, ErrPlainHTTP) {
		t.Errorf("got %v", err)
	}
}

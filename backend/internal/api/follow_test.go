package api

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// nodeLogs stands for the sessions: what is put into it is shown to who follows.
type nodeLogs struct {
	mu     sync.Mutex
	follow func(ctx context.Context, from int64, show func(int64, []byte) error) error
}

func (l *nodeLogs) Follow(ctx context.Context, _ string, _ ids.JobID, _ int32, from int64, show func(int64, []byte) error) error {
	l.mu.Lock()
	follow := l.follow
	l.mu.Unlock()
	if follow == nil {
		return nil
	}
	return follow(ctx, from, show)
}

func (l *nodeLogs) set(follow func(context.Context, int64, func(int64, []byte) error) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow = follow
}

// runs puts Ann's job onto a node, or ends it when its attempt is 0.
func (w *world) runs(state fleet.JobState, attempt int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live = map[ids.JobID]core.JobView{}
	if attempt > 0 {
		w.live[jobIDOf(ann)] = core.JobView{ID: jobIDOf(ann), State: state, Attempt: attempt, Node: "node-7"}
	}
}

func (w *world) keep(log *record.JobLog) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = log
}

// logServed is where the log of Ann's job is followed over a real connection.
func logServed(t *testing.T, w *world) string {
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	return server.URL + "/v1/jobs/" + jobIDOf(ann).String() + "/log?follow=true"
}

func (w *world) openLog(t *testing.T, ctx context.Context, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.secrets[userText(ann)].Text)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestFollow_ShowsTheLogFromItsBeginningToItsEnd(t *testing.T) {
	w := newWorld(t)
	w.runs(fleet.JobQueued, 1)
	step := make(chan func(show func(int64, []byte) error) error)
	w.logs.set(func(ctx context.Context, _ int64, show func(int64, []byte) error) error {
		for {
			select {
			case do, more := <-step:
				if !more {
					return nil
				}
				if err := do(show); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	answer := w.openLog(t, t.Context(), logServed(t, w))
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != 200 || kind != "text/plain; charset=UTF-8" {
		t.Fatalf("answered %d %s while the job waits", answer.StatusCode, kind)
	}
	w.runs(fleet.JobRunning, 1)
	lines := bufio.NewReader(answer.Body)
	for i, want := range []string{"one\n", "two\n"} {
		step <- func(show func(int64, []byte) error) error { return show(int64(4*i), []byte(want)) }
		if got, err := lines.ReadString('\n'); got != want {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	step <- func(show func(int64, []byte) error) error { return show(100, []byte("far\n")) }
	w.keep(&record.JobLog{Attempt: 1, Head: []byte("one\ntwo\n"), Tail: []byte("far\nthe end\n"), Bytes: 112})
	w.runs(0, 0)
	close(step)
	rest, err := io.ReadAll(lines)
	if want := "\n[rockpool: 92 bytes are not kept]\nfar\nthe end\n"; string(rest) != want || err != nil {
		t.Errorf("the rest is %q, %v, want %q", rest, err, want)
	}
}

func TestFollow_OfAJobThatHasEndedIsItsStoredLog(t *testing.T) {
	w := newWorld(t)
	w.keep(&record.JobLog{Attempt: 2, Head: []byte("head\n"), Tail: []byte("tail\n"), Bytes: 1010})
	got := w.asUser(ann, "GET", "/v1/jobs/"+jobIDOf(ann).String()+"/log?follow=true", "")
	if want := "head\n\n[rockpool: 1000 bytes are not kept]\ntail\n"; got.Code != 200 || got.Body.String() != want {
		t.Errorf("%d %q", got.Code, got.Body)
	}
	w.keep(nil)
	if got := w.asUser(ann, "GET", "/v1/jobs/"+jobIDOf(ann).String()+"/log?follow=true", ""); got.Code != 200 || got.Body.Len() != 0 {
		t.Errorf("without a result: %d %q", got.Code, got.Body)
	}
}

func TestFollow_EndsWithItsAttempt(t *testing.T) {
	w := newWorld(t)
	w.runs(fleet.JobRunning, 1)
	w.logs.set(func(_ context.Context, from int64, show func(int64, []byte) error) error {
		w.runs(fleet.JobQueued, 1)
		return show(from, []byte("died"))
	})
	got := w.asUser(ann, "GET", "/v1/jobs/"+jobIDOf(ann).String()+"/log?follow=true", "")
	if want := "died\n[rockpool: attempt 1 is over; follow again for the next one]\n"; got.Body.String() != want {
		t.Errorf("%q", got.Body)
	}
}

func TestFollow_HasTheRightsOfTheLog(t *testing.T) {
	w := newWorld(t)
	path := "/v1/jobs/" + jobIDOf(ann).String() + "/log?follow=true"
	if got := w.asUser(bob, "GET", path, ""); got.Code != 404 {
		t.Errorf("another user: %d", got.Code)
	}
	if got := w.ask("", "GET", path, ""); got.Code != 401 {
		t.Errorf("nobody: %d", got.Code)
	}
	if got := w.asUser(ann, "GET", path+"1", ""); got.Code != 400 {
		t.Errorf("follow=true1: %d", got.Code)
	}
}

// The end of a log that is cut must not be taken for its end.
func TestFollow_IsCutWhenTheServerStops(t *testing.T) {
	w := newWorld(t)
	w.runs(fleet.JobRunning, 1)
	w.logs.set(func(_ context.Context, from int64, show func(int64, []byte) error) error {
		w.mu.Lock()
		w.down = fleet.Errorf(fleet.CodeUnavailable, "the server is stopping")
		w.mu.Unlock()
		return show(from, []byte("some"))
	})
	got, err := io.ReadAll(w.openLog(t, t.Context(), logServed(t, w)).Body)
	if string(got) != "some" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFollow_ClientsAreBoundedAndCounted(t *testing.T) {
	w := newWorld(t)
	w.runs(fleet.JobRunning, 1)
	w.logs.set(func(ctx context.Context, _ int64, _ func(int64, []byte) error) error {
		<-ctx.Done()
		return ctx.Err()
	})
	url := logServed(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	for range followJob {
		if answer := w.openLog(t, ctx, url); answer.StatusCode != 200 {
			t.Fatalf("answered %d", answer.StatusCode)
		}
	}
	answer := w.openLog(t, t.Context(), url)
	problem, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != 429 || answer.Header.Get("Retry-After") == "" || !strings.Contains(string(problem), "rate_limited") {
		t.Errorf("one more: %d %s", answer.StatusCode, problem)
	}
	cancel()
	overdue := time.Now().Add(time.Minute)
	for left := followJob; left > 0; {
		if time.Now().After(overdue) {
			t.Fatalf("%d clients that are gone are counted still", left)
		}
		w.follows.mu.Lock()
		left = w.follows.all + len(w.follows.job)
		w.follows.mu.Unlock()
	}
}

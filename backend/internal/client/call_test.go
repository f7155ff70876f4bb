package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rockpool/backend/internal/rest"
)

const jobDocument = `{"id": "j1", "app": "cam-7", "state": "queued", "createdAt": "2026-11-29T15:04:05.123Z", "links": {}}`

func memoryClient(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	c, err := New(Options{Server: "http://127.0.0.1:8700", Token: "rp_secret", Transport: inMemory(handler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func unavailable(w http.ResponseWriter, after string) {
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	answer(w, 503, rest.ProblemType, `{"status": 503, "code": "unavailable", "detail": "the database is away", "requestId": "r1"}`)
}

func TestRetry_OnlyWhatMayBeRepeated(t *testing.T) {
	get := func(ctx context.Context, c *Client) error { _, err := c.Job(ctx, "j1"); return err }
	submit := func(key string) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error {
			_, err := c.SubmitJob(ctx, rest.JobRequest{App: "cam-7", Runner: "noop"}, key)
			return err
		}
	}
	move := func(ctx context.Context, c *Client) error {
		_, err := c.MoveNode(ctx, "n1", rest.MoveRequest{Pool: "default"}, 3)
		return err
	}
	for name, c := range map[string]struct {
		call  func(context.Context, *Client) error
		after string // Retry-After
		bad   int    // answers of 503 before the good one
		tries int
		took  time.Duration
		ok    bool
	}{
		"get":                      {get, "2", 1, 2, 2 * time.Second, true},
		"get, three times":         {get, "2", 3, 4, 6 * time.Second, true},
		"get, bounded":             {get, "1", 99, maxTries, 3 * time.Second, false},
		"get, long pauses are cut": {get, "3600", 1, 2, maxPause, true},
		"get without Retry-After":  {get, "", 1, 1, 0, false},
		"get, senseless header":    {get, "soon", 1, 1, 0, false},
		"get, a date that is over": {get, "Thu, 21 Oct 1999 07:28:00 GMT", 1, 2, 0, true},
		"post with a key":          {submit("k1"), "1", 2, 3, 2 * time.Second, true},
		"post without a key":       {submit(""), "1", 1, 1, 0, false},
		"put":                      {move, "1", 1, 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries, bodies := 0, map[string]bool{}
				client := memoryClient(t, func(w http.ResponseWriter, r *http.Request) {
					tries++
					if r.Body != nil {
						body, _ := io.ReadAll(r.Body)
						bodies[string(body)+r.Header.Get(rest.HeaderIdempotencyKey)] = true
					}
					if tries <= c.bad {
						unavailable(w, c.after)
						return
					}
					answer(w, 200, "application/json", jobDocument)
				})
				start := time.Now()
				err := c.call(t.Context(), client)
				if took := time.Since(start); tries != c.tries || took != c.took || (err == nil) != c.ok {
					t.Errorf("%d tries in %v, %v; want %d in %v, ok %v", tries, took, err, c.tries, c.took, c.ok)
				}
				if len(bodies) > 1 {
					t.Errorf("the tries differ: %v", bodies)
				}
				if problem := (*Problem)(nil); !c.ok && (!errors.As(err, &problem) || problem.Code != "unavailable") {
					t.Errorf("the refusal is lost: %v", err)
				}
			})
		})
	}
}

func TestRetry_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := memoryClient(t, func(w http.ResponseWriter, _ *http.Request) { unavailable(w, "8") })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if _, err := client.Job(ctx, "j1"); err == nil || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestCall_SilentServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := memoryClient(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		start := time.Now()
		_, err := client.Job(t.Context(), "j1")
		if !errors.Is(err, errSilent) || time.Since(start) != callTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestRefusal_IsAProblemOrAStatus(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		kind, body string
		code       string // of a Problem; empty: a StatusError
		requestID  string
	}{
		"problem":               {403, rest.ProblemType, `{"code": "forbidden", "detail": "no", "requestId": "r7"}`, "forbidden", "r7"},
		"problem with charset":  {404, rest.ProblemType + "; charset=utf-8", `{"code": "not_found"}`, "not_found", "from-header"},
		"a proxy's page":        {502, "text/html", "<html>bad gateway</html>", "", "from-header"},
		"plain json":            {500, "application/json", `{"code": "internal"}`, "", "from-header"},
		"damaged problem":       {500, rest.ProblemType, `{"code": `, "", "from-header"},
		"problem without code":  {500, rest.ProblemType, `{}`, "", "from-header"},
		"no content type":       {500, "", "", "", "from-header"},
		"redirect as a problem": {301, "text/plain", "", "", "from-header"},
	} {
		t.Run(name, func(t *testing.T) {
			client := memoryClient(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(rest.HeaderRequestID, "from-header")
				answer(w, c.status, c.kind, c.body)
			})
			_, err := client.Job(t.Context(), "j1")
			problem, status := (*Problem)(nil), (*StatusError)(nil)
			switch {
			case errors.As(err, &problem):
				if problem.Code != c.code || problem.RequestID != c.requestID {
					t.Errorf("got %+v", problem)
				}
			case errors.As(err, &status):
				if c.code != "" || status.Status != c.status || status.RequestID != c.requestID {
					t.Errorf("got %+v", status)
				}
			default:
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnswer_MustBeTheDocument(t *testing.T) {
	client := memoryClient(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, "text/html", "<html>welcome to my router</html>")
	})
	if _, err := client.Job(t.Context(), "j1"); err == nil || !strings.Contains(err.Error(), "is it another server?") {
		t.Errorf("got %v", err)
	}
}

func TestReady_SaysWhyNot(t *testing.T) {
	for status, body := range map[int]string{200: `{"status": "ok"}`, 503: `{"status": "standby", "detail": "held by a"}`} {
		client := memoryClient(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				t.Errorf("asked %s", r.URL)
			}
			answer(w, status, "application/json", body)
		})
		health, err := client.Ready(t.Context())
		if want := map[int]string{200: "ok", 503: "standby"}[status]; err != nil || health.Status != want {
			t.Errorf("%d: %+v, %v", status, health, err)
		}
	}
}

func TestAll_FollowsThePages(t *testing.T) {
	pages := map[string]string{
		"":   `{"items": [{"id": "a"}, {"id": "b"}], "nextPageToken": "t1"}`,
		"t1": `{"items": [{"id": "c"}], "nextPageToken": ""}`,
	}
	client := memoryClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("pageSize") != "2" {
			t.Errorf("the page's size is lost: %s", r.URL)
		}
		answer(w, 200, "application/json", pages[r.URL.Query().Get("pageToken")])
	})
	got, err := All(t.Context(), client.Apps, Page{Limit: 2})
	if err != nil || len(got.Items) != 3 || got.Items[2].ID != "c" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAll_EndsOnAPageThatNamesItself(t *testing.T) {
	client := memoryClient(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, "application/json", `{"items": [], "nextPageToken": "again"}`)
	})
	if _, err := All(t.Context(), client.Apps, Page{}); err == nil {
		t.Error("no error")
	}
}

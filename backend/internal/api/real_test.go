package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/dispatch"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
	"rockpool/backend/internal/view"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// server is the API over a real database and a real dispatch loop.
type server struct {
	t         testing.TB
	urls      storetest.URLs
	db        *store.DB
	loop      *dispatch.Loop
	offers    offers
	http      *httptest.Server
	*contract // of every answer
}

// offers gets the offers to nodes, as far as it has room; there are no sessions here.
type offers chan core.Send

func (o offers) Deliver(sends []core.Send) {
	for _, send := range sends {
		if send.Kind != core.SendOffer {
			continue
		}
		select {
		case o <- send:
		default:
		}
	}
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{t: t, urls: storetest.NewURLs(t), offers: make(offers, 1)}
	s.db = storetest.Open(t, s.urls.Server)
	shard, err := s.db.AcquireShard(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	clock, log := dispatch.NewClock(), slog.New(slog.NewTextHandler(io.Discard, nil))
	writer := store.NewWriter(s.db, shard.Epoch(), clock.WallAt)
	s.loop = dispatch.New(dispatch.Config{
		Core: core.Config{
			Heartbeat: 10_000, Suspect: 25_000, Lost: 60_000, OfferTimeout: 10_000, CancelSlack: 30_000, DefaultGrace: 10_000, AvoidFor: 60_000,
		},
		Clock: clock, Logger: log, Fenced: func(err error) bool { return errors.Is(err, store.ErrFenced) },
	}, s.db, writer, s.offers)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.loop.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the loop ended with %v", err)
		}
		writer.Close()
		if err := shard.Release(context.Background()); err != nil {
			t.Errorf("release the shard: %v", err)
		}
	})
	<-s.loop.Ready()
	api := s.newAPI()
	s.http, s.contract = httptest.NewServer(api), newContract(t, api.openAPI)
	t.Cleanup(s.http.Close)
	return s
}

// newAPI makes one more API over the same database and loop, as another process would.
func (s *server) newAPI() *API {
	s.t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	policy, err := access.NewPolicy(log)
	if err != nil {
		s.t.Fatal(err)
	}
	files, err := artifact.Open(s.t.TempDir(), artifact.Limits{File: 1 << 20}, s.db)
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := New(Config{
		Heartbeat: 10 * time.Second, Histories: view.New(view.Config{Source: s.loop, Store: s.db, Log: log}),
		Store: s.db, Dispatch: s.loop, Artifacts: files, Gate: access.NewGate(s.db, time.Now), Policy: policy, Consoles: noConsoles{},
		Channel: http.NotFoundHandler(), Logs: &nodeLogs{}, Ready: pings{s.db}, Version: rest.Version{Version: "test", Go: "go"}, Now: time.Now, Log: log,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

type pings struct{ db *store.DB }

func (p pings) Ready(ctx context.Context) error { return p.db.Ping(ctx) }

func (p pings) Database() context.Context { return context.Background() }

// setup makes the first superadmin and returns the API token.
func (s *server) setup() string {
	s.t.Helper()
	token := enroll.NewSetupToken()
	if err := s.db.SetSetupToken(s.t.Context(), token.Sum, time.Now().Add(time.Hour)); err != nil {
		s.t.Fatal(err)
	}
	var done rest.SetupDone
	s.must(201, "", http.MethodPost, "/v1/setup", `{"setupToken":"`+token.Text+`"}`, &done)
	return done.Token.Secret
}

// user makes a user with an app of that name and returns id and API token.
func (s *server) user(admin, name string) (id, token string) {
	s.t.Helper()
	var user rest.User
	var made rest.NewToken
	s.must(201, admin, http.MethodPost, "/v1/admin/users", `{"name":"`+name+`"}`, &user)
	s.must(201, admin, http.MethodPost, "/v1/admin/users/"+user.ID+"/tokens", `{"name":"first"}`, &made)
	s.must(201, admin, http.MethodPost, "/v1/admin/apps", `{"id":"`+name+`","owner":"`+user.ID+`"}`, nil)
	return user.ID, made.Secret
}

// ask sends one request and reads the answer's document into out.
func (s *server) ask(token, method, path, body string, out any, header ...string) (int, http.Header) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.http.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	rec.Code, rec.Body = resp.StatusCode, bytes.NewBuffer(raw)
	maps.Copy(rec.Header(), resp.Header)
	if resp.StatusCode < 300 || resp.StatusCode >= 500 {
		s.check(s.t, &request{method: method, path: path, body: body}, rec)
	}
	if out != nil {
		if text, ok := out.(*string); ok {
			*text = string(raw)
		} else if err := decodeAnswer(rec, out); err != nil {
			s.t.Fatalf("%s %s answers %d %s: %v", method, path, resp.StatusCode, raw, err)
		}
	}
	return resp.StatusCode, resp.Header
}

// must is ask for a certain status.
func (s *server) must(status int, token, method, path, body string, out any, header ...string) {
	s.t.Helper()
	var raw string
	code, _ := s.ask(token, method, path, body, &raw, header...)
	if code != status {
		s.t.Fatalf("%s %s %s answers %d, want %d: %s", method, path, body, code, status, raw)
	}
	if out != nil {
		rec := httptest.NewRecorder()
		rec.Body.WriteString(raw)
		if err := decodeAnswer(rec, out); err != nil {
			s.t.Fatal(err)
		}
	}
}

package agent

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/shared/wire"
)

// secrets is what the control plane knows of a node's secret while that changes.
type secrets struct {
	mu      sync.Mutex
	current string
	next    string          // known beside the current one until it opens a session
	puts    map[string]bool // every secret that was handed in
	step    func(name string)
}

// rotating lets the control plane change the secret of the node that it first sees;
// step is called where a crash may come.
func (c *control) rotating(step func(name string)) *secrets {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets = &secrets{puts: map[string]bool{}, step: step}
	return c.secrets
}

// is gives the current secret, and how many were handed in.
func (s *secrets) is() (current string, puts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, len(s.puts)
}

// open judges the credential of an upgrade. A next secret takes the current one's
// place with the session that it opens.
func (s *secrets) open(header http.Header) bool {
	if s == nil {
		return true
	}
	secret, registered := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	if !registered {
		secret = header.Get(wire.NodeSecretHeader)
	}
	if s.isNext(secret) {
		s.step("dial with the new secret")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.current == "":
		s.current = secret
	case secret == s.next:
		s.current, s.next = secret, ""
	}
	return secret == s.current
}

func (s *secrets) isNext(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next != "" && secret == s.next
}

func (c *control) putSecret(w http.ResponseWriter, r *http.Request) {
	var body struct{ ID, Secret string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.ID != "rot-1" || len(body.Secret) != 43 {
		http.Error(w, "bad body", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	s := c.secrets
	c.mu.Unlock()
	s.step("put arrives")
	s.mu.Lock()
	good := r.Header.Get("Authorization") == "Bearer "+s.current
	if good {
		s.next = body.Secret
		s.puts[body.Secret] = true
	}
	s.mu.Unlock()
	s.step("put is stored")
	if !good {
		http.Error(w, "not this node's secret", http.StatusUnauthorized)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// done reports that a session was opened with a secret other than the first one.
func (s *secrets) done(first string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next == "" && s.current != first
}

// change plays a control plane that changes a node's secret and hears what comes of
// it. Step is where the agent is killed.
type change struct {
	*control
	first   string
	crashed chan struct{}
	handed  chan string // Authorization of a session that a result was handed in under
}

// serve opens a session and asks for a new secret until there is one.
func (c *change) serve(s *session) {
	renewed := s.shown != "Bearer "+c.first && s.shown != "License "+licenseCode
	if renewed {
		s.ackWith(func(b wire.Heartbeat) *wire.HeartbeatAck {
			c.secrets.step("heartbeat under the new secret")
			return acknowledge(b)
		})
	}
	c.greet(s)
	if !renewed {
		_ = s.conn.Send(wire.Msg(wire.Rotate{ID: "rot-1"}))
		c.secrets.step("rotate is sent")
	}
	go func() {
		for body := range s.inbox {
			switch body.(type) {
			case wire.Rotated:
				c.secrets.step("rotated is heard")
			case wire.Result:
				select {
				case c.handed <- s.shown:
				default:
				}
			}
		}
	}()
}

// TestRotation_SurvivesACrashAtEachStep: whenever the agent dies while its secret
// changes, it comes back with one that the control plane knows, the change is
// completed, and its results are still there.
func TestRotation_SurvivesACrashAtEachStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		"none", "rotate is sent", "put arrives", "put is stored", "rotated is heard", "dial with the new secret", "heartbeat under the new secret",
	} {
		t.Run(step, func(t *testing.T) {
			c := &change{control: newControl(t, nil), crashed: make(chan struct{}, 1), handed: make(chan string, 64)}
			cfg := testConfig(t, c.server.URL)
			config := configFile(t, cfg)
			var crash sync.Once
			var mu sync.Mutex // the agent may speak before spawn has returned
			var kill func()
			again := func() {
				mu.Lock()
				defer mu.Unlock()
				kill = spawn(t, config)
			}
			known := c.rotating(func(name string) {
				if name == step {
					crash.Do(func() {
						mu.Lock()
						defer mu.Unlock()
						kill()
						c.crashed <- struct{}{}
					})
				}
			})
			again()
			s, dir := c.welcome(), t.TempDir()
			c.first, _ = known.is()
			s.run(offerOf(1, "tool", toolPayload("until", dir)))
			release(t, dir)
			expect[wire.Result](s) // no verdict: it stays in the spool
			s.conn.CloseNow()
			c.follow(t, step == "none", again)

			await(t, "one secret on the disk", func() bool { return !exists(filepath.Join(cfg.StateDir, "secret.next")) })
			kept, err := os.ReadFile(filepath.Join(cfg.StateDir, "secret"))
			current, puts := known.is()
			if err != nil || strings.TrimSpace(string(kept)) != current {
				t.Errorf("the disk holds another secret than the control plane knows: %v", err)
			}
			if puts != 1 {
				t.Errorf("%d secrets were handed in for one rotation", puts)
			}
			for i, h := range c.dials() {
				if license := strings.HasPrefix(h.Get("Authorization"), "License "); license != (i == 0) {
					t.Errorf("dial %d shows a license code: %v", i, license)
				}
			}
		})
	}
}

// follow serves sessions, and begins the agent again after the crash, until the
// result was handed in under the new secret.
func (c *change) follow(t *testing.T, crashed bool, again func()) {
	t.Helper()
	overdue := time.After(patience)
	for {
		select {
		case s := <-c.sessions:
			c.serve(s)
		case <-c.crashed:
			crashed = true
			again()
		case shown := <-c.handed:
			if crashed && shown != "Bearer "+c.first {
				return
			}
		case <-overdue:
			t.Fatalf("no result under the new secret; crashed %v, changed %v", crashed, c.secrets.done(c.first))
		}
	}
}

func TestSecret_ChangedFileOpensANewSessionAndKeepsTheWork(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	begin(t, cfg)
	s, dir := c.welcome(), t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("until", dir)))
	pid := started(t, dir)
	other := strings.Repeat("A", 43)
	if err := os.WriteFile(filepath.Join(cfg.StateDir, "secret"), []byte(other+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = c.welcome()
	if s.shown != "Bearer "+other || len(s.hello.Running) != 1 || !lives(pid) {
		t.Errorf("the new session lists %+v; it shows the file's secret: %v", s.hello.Running, s.shown == "Bearer "+other)
	}
	release(t, dir)
	s.ackResult(expect[wire.Result](s), wire.VerdictStored)
}

func TestRotation_RefusedNewSecretLeavesTheOld(t *testing.T) {
	c := newControl(t, nil)
	known := c.rotating(func(string) {})
	n := begin(t, testConfig(t, c.server.URL))
	s := c.welcome()
	s.send(wire.Rotate{ID: "rot-2"}) // the control plane of this test wants rot-1 only
	await(t, "the refusal", func() bool { return strings.Contains(n.snapshot(), "the old one stays") })
	s.conn.CloseNow()
	current, _ := known.is()
	if again := c.welcome(); again.shown != "Bearer "+current {
		t.Error("another secret was shown than the one that the control plane knows")
	}
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rockpool/agent/internal/link"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// joining is a join of a fresh machine.
func joining(t *testing.T, c *control) Joining {
	t.Helper()
	dir := t.TempDir()
	return Joining{
		ServerURL: c.server.URL, File: filepath.Join(dir, "agent.toml"), Environ: []string{"PATH=" + os.Getenv("PATH")},
		Flags:      map[string]string{"state_dir": filepath.Join(dir, "state"), "node_id": "edge-1"},
		Credential: func() (string, error) { return licenseCode, nil },
		Warn:       func(text string) { t.Log(text) },
	}
}

type joinedOrNot struct {
	Joined
	err error
}

func (j Joining) begin(ctx context.Context) <-chan joinedOrNot {
	ended := make(chan joinedOrNot, 1)
	go func() {
		joined, err := Join(ctx, j)
		ended <- joinedOrNot{joined, err}
	}()
	return ended
}

// joins lets a join come to its end.
func (c *control) joins(j Joining) Joined {
	c.t.Helper()
	ended := j.begin(c.t.Context())
	s := c.welcome()
	if g := expect[wire.Goodbye](s); g.Kind != wire.GoodbyeStop {
		c.t.Errorf("goodbye %+v", g)
	}
	end := <-ended
	if end.err != nil {
		c.t.Fatal(end.err)
	}
	return end.Joined
}

func TestJoin_RegistersAndWritesTheSettings(t *testing.T) {
	c := newControl(t, nil)
	j := joining(t, c)
	old := "# of mine\nregion = \"ams\"   # here\n\n[labels]\nserver_url = \"no setting\"\n"
	if err := os.WriteFile(j.File, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	j.Flags["slots"] = "3"
	if joined := c.joins(j); joined.NodeID != "edge-1" || joined.Pool != "pool-1" || joined.File != j.File || len(joined.Builtins) != 1 {
		t.Errorf("joined %+v", joined)
	}
	cfg, err := LoadConfig(j.File, j.Environ, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.ServerURL != c.server.URL || cfg.Region != "ams" || cfg.Slots != 3 || cfg.Labels["server_url"] != "no setting" || cfg.StateDir != j.Flags["state_dir"] || strings.Join(cfg.Builtins, " ") != "checksum" {
		t.Errorf("the file says %+v", cfg)
	}
	text, err := os.ReadFile(j.File)
	if err != nil || !strings.Contains(string(text), "# of mine\nregion = \"ams\"   # here\n") || strings.Contains(string(text), "RPL-") {
		t.Errorf("the file is %q, %v", text, err)
	}
	n := begin(t, cfg) // without a license code
	if h := c.welcome().hello; h.LastEpoch != 1 || h.Chain != chainOf(1) || h.Region != "ams" {
		t.Errorf("the agent's hello %+v", h)
	}
	n.stop()
}

// TestJoin_InterruptedGoesOnAsTheSameNode interrupts a join at each of its steps;
// the next one shows the same secret, and once the node is registered no license.
func TestJoin_InterruptedGoesOnAsTheSameNode(t *testing.T) {
	c := newControl(t, nil)
	j := joining(t, c)
	secret := func() string {
		text, err := os.ReadFile(filepath.Join(j.Flags["state_dir"], "secret"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := j.begin(ctx)
	s := c.next() // the server has registered the node, and its answer is lost
	first := secret()
	interrupt()
	s.conn.CloseNow()
	if end := <-ended; end.err == nil {
		t.Fatal("an interrupted join succeeded")
	}

	unwritable := j
	unwritable.File = "/proc/agent.toml"
	ended = unwritable.begin(t.Context())
	expect[wire.Goodbye](c.welcome())
	var notWritten *WriteError
	if end := <-ended; !errors.As(end.err, &notWritten) || !strings.Contains(end.err.Error(), j.Flags["state_dir"]) || !strings.Contains(end.err.Error(), "server_url = \""+c.server.URL) {
		t.Fatalf("settings that can't be written: %v", end.err)
	}

	j.Credential = func() (string, error) { return "", errors.New("asked for a credential again") }
	c.joins(j)
	dials := c.dials()
	want := []string{"License " + licenseCode, "License " + licenseCode, "Bearer " + first}
	for i, h := range dials {
		if shown := h.Get(wire.NodeSecretHeader); h.Get("Authorization") != want[i] || i < 2 && shown != first {
			t.Errorf("dial %d does not show the secret of the first", i+1)
		}
	}
	if len(dials) != 3 || secret() != first {
		t.Errorf("%d dials, or another secret", len(dials))
	}
}

func TestJoin_WithTheSecretOfANodeThatAnOperatorMade(t *testing.T) {
	c := newControl(t, nil)
	j := joining(t, c)
	made := strings.Repeat("s", 42) + "A"
	j.Credential = func() (string, error) { return made, nil }
	c.joins(j)
	if h := c.dials()[0]; h.Get("Authorization") != "Bearer "+made || h.Get(wire.NodeSecretHeader) != "" {
		t.Errorf("the dial showed %q", h.Get("Authorization"))
	}
}

func TestJoin_RefusesBeforeAnythingIsSent(t *testing.T) {
	c := newControl(t, nil)
	for name, tc := range map[string]struct {
		change func(*Joining)
		want   string
	}{
		"Attack_A41_plain_http": {func(j *Joining) { j.ServerURL = "http://192.0.2.1" }, "allow_plain_http"},
		"no address":            {func(j *Joining) { j.ServerURL = "fleet" }, "server_url"},
		"no credential at all":  {func(j *Joining) { j.Credential = func() (string, error) { return "hunter2", nil } }, "neither a license code"},
		"slots":                 {func(j *Joining) { j.Flags["slots"] = "99" }, "slots"},
	} {
		t.Run(name, func(t *testing.T) {
			j := joining(t, c)
			tc.change(&j)
			if _, err := Join(t.Context(), j); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
			if exists(j.File) {
				t.Error("settings were written")
			}
		})
	}
	if n := len(c.dials()); n > 0 {
		t.Errorf("%d dials", n)
	}
}

func TestAttack_A41_PlainHTTPThatIsAllowedIsLoud(t *testing.T) {
	c := newControl(t, nil)
	j := joining(t, c)
	j.ServerURL, j.Flags["allow_plain_http"] = "http://192.0.2.1:1", "true"
	var warned []string
	j.Warn = func(text string) { warned = append(warned, text) }
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it would dial a machine that is not there
	if _, err := Join(ctx, j); err == nil {
		t.Error("joined a machine that is not there")
	}
	if len(warned) == 0 || !strings.Contains(warned[0], "secrets and results can be read") {
		t.Errorf("warned of %q", warned)
	}
}

func TestJoin_RefusedCredentialIsNotTriedAgain(t *testing.T) {
	c := newControl(t, nil)
	c.refuse = http.StatusUnauthorized
	if _, err := Join(t.Context(), joining(t, c)); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("error %v", err)
	}
	if n := len(c.dials()); n != 1 {
		t.Errorf("%d dials", n)
	}
}

// What is wrong on this machine is not tried again: each try is a session.
func TestJoin_EndsAtOnceWithWhatIsWrongHere(t *testing.T) {
	c := newControl(t, nil)
	j := joining(t, c)
	j.Credential = func() (string, error) { // the state is open by then
		return licenseCode, os.MkdirAll(filepath.Join(j.Flags["state_dir"], "node.json", "x"), 0o700)
	}
	j.Warn = func(text string) { t.Errorf("warned: %s", text) }
	ended := j.begin(t.Context())
	c.welcome()
	if end := <-ended; end.err == nil || !strings.HasPrefix(end.err.Error(), "store the node's registration: ") {
		t.Errorf("ended with %v", end.err)
	}
	if n := len(c.dials()); n != 1 {
		t.Errorf("%d dials", n)
	}
}

func TestJoin_TriesTheWayAgainAndNothingElse(t *testing.T) {
	for _, err := range []error{
		wayError{io.ErrUnexpectedEOF}, wayError{&wsconn.Refusal{Status: 503}}, wayError{&wsconn.Refusal{Status: 429}}, fmt.Errorf("x: %w", wayError{context.DeadlineExceeded}),
	} {
		if !passing(err) {
			t.Errorf("%v is not tried again", err)
		}
	}
	for _, err := range []error{
		syscall.ENOSPC, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, SettingError{io.EOF}, &refusedError{}, &link.VersionError{}, wayError{&wsconn.Refusal{Status: 401}}, wayError{&wsconn.Refusal{Status: 404}},
	} {
		if passing(err) {
			t.Errorf("%v is tried again", err)
		}
	}
}

// What is at fault stands before what was answered, in one line that a person reads.
func TestJoin_SaysWhatIsNotTaken(t *testing.T) {
	problem := func(status int, code, detail string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"type":"urn:x","title":"T","status":%d,"code":"%s","detail":"%s","requestId":"r-1"}`+"\n", status, code, detail)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		path   string
		want   []string
	}{
		"a wrong license code": {problem(401, "unauthenticated", "no license has this code"), "", []string{"the license code is not taken", "unauthenticated: no license has this code"}},
		"a wrong node secret":  {problem(401, "unauthenticated", "no node has it"), "", []string{"the node's secret is not taken", "unauthenticated: no node has it", "state_dir"}},
		"a path":               {problem(404, "not_found", "there is no such path"), "/console", []string{"/console,", "without a path", "not_found: there is no such path"}},
		"a page at a path":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html><body>{}") }, "/console", []string{"/console,", "without a path", "200 OK"}},
		"a redirect":           {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/sign-in", http.StatusFound) }, "", []string{"no control plane takes nodes at http://", "302"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			j := joining(t, newControl(t, nil))
			j.ServerURL = server.URL + c.path
			if strings.HasSuffix(name, "secret") {
				j.Credential = func() (string, error) { return strings.Repeat("s", 43), nil }
			}
			_, err := Join(t.Context(), j)
			if err == nil || strings.ContainsAny(err.Error(), "{}<>\n") || strings.Contains(err.Error(), licenseCode) {
				t.Fatalf("error %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want %q in it", err, part)
				}
			}
		})
	}
}

package agent

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"rockpool/agent/internal/runner"
	"rockpool/shared/wire"
)

// hostile is a node under a server that means it ill: it has the node's trust, as
// one with a stolen certificate would. Frames that are bombs have Attack_A19, and
// servers without trust Attack_A42.
type hostile struct {
	*control
	s   *session
	cfg Config
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.InputLimit = 1 << 20
	cfg.Runners = append(cfg.Runners, runner.Spec{Name: "touch", Argv: []string{"touch", "{{param.name}}"}, Params: map[string]runner.Param{"name": {Type: "string", Pattern: `[a-z]+`}}})
	begin(t, cfg)
	return &hostile{c, c.welcome(), cfg}
}

// fails runs a job that must come to nothing, and gives its result.
func (h *hostile) fails(o wire.Offer) wire.Result {
	h.t.Helper()
	h.s.run(o)
	r := expect[wire.Result](h.s)
	if r.Status != wire.ResultFailed {
		h.t.Errorf("%s with %+v: %+v", o.Runner, o.Payload, r)
	}
	h.s.ackResult(r, wire.VerdictStored)
	return r
}

func TestAttack_A88_AServerCanNotNameAProgram(t *testing.T) {
	h := newHostile(t)
	for n, name := range []string{"sh", "/bin/sh", "exec", "http-probe", "tool; sh", "TOOL"} {
		o := offerOf(byte(n+1), name, toolPayload("until", t.TempDir()))
		if o.Validate() != nil { // the agent's decoder refuses the frame: see Attack_A19
			continue
		}
		h.s.send(o)
		if d := expect[wire.Decline](h.s); d.Reason != "unknown_runner" {
			t.Errorf("%s: declined %+v", name, d)
		}
		h.s.send(wire.Start{Job: jobID(byte(n + 1)), Attempt: 1}) // of what was declined
	}
	h.s.send(wire.Start{Job: jobID(99), Attempt: 1}, wire.Cancel{Job: jobID(98), Attempt: 7}, wire.Void{Job: jobID(97), Attempt: 1})
	for n, name := range []string{"../../escape", "/tmp/escape", "a;touch b", "-x", "a\nb"} {
		if r := h.fails(offerOf(byte(n+20), "touch", wire.Payload{Params: []wire.Pair{{Name: "name", Value: name}}})); r.Reason != "bad_params" {
			t.Errorf("%q: %+v", name, r)
		}
	}
	h.s.beat("nothing running", func(b wire.Heartbeat) bool { return len(b.Running) == 0 && b.Accepting })
}

// A job's input lands in the job's folder, whatever it is called.
func TestAttack_A88_NamesAreNoPaths(t *testing.T) {
	h := newHostile(t)
	in := h.put([]byte("content"))
	for n, name := range []string{"../../secret", "/etc/rockpool", "..", ".", "a/b", `a\b`, "secret\x00", "file\n"} {
		in.Name = name
		o := offerOf(byte(n+1), "checksum", wire.Payload{Inputs: []wire.Input{in}})
		if o.Validate() != nil { // the agent's decoder refuses the frame: see Attack_A19
			continue
		}
		if r := h.fails(o); r.Reason != "bad_params" {
			t.Errorf("%q: %+v", name, r)
		}
	}
	if secret, err := os.ReadFile(filepath.Join(h.cfg.StateDir, "secret")); err != nil || strings.Contains(string(secret), "content") {
		t.Errorf("the node's secret is %q, %v", secret, err)
	}
	if len(h.fetches) > 0 {
		t.Errorf("%d of them were fetched", len(h.fetches))
	}
}

func TestAttack_A88_AnArtifactWithoutEndIsLeft(t *testing.T) {
	h := newHostile(t)
	var served atomic.Int64
	h.serve = func(w http.ResponseWriter, r *http.Request) {
		for chunk := bytes.Repeat([]byte("x"), 64<<10); ; {
			n, err := w.Write(chunk)
			if served.Add(int64(n)); err != nil {
				return
			}
		}
	}
	in := h.put([]byte("content"))
	if r := h.fails(offerOf(1, "checksum", wire.Payload{Inputs: []wire.Input{in}})); r.Reason != "input_failed" {
		t.Errorf("%+v", r)
	}
	in.Size = 1 << 40 // what it says of itself is not believed either
	if r := h.fails(offerOf(2, "checksum", wire.Payload{Inputs: []wire.Input{in}})); r.Reason != "input_failed" || !strings.Contains(r.Detail, "input_limit") {
		t.Errorf("%+v", r)
	}
	if n := served.Load(); n > 64<<20 { // of 7 bytes, and what the network holds
		t.Errorf("%d bytes were taken", n)
	}
}

func TestAttack_A88_TheSecretGoesToNoOtherServer(t *testing.T) {
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	h := newHostile(t)
	h.serve = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	in := h.put([]byte("content"))
	if r := h.fails(offerOf(1, "checksum", wire.Payload{Inputs: []wire.Input{in}})); r.Reason != "input_failed" {
		t.Errorf("%+v", r)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("another server was asked %d times", n)
	}
}

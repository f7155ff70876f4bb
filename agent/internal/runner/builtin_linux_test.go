package runner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"rockpool/shared/wire"
)

// metacharacters are what a shell, a printf or a path would make something of.
var metacharacters = []string{
	`; touch MARK`, `&& touch MARK`, `| touch MARK`, "`touch MARK`", `$(touch MARK)`, `> MARK`, `"; touch MARK; "`, `'; touch MARK; '`,
	`\n touch MARK`, `${IFS}touch${IFS}MARK`, `* ? [a-z]`, `~/x`, `%n%s%x`, `../../../etc/passwd`, `{{bin}} {{backend}}`, `$HOME`, `#`, `!!`, ``, ` `,
}

func (r *rig) as(runner string, params ...string) wire.Result {
	r.t.Helper()
	ref, offer := r.offer(wire.Payload{})
	offer.Runner = runner
	for i := 0; i < len(params); i += 2 {
		offer.Payload.Params = append(offer.Payload.Params, wire.Pair{Name: params[i], Value: params[i+1]})
	}
	r.Start(ref, offer)
	return r.wait().Result
}

// withBuiltins is a rig whose node enables them all.
func withBuiltins(t *testing.T, b Builtins) *rig {
	t.Helper()
	r := newRig(t, tool("args"), nil)
	b.Enabled = []string{"checksum", "exec", "http-probe"}
	if len(b.ProbeHosts) == 0 {
		b.ProbeHosts = []string{"origin.example"}
	}
	if len(b.Exec) == 0 {
		b.Exec = []string{"true"}
	}
	spec := tool("args", "{{param.text}}")
	spec.Params = map[string]Param{"text": {Type: "string"}}
	book, err := NewBook([]Spec{spec}, b, "cpu", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	r.book = book
	return r
}

// Whatever a job's arguments hold, they are arguments: each arrives as it was given.
func TestAttack_A56_ArgumentsAreNoCommands(t *testing.T) {
	r := withBuiltins(t, Builtins{Exec: []string{"printf", "touch"}})
	mark := filepath.Join(t.TempDir(), "mark")
	for _, text := range metacharacters {
		text = strings.ReplaceAll(text, "MARK", mark)
		if got := r.as("tool", "text", text); got.Status != wire.ResultSucceeded || string(got.Head) != fmt.Sprintf("%q\n", []string{text}) {
			t.Errorf("runner: %q arrived as %s (%s %s)", text, got.Head, got.Status, got.Detail)
		}
		if got := r.as("exec", "program", "printf", "arg1", "%s|", "arg2", text, "arg3", "-x"); got.Status != wire.ResultSucceeded || string(got.Head) != text+"|-x|" {
			t.Errorf("exec: %q arrived as %q (%s %s)", text, got.Head, got.Status, got.Detail)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("an argument was run as a command")
	}
	for _, text := range []string{"-option", "a\nb", "a\x00b", "\xff", strings.Repeat("x", 257)} {
		if got := r.as("tool", "text", text); got.Reason != causeBadParams {
			t.Errorf("%q: %s %s %q", text, got.Status, got.Reason, got.Head)
		}
	}
}

func TestAttack_A56_OnlyAllowedProgramsRun(t *testing.T) {
	r := withBuiltins(t, Builtins{Exec: []string{"printf", "/bin/true"}})
	for _, program := range []string{"sh", "/bin/sh", "/bin/true", "../bin/true", "true;sh", "", "PRINTF", "printf\x00"} {
		if got := r.as("exec", "program", program); got.Status != wire.ResultFailed || got.Reason != causeBadParams || !strings.Contains(got.Detail, "printf, true") {
			t.Errorf("%q: %s %s %q", program, got.Status, got.Reason, got.Detail)
		}
	}
	for name, params := range map[string][]string{
		"a gap":              {"program", "true", "arg2", "x"},
		"another parameter":  {"program", "true", "env", "x"},
		"twice":              {"program", "true", "arg1", "x", "arg1", "y"},
		"no argument number": {"program", "true", "argx", "x"},
	} {
		if got := r.as("exec", params...); got.Reason != causeBadParams {
			t.Errorf("%s: %s %s", name, got.Status, got.Reason)
		}
	}
	if got := r.as("exec", "program", "true"); got.Status != wire.ResultSucceeded {
		t.Errorf("an allowed one: %s %s", got.Status, got.Detail)
	}
}

func TestBuiltins_AreRefusedWithoutTheirLists(t *testing.T) {
	for want, b := range map[string]Builtins{
		"exec_allow: is empty":      {Enabled: []string{"exec"}},
		"probe_hosts: is empty":     {Enabled: []string{"http-probe"}},
		"exec_allow: has no effect": {Enabled: []string{"checksum"}, Exec: []string{"true"}},
		"probe_hosts: has no":       {Enabled: []string{"checksum"}, ProbeHosts: []string{"x"}},
		"probe_hosts: \"*\" is":     {Enabled: []string{"http-probe"}, ProbeHosts: []string{"*"}},
		"exec_allow: program":       {Enabled: []string{"exec"}, Exec: []string{"no-such-program"}},
		"exec_allow: two programs":  {Enabled: []string{"exec"}, Exec: []string{"true", "true"}},
		"\"checksum\" stands there": {Enabled: []string{"checksum", "checksum"}},
	} {
		if _, err := NewBook(nil, b, "cpu", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", b, err, want)
		}
	}
}

// web is a server that counts what it is asked.
func web(t *testing.T, answer http.HandlerFunc) (server *httptest.Server, asked *atomic.Int32) {
	asked = new(atomic.Int32)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server, asked
}

func host(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

func TestProbe_TellsHowAnAllowedHostAnswers(t *testing.T) {
	server, _ := web(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/there":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/here":
			_, _ = w.Write([]byte("hello"))
		case "/hangs":
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	})
	r := withBuiltins(t, Builtins{ProbeHosts: []string{host(server)}})
	got := r.as("http-probe", "url", server.URL+"/there")
	var p probed
	if err := json.Unmarshal(got.Output, &p); err != nil || got.Status != wire.ResultSucceeded || p.Status != 200 || p.Bytes != 5 || p.URL != server.URL+"/here" {
		t.Errorf("%s %s %s, %v", got.Status, got.Detail, got.Output, err)
	}
	if got := r.as("http-probe", "url", server.URL+"/gone"); got.Reason != causeProbeFailed || !strings.Contains(got.Detail, "404") {
		t.Errorf("%s %s %s", got.Status, got.Reason, got.Detail)
	}
	if got := r.as("http-probe", "url", server.URL+"/gone", "status", "404"); got.Status != wire.ResultSucceeded {
		t.Errorf("%s %s", got.Status, got.Detail)
	}
	ref, offer := r.offer(wire.Payload{Params: []wire.Pair{{Name: "url", Value: server.URL + "/hangs"}}})
	offer.Runner, offer.Limits.RunMs = "http-probe", 100
	r.Start(ref, offer)
	if got := r.wait().Result; got.Reason != causeProbeFailed {
		t.Errorf("%s %s", got.Status, got.Reason)
	}
	offer.Limits.RunMs = 0
	r.Start(ref, offer)
	r.Stop(ref, 0)
	if end := r.wait(); !end.Stopped {
		t.Errorf("a canceled probe ended %+v", end)
	}
}

func TestProbe_TheUsualPortNeedNotBeNamed(t *testing.T) {
	book, err := newProbe([]string{"plain.example:80", "tls.example:443", "Both.example", "other.example:8080", "[::1]:80"})
	if err != nil {
		t.Fatal(err)
	}
	for address, ok := range map[string]bool{
		"http://plain.example/": true, "http://plain.example:80/": true, "https://plain.example/": false, "https://plain.example:80/": true,
		"https://tls.example/": true, "https://TLS.example:443/": true, "http://tls.example/": false, "http://tls.example:443/": true,
		"http://both.example/": true, "https://both.example/": true, "http://both.example:80/": true, "http://both.example:443/": false, "http://both.example:8080/": false,
		"http://other.example:8080/": true, "http://other.example/": false, "http://[::1]/": true, "https://[::1]/": false, "http://plain.example:/": true,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := book.allows(u); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestProbe_RefusesWhatIsNoHost(t *testing.T) {
	for _, host := range []string{"a:99999", "a:65536", "a:", "a:0", "a:080", "a:-1", "a:http", ":80", "", "a/b", "a?x", "user@a", "*.a", "[::1]:", "[::1]:70000", "http://a"} {
		if _, err := newProbe([]string{host}); err == nil || !strings.Contains(err.Error(), "probe_hosts") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", host, err)
		}
	}
	for _, host := range []string{"a", "a:1", "a:65535", "127.0.0.1:8080", "[::1]", "[::1]:443"} {
		if _, err := newProbe([]string{host}); err != nil {
			t.Errorf("%q: %v", host, err)
		}
	}
}

// A server that a job names, or that an allowed one sends to, is asked nothing.
func TestAttack_A88_AProbeGoesNowhereElse(t *testing.T) {
	other, asked := web(t, func(http.ResponseWriter, *http.Request) {})
	server, _ := web(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/round" {
			http.Redirect(w, r, "/round", http.StatusFound)
			return
		}
		http.Redirect(w, r, other.URL+"/secret", http.StatusTemporaryRedirect)
	})
	r := withBuiltins(t, Builtins{ProbeHosts: []string{host(server)}})
	for _, path := range []string{"/elsewhere", "/round"} {
		if got := r.as("http-probe", "url", server.URL+path); got.Status != wire.ResultFailed || got.Reason != causeProbeFailed {
			t.Errorf("%s: %s %s %s", path, got.Status, got.Reason, got.Detail)
		}
	}
	for _, address := range []string{
		other.URL, "file:///etc/passwd", "ftp://" + host(server), "http://user:secret@" + host(server), "http://127.0.0.1", "https://origin.example.evil.example",
		"//" + host(server), "http://" + host(server) + ".evil.example", "", "http://[::1]:80",
	} {
		if got := r.as("http-probe", "url", address); got.Reason != causeBadParams {
			t.Errorf("%q: %s %s %s", address, got.Status, got.Reason, got.Detail)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("the other server was asked %d times", asked.Load())
	}
}

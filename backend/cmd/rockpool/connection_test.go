package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rockpool/backend"
)

const (
	oneTime   = "rps_0123456789abcdefghijABCDEFGHIJ0123456789_-x"
	setupDone = `{"user": {"id": "1", "name": "admin", "roles": ["superadmin"]}, "token": {"id": "t1", "token": "rp_first"}}`
)

// bearer is the token of the newest request.
func (s *fakeServer) bearer() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[len(s.asked)-1].header.Get("Authorization")
}

func poolsServer(t *testing.T) *fakeServer {
	return newServer(t, map[string]http.HandlerFunc{
		"GET /v1/pools":  document(200, `{"items": [], "nextPageToken": ""}`),
		"POST /v1/setup": document(201, setupDone),
	})
}

func TestSetup_KeepsTheTokenForItsServer(t *testing.T) {
	for name, c := range map[string]struct {
		stdin string
		args  func(server string) []string
		env   bool // ROCKPOOL_SERVER names the server
	}{
		"token as a flag": {"", func(string) []string { return []string{"--token", oneTime} }, true},
		"link as a flag":  {"", func(server string) []string { return []string{"--token", server + "/setup#token=" + oneTime} }, false},
		"token pasted":    {oneTime + "\nnot read\n", func(string) []string { return nil }, true},
		"link pasted":     {"", func(string) []string { return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := poolsServer(t)
			t.Setenv("ROCKPOOL_TOKEN", "")
			if !c.env {
				t.Setenv("ROCKPOOL_SERVER", "")
			}
			if name == "link pasted" {
				c.stdin = "  " + s.URL + "/setup#token=" + oneTime + "\n"
			}
			got := rockpoolWith(t, c.stdin, append([]string{"admin", "setup"}, c.args(s.URL)...)...)
			if got.code != exitOK || strings.Contains(got.out, "rp_first") || s.asked[0].body != `{"setupToken":"`+oneTime+`"}` {
				t.Fatalf("%+v, sent %s", got, s.asked[0].body)
			}
			info, err := os.Stat(os.Getenv("ROCKPOOL_CREDENTIALS"))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("credentials: %v, %v", info, err)
			}
			if got := rockpool(t, "pool", "list", "--server", s.URL); got.code != exitOK || s.bearer() != "Bearer rp_first" {
				t.Errorf("%+v with %q", got, s.bearer())
			}
		})
	}
}

func TestCredentials_GoToTheirServerOnly(t *testing.T) {
	s := poolsServer(t)
	t.Setenv("ROCKPOOL_TOKEN", "")
	if got := rockpool(t, "admin", "setup", "--token", oneTime); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	defer other.Close()
	got := rockpool(t, "pool", "list", "--server", other.URL)
	if got.code != exitError || !strings.Contains(got.errs, "no API token for "+other.URL) {
		t.Errorf("%+v", got)
	}
	// A second server's token stands beside the first one's.
	second := poolsServer2(t)
	if got := rockpool(t, "admin", "setup", "--token", oneTime, "--server", second); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	if got := rockpool(t, "pool", "list"); got.code != exitOK || s.bearer() != "Bearer rp_first" {
		t.Errorf("%+v with %q", got, s.bearer())
	}
}

func poolsServer2(t *testing.T) string {
	server := httptest.NewServer(document(201, strings.Replace(setupDone, "rp_first", "rp_second", 1)))
	t.Cleanup(server.Close)
	return server.URL
}

func TestSetup_IsNotRedeemedWhenItCannotBeKept(t *testing.T) {
	s := poolsServer(t)
	t.Setenv("ROCKPOOL_CREDENTIALS", filepath.Join(write(t, "a file, no folder"), "credentials"))
	got := rockpool(t, "admin", "setup", "--token", oneTime)
	if got.code != exitError || len(s.calls()) != 0 {
		t.Errorf("%+v, asked %v", got, s.calls())
	}
}

func TestSetup_RefusesWhatIsNoToken(t *testing.T) {
	s := poolsServer(t)
	if got := rockpoolWith(t, "rp_0123\n", "admin", "setup"); got.code != exitError || len(s.calls()) != 0 {
		t.Errorf("%+v, asked %v", got, s.calls())
	}
}

func TestToken_FileThenVariableThenCredentials(t *testing.T) {
	s := poolsServer(t)
	if got := rockpool(t, "admin", "setup", "--token", oneTime); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	file := write(t, "rp_file\n")
	for _, c := range []struct {
		variable string
		args     []string
		want     string
	}{
		{"rp_variable", []string{"--token-file", file}, "Bearer rp_file"},
		{"rp_variable", nil, "Bearer rp_variable"},
		{"", nil, "Bearer rp_first"},
	} {
		t.Setenv("ROCKPOOL_TOKEN", c.variable)
		if got := rockpool(t, append(c.args, "pool", "list")...); got.code != exitOK || s.bearer() != c.want {
			t.Errorf("%+v: %+v with %q", c, got, s.bearer())
		}
	}
}

func TestToken_RefusesWhatIsNone(t *testing.T) {
	for _, text := range []string{"", "rp_a rp_b", "rp_a\x1b[0m"} {
		s := poolsServer(t)
		got := rockpool(t, "pool", "list", "--token-file", write(t, text))
		if got.code != exitError || len(s.calls()) != 0 || strings.Contains(got.errs, "rp_a") {
			t.Errorf("%q: %+v, asked %v", text, got, s.calls())
		}
	}
}

func TestCredentials_ThatOthersMayReadAreRefused(t *testing.T) {
	s := poolsServer(t)
	t.Setenv("ROCKPOOL_TOKEN", "")
	path := write(t, `{"servers": {"`+s.URL+`": {"token": "rp_open"}}}`)
	t.Setenv("ROCKPOOL_CREDENTIALS", path)
	if got := rockpool(t, "pool", "list"); got.code != exitOK {
		t.Fatalf("0600: %+v", got)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := rockpool(t, "pool", "list"); got.code != exitError || !strings.Contains(got.errs, "chmod 600 "+path) {
		t.Errorf("0644: %+v", got)
	}
}

func TestPlainHTTP_NeedsToBeAllowed(t *testing.T) {
	poolsServer(t)
	for _, args := range [][]string{{"pool", "list"}, {"admin", "setup", "--token", oneTime}} {
		got := rockpool(t, append(args, "--server", "http://fleet.invalid:8700")...)
		if got.code != exitError || !strings.Contains(got.errs, "--allow-plain-http") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	// Allowed, the only thing wrong is that nobody is there.
	got := rockpool(t, "pool", "list", "--server", "http://fleet.invalid:8700", "--allow-plain-http")
	if got.code != exitError || strings.Contains(got.errs, "--allow-plain-http") || !strings.HasPrefix(got.errs, "rockpool: ask http://fleet.invalid:8700: ") {
		t.Errorf("%+v", got)
	}
}

func TestServe_FlagsAreSettings(t *testing.T) {
	given := func(s string) *string { return &s }
	c := serveCommand{
		Listen: given("127.0.0.1:1"), MetricsListen: given("127.0.0.1:2"), DataDir: given("/somewhere"),
		PostgresBinDir: given("/bin"), LogLevel: given("debug"),
	}
	cfg, err := backend.LoadConfig("", nil, c.settings())
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Listen != "127.0.0.1:1" || cfg.MetricsListen != "127.0.0.1:2" || cfg.DataDir != "/somewhere" ||
		cfg.Postgres.BinDir != "/bin" || cfg.Log.Level != "debug" {
		t.Errorf("got %+v", cfg)
	}
	if len((&serveCommand{}).settings()) != 0 {
		t.Error("flags that were not given are settings")
	}
}

func TestServe_RefusesASettingByItsName(t *testing.T) {
	got := rockpool(t, "serve", "--log-level", "loud", "--data-dir", t.TempDir())
	if got.code != exitError || !strings.Contains(got.errs, "log.level") {
		t.Errorf("%+v", got)
	}
}

package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rockpool/agent/internal/identity"
	"rockpool/agent/internal/runner"
	"rockpool/agent/internal/spool"
)

// effect shows that a setting counts: what it refuses, and what another value of
// it changes. Each of the reference has one.
type effect struct {
	bad  string // TOML that is refused; empty: every value is right
	good string // TOML
	// base is the configuration beside it; empty: the usual one.
	base string
	seen func(t *testing.T, cfg Config) string
	// rootOnly: everybody else is refused, also with the good value.
	rootOnly bool
}

func effects(t *testing.T) map[string]effect {
	dir := t.TempDir()
	license, ca := filepath.Join(dir, "license"), filepath.Join(dir, "ca.pem")
	put(t, license, licenseCode+"\n")
	put(t, ca, testCA)
	return map[string]effect{
		"server_url":       {bad: `server_url = "ftp://x"`, good: `server_url = "https://other.example"`, base: `builtins = ["checksum"]`, seen: func(_ *testing.T, c Config) string { return fmt.Sprint(c.Standalone(), c.ServerURL) }},
		"ca_file":          {bad: `ca_file = "/nowhere"`, good: fmt.Sprintf("ca_file = %q", ca), seen: seenTLS},
		"allow_plain_http": {bad: `allow_plain_http = "yes"`, good: `allow_plain_http = true`, base: "server_url = \"http://192.0.2.1\"\nbuiltins = [\"checksum\"]", seen: seenWarnings},
		"license_file":     {bad: `license_file = "/nowhere"`, good: fmt.Sprintf("license_file = %q", license), seen: seenCredential},
		"state_dir":        {bad: `state_dir = ""`, good: fmt.Sprintf("state_dir = %q", filepath.Join(dir, "state")), seen: seenState},
		"node_id":          {bad: `node_id = "A B"`, good: `node_id = "edge-9"`, seen: seenHello},
		"role":             {bad: `role = ""`, good: `role = "edge"`, seen: seenHello},
		"region":           {bad: `region = "A"`, good: `region = "ams"`, seen: seenHello},
		"endpoints":        {bad: `endpoints = { publish = "javascript:x" }`, good: `endpoints = { publish = "https://edge.example/p" }`, seen: seenHello},
		"labels":           {bad: `labels = { "" = "x" }`, good: `labels = { site = "a" }`, seen: seenHello},
		"link":             {bad: "[[link]]\npeer = \"A B\"", good: "[[link]]\npeer = \"edge-2\"\nkind = \"lan\"\nmbps = 10", seen: func(_ *testing.T, c Config) string { return fmt.Sprint(links(c.Links)) }},
		"pool":             {bad: `pool = 1`, good: `pool = "x"`, seen: seenWarnings},
		"slots":            {bad: `slots = 65`, good: `slots = 63`, seen: seenNode},
		"resources":        {bad: `resources = { "a b" = 1 }`, good: `resources = { nvenc = 2 }`, seen: seenHello},
		"memory":           {bad: `memory = { ram = -1 }`, good: `memory = { ram = 100 }`, seen: seenHello},
		"backend":          {bad: `backend = "auto"`, good: "backend = \"cuda\"\n[[runner]]\nname = \"gpu\"\nargv = [\"/bin/true\", \"{{backend}}\"]\nselftest = [\"/bin/true\", \"{{backend}}\"]", seen: seenHello},
		"builtins":         {bad: `builtins = ["shell"]`, good: `builtins = ["checksum"]`, base: "server_url = \"https://fleet.example\"\n[[runner]]\nname = \"x\"\nargv = [\"/bin/true\"]", seen: seenNode},
		"runner":           {bad: "[[runner]]\nname = \"x\"", good: "[[runner]]\nname = \"x\"\nargv = [\"/bin/true\"]", seen: seenNode},
		"job_user":         {bad: `job_user = "root"`, good: fmt.Sprintf("job_user = \"nobody\"\njob_dir = %q", "/"), rootOnly: true, seen: seenBook},
		"job_dir":          {bad: `job_dir = "/nowhere"`, good: fmt.Sprintf("job_dir = %q", dir), seen: func(_ *testing.T, c Config) string { return c.jobs(c.StateDir) }},
		"exec_allow":       {bad: `exec_allow = ["no-such-program"]`, good: `exec_allow = ["/bin/true"]`, base: "server_url = \"https://fleet.example\"\nbuiltins = [\"exec\"]", seen: seenNode},
		"probe_hosts":      {bad: `probe_hosts = ["http://x/"]`, good: `probe_hosts = ["origin.example"]`, base: "server_url = \"https://fleet.example\"\nbuiltins = [\"http-probe\"]", seen: seenNode},
		"input_limit":      {bad: `input_limit = "0B"`, good: `input_limit = "1KiB"`, seen: seenInput},
		"disk_free":        {bad: `disk_free = 5`, good: `disk_free = "1000GiB"`, seen: seenRoom},
		"spool_limit":      {bad: `spool_limit = 0`, good: `spool_limit = 77`, seen: seenNode},
		"rpc_timeout":      {bad: `rpc_timeout = "1ms"`, good: `rpc_timeout = "3s"`, seen: seenNode},
		"stop_timeout":     {bad: `stop_timeout = "-1s"`, good: `stop_timeout = "3s"`, seen: seenNode},
		"stop_grace":       {bad: `stop_grace = "1m"`, good: `stop_grace = "1s"`, seen: seenNode},
		"log_level":        {bad: `log_level = "loud"`, good: `log_level = "error"`, seen: seenLog},
		"log_format":       {bad: `log_format = "xml"`, good: `log_format = "json"`, seen: seenLog},
	}
}

func TestSettings_EachRefusesAndEachHasAnEffect(t *testing.T) {
	known := effects(t)
	for _, s := range Settings() {
		e, ok := known[s.Name]
		delete(known, s.Name)
		if !ok {
			t.Errorf("%s: nothing shows what it is for", s.Name)
			continue
		}
		t.Run(s.Name, func(t *testing.T) { e.check(t, s.Name) })
	}
	for name := range known {
		t.Errorf("%s is no setting any more", name)
	}
}

func (e effect) check(t *testing.T, name string) {
	base := e.base
	if base == "" {
		base = good
	}
	under := func(line string) (Config, error) {
		if name == "builtins" { // the base ends in a table
			return load(t, line+"\n"+base)
		}
		return load(t, base+"\n"+line)
	}
	if _, err := under(e.bad); e.bad != "" && (err == nil || !strings.Contains(err.Error(), name)) {
		t.Errorf("%s: %v, want a refusal that names %s", e.bad, err, name)
	}
	if e.rootOnly && os.Geteuid() != 0 {
		return
	}
	changed, err := under(e.good)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := load(t, base)
	before := fmt.Sprint(err) // where the base alone is refused, that it is no more is the effect
	if err == nil {
		before = e.seen(t, plain)
	}
	if after := e.seen(t, changed); after == before {
		t.Errorf("with and without %s: %q", e.good, after)
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func seenHello(_ *testing.T, c Config) string    { return fmt.Sprintf("%+v", c.hello()) }
func seenWarnings(_ *testing.T, c Config) string { return strings.Join(c.warnings(), ";") }

// seenRoom is whether a disk has room for work.
func seenRoom(t *testing.T, c Config) string {
	c.StateDir = filepath.Join(t.TempDir(), "state")
	id, err := identity.Open(c.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = id.Close() }()
	d := &disk{id: id, log: discard(), room: int64(c.DiskFree), done: make(chan []diskDone, 1)}
	d.lookForRoom()
	return fmt.Sprint(d.full)
}

func seenTLS(t *testing.T, c Config) string {
	config, err := c.tls()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(config != nil && config.RootCAs != nil)
}

// seenNode is what the deciding code gets.
func seenNode(t *testing.T, c Config) string {
	c.StateDir = filepath.Join(t.TempDir(), "state")
	id, err := identity.Open(c.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = id.Close() }()
	results, err := spool.Open(filepath.Join(c.StateDir, "spool"), discard())
	if err != nil {
		t.Fatal(err)
	}
	book, err := c.book()
	if err != nil {
		t.Fatal(err)
	}
	config := New(c, discard()).nodeConfig(id, book, results)
	config.Seed = 0
	return fmt.Sprintf("%+v", config)
}

func seenCredential(t *testing.T, c Config) string {
	c.StateDir = filepath.Join(t.TempDir(), "state")
	id, err := identity.Open(c.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = id.Close() }()
	header, err := New(c, discard()).credential(id)()
	return fmt.Sprint(header.Get("Authorization"), err)
}

// seenState reports whether a start makes the state where the setting says.
func seenState(t *testing.T, c Config) string {
	if c.StateDir == defaultStateDir() {
		return "the default"
	}
	c.license = licenseCode
	if err := New(c, discard()).Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(exists(filepath.Join(c.StateDir, "secret")))
}

// seenBook is who jobs run as: the job itself says so.
func seenBook(t *testing.T, c Config) string {
	c.Runners = []runner.Spec{{Name: "who", Argv: []string{"id", "-u"}, Env: []string{"PATH"}}}
	if c.JobDir != "" {
		c.JobDir = openFolder(t)
	}
	result, err := TestRunner(t.Context(), c, Trial{Runner: "who"})
	return fmt.Sprint(result.Status, result.Detail, string(result.Head), err)
}

// openFolder is a folder that everybody may pass through.
func openFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func seenInput(t *testing.T, c Config) string {
	path := filepath.Join(t.TempDir(), "input")
	put(t, path, string(slices.Repeat([]byte("x"), 2000)))
	result, err := TestRunner(t.Context(), c, Trial{Runner: "checksum", Inputs: map[string]string{"file": path}})
	return fmt.Sprint(result.Status, result.Detail, err)
}

func seenLog(_ *testing.T, c Config) string {
	var text bytes.Buffer
	log := NewLog(c, &text)
	log.Info("one")
	log.Error("two")
	return fmt.Sprint(strings.Count(text.String(), "\n"), strings.HasPrefix(text.String(), "{"))
}

// testCA is a certificate that nothing is signed with.
const testCA = `-----BEGIN CERTIFICATE-----
MIIBjDCCATOgAwIBAgIUHsvroLmBTooHYSA9HUpbkRnFfG0wCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQUm9ja3Bvb2wgdGVzdCBDQTAgFw0yNjExMzAwMDI5NDVaGA8y
MTI2MTEwNjAwMjk0NVowGzEZMBcGA1UEAwwQUm9ja3Bvb2wgdGVzdCBDQTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABNJ5Wtxgc0RbujW7TYujnmWZC5u8MSMVgXO8
Rsos4k+6mt23XqDeryp8cJO6YXhAf9NQiTTGk9KK9VnTMaBQXv+jUzBRMB0GA1Ud
DgQWBBQHCNWW3Z2xO7L+iK+OAdXhUh0ESzAfBgNVHSMEGDAWgBQHCNWW3Z2xO7L+
iK+OAdXhUh0ESzAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIBFA
lNLYHgApD/NlpIk253VvMgZeV+8LidtpVRzp3MxxAiAoElsLX4t4xwYYp/3whgHz
/UKY0HiXwXPpwVPSrWihkA==
-----END CERTIFICATE-----
`

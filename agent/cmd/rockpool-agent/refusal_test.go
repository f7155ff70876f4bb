package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rockpool/agent"
)

const someCode = "RPL-AAAA-BBBB-CCCC-DDDD-EEEE-FFFF-GGGG-HHHH"

// program is the real binary, built once a test.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rockpool-agent")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

func write(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return path
}

const base = "server_url = \"https://fleet.example\"\nbuiltins = [\"checksum\"]\n"

// refusal is a start that must fail: file and variables beside a good license code.
type refusal struct {
	file    string
	environ []string
	flags   []string
	state   func(t *testing.T, dir string) // what lies in the state directory
	want    string                         // names the setting
	code    int                            // 0: exitUsage
	alone   bool                           // another runner would change it
}

func refusals(t *testing.T) map[string]refusal {
	device := "server_url = \"https://fleet.example\"\nbackend = \"cuda\"\n[[runner]]\nname = \"gpu\"\n"
	return map[string]refusal{
		"no server with a credential":  {file: "", want: "server_url"},
		"plain http off loopback":      {file: "server_url = \"http://192.0.2.1\"\nbuiltins = [\"checksum\"]\n", want: "allow_plain_http"},
		"slots 0":                      {file: base + "slots = 0", want: "slots"},
		"slots 65":                     {file: base, flags: []string{"--slots", "65"}, want: "slots"},
		"malformed duration":           {file: base + "rpc_timeout = \"ten\"", want: "rpc_timeout"},
		"duration without a unit":      {file: base, environ: []string{"ROCKPOOL_AGENT_STOP_TIMEOUT=10"}, want: "STOP_TIMEOUT"},
		"CA file unreadable":           {file: base + "ca_file = \"/nowhere.pem\"", want: "ca_file"},
		"CA file without TLS":          {file: "server_url = \"http://127.0.0.1\"\nbuiltins = [\"checksum\"]\nca_file = \"/dev/null\"", want: "ca_file"},
		"credential twice":             {file: base, flags: []string{"--license-file", write(t, "license", someCode, 0o600)}, want: "license_file"},
		"credential nowhere":           {file: base, environ: []string{"ROCKPOOL_AGENT_LICENSE="}, want: "license_file"},
		"license file for all to read": {file: base + "license_file = \"" + write(t, "license", someCode, 0o644) + "\"", environ: []string{"ROCKPOOL_AGENT_LICENSE="}, want: "license_file"},
		"state for all to read":        {file: base, state: func(t *testing.T, dir string) { chmod(t, dir, 0o755) }, want: "state_dir"},
		"secret for all to read":       {file: base, state: secretFor(0o644), want: "state_dir"},
		"credential malformed":         {file: base, environ: []string{"ROCKPOOL_AGENT_LICENSE=RPL-AAAA"}, want: "ROCKPOOL_AGENT_LICENSE"},
		"credential of another kind":   {file: base, environ: []string{"ROCKPOOL_AGENT_LICENSE=" + strings.Repeat("A", 43)}, want: "ROCKPOOL_AGENT_LICENSE"},
		"state is a file":              {file: base, state: fileFor, want: "state_dir"},
		"state below a file":           {file: base, flags: []string{"--state-dir", "/dev/null/state"}, want: "state_dir"},
		"secret is none":               {file: base, state: func(t *testing.T, dir string) { spoil(t, dir, "secret") }, want: "state_dir"},
		"registration is none":         {file: base, state: func(t *testing.T, dir string) { spoil(t, dir, "node.json") }, want: "state_dir"},
		"bin for nothing":              {file: base + "[[runner]]\nname = \"x\"\nargv = [\"/bin/true\"]\nbin = \"/bin/true\"", want: "bin"},
		"backend auto":                 {file: base + "backend = \"auto\"", want: "backend"},
		"backend unknown":              {file: base + "backend = \"tpu9\"", want: "backend"},
		"program missing":              {file: base + "[[runner]]\nname = \"x\"\nargv = [\"/nowhere/tool\"]", want: "argv"},
		"self-test fails":              {file: base + "[[runner]]\nname = \"x\"\nargv = [\"/bin/true\"]\nselftest = [\"/bin/false\"]", want: "selftest", code: exitError, alone: true},
		"device not there":             {file: device + "argv = [\"/bin/true\", \"{{backend}}\"]\nselftest = [\"/bin/false\", \"{{backend}}\"]", want: "selftest", code: exitError, alone: true},
		"nothing shows the device":     {file: device + "argv = [\"/bin/true\", \"{{backend}}\"]", want: "backend"},
		"backend not passed on":        {file: device + "argv = [\"/bin/true\"]\nneeds_backend = true", want: "{{backend}}"},
		"no runner":                    {file: "server_url = \"https://fleet.example\"", want: "runner", alone: true},
		"unknown key":                  {file: base + "slot = 1", want: "did you mean slots?"},
		"unknown variable":             {file: base, environ: []string{"ROCKPOOL_AGENT_ROLLE=x"}, want: "did you mean role?"},
		"exec of anything":             {file: "server_url = \"https://fleet.example\"\nbuiltins = [\"exec\"]", want: "exec_allow"},
		"probe of anybody":             {file: "server_url = \"https://fleet.example\"\nbuiltins = [\"http-probe\"]\nprobe_hosts = [\"*\"]", want: "probe_hosts"},
		"jobs' user not there":         {file: base + "job_user = \"no-such-user\"", want: "job_user"},
		"jobs' folder not there":       {file: base + "job_dir = \"/nowhere\"", want: "job_dir"},
		"license in the file":          {file: base + "license = \"" + someCode + "\"", want: "license"},
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func secretFor(mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		secret := filepath.Join(dir, "secret")
		if err := os.WriteFile(secret, []byte(strings.Repeat("A", 43)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		chmod(t, secret, mode)
	}
}

func fileFor(t *testing.T, dir string) {
	if err := errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func spoil(t *testing.T, dir, name string) {
	if err := os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// slow is a runner whose self-test takes longer than a refusal may.
const slow = "\n[[runner]]\nname = \"slow\"\nargv = [\"/bin/true\"]\nselftest = [\"/bin/sleep\", \"5\"]\n"

// TestStart_RefusesWithinASecondInOneLine starts the real program with each
// configuration that it can't honor. One start in twenty must be as quick as
// promised: what else the machine does meanwhile is none of the program's fault.
func TestStart_RefusesWithinASecondInOneLine(t *testing.T) {
	binary := program(t)
	for name, r := range refusals(t) {
		t.Run(name, func(t *testing.T) {
			ran := r.start(t, binary)
			for tries := 1; ran.took > time.Second && tries < 20; tries++ {
				ran = r.start(t, binary)
			}
			if want := cmp.Or(r.code, exitUsage); ran.code != want {
				t.Errorf("ended with %d, want %d", ran.code, want)
			}
			if strings.Count(ran.errs, "\n") != 1 || !strings.Contains(ran.errs, r.want) {
				t.Errorf("printed %q, want one line with %q", ran.errs, r.want)
			}
			if ran.took > time.Second {
				t.Errorf("took %v to refuse", ran.took)
			}
			if strings.Contains(ran.errs, someCode) {
				t.Error("the license code is printed")
			}
		})
	}
}

type ran struct {
	code int
	errs string
	took time.Duration
}

// start runs the program with the refusal's settings until it ends by itself.
func (r refusal) start(t *testing.T, binary string) ran {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if r.state != nil {
		r.state(t, state)
	}
	if !r.alone {
		r.file += slow
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // an agent that starts would run on
	defer cancel()
	command := exec.CommandContext(ctx, binary, append([]string{"--config", write(t, "agent.toml", "state_dir = \""+state+"\"\n"+r.file, 0o600)}, r.flags...)...)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "ROCKPOOL_AGENT_LICENSE=" + someCode}, r.environ...)
	var errs bytes.Buffer
	command.Stderr = &errs
	began := time.Now()
	err := command.Run()
	took := time.Since(began)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ran{command.ProcessState.ExitCode(), errs.String(), took}
}

// TestSettings_EachHasAFlag is the generated part of the command line.
func TestSettings_EachHasAFlag(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"--help"}, nil, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatal(errs.String())
	}
	for _, s := range agent.Settings() {
		flag := "--" + strings.ReplaceAll(s.Name, "_", "-")
		if strings.Contains(out.String(), flag+"=") == s.FileOnly && s.Default != "false" {
			t.Errorf("%s: flag %s, the file only: %v", s.Name, flag, s.FileOnly)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun_CommandsAndExitCodes(t *testing.T) {
	state := t.TempDir() // 0755 or wider: refused
	for name, tc := range map[string]struct {
		args    []string
		environ []string
		code    int
		want    string
	}{
		"version":         {[]string{"version"}, nil, exitOK, "rockpool-agent"},
		"help":            {[]string{"--help"}, nil, exitOK, "--server-url"},
		"unknown command": {[]string{"serve"}, nil, exitUsage, "unexpected argument serve"},
		"unknown flag":    {[]string{"check", "--slot", "1"}, nil, exitUsage, "slot"},
		"license no flag": {[]string{"check", "--license", "x"}, nil, exitUsage, "license"},
		"argument":        {[]string{"check", "x"}, nil, exitUsage, "unexpected argument"},
		"bad setting":     {[]string{"check", "--slots=0"}, nil, exitUsage, "slots: must be 1..64"},
		"bad variable":    {[]string{"check"}, []string{"ROCKPOOL_AGENT_SLOTS=0"}, exitUsage, "slots"},
		"standalone":      {[]string{"check", "--config", "/dev/null"}, nil, exitOK, "good"},
		"no credential": {
			[]string{"check", "--config", "/dev/null", "--server-url", "https://fleet.example", "--builtins", "checksum", "--state-dir", state + "/new"},
			nil, exitUsage, "license_file",
		},
		"a malformed credential": {
			[]string{"check", "--config", "/dev/null", "--server-url", "https://fleet.example", "--builtins", "checksum", "--state-dir", state + "/new"},
			[]string{"ROCKPOOL_AGENT_LICENSE=RPL-AAAA"}, exitUsage, "ROCKPOOL_AGENT_LICENSE",
		},
		"join, bad setting":  {[]string{"join", "https://fleet.example", "--slots=0"}, nil, exitUsage, "slots"},
		"status, bad way":    {[]string{"status", "--config", write(t, "agent.toml", "state_dir = 5", 0o600)}, nil, exitUsage, "state_dir"},
		"status, no TOML":    {[]string{"status", "--config", write(t, "agent.toml", "state_dir =", 0o600)}, nil, exitUsage, "agent.toml"},
		"leave, bad setting": {[]string{"leave", "--slots=0", "--state-dir", state + "/none"}, nil, exitUsage, "slots"},
		"doctor, bad way":    {[]string{"doctor", "--config", "/dev/null", "--server-url", "ftp://x"}, nil, exitUsage, "server_url"},
		"with a credential": {
			[]string{"check", "--config", "/dev/null", "--server-url", "https://fleet.example", "--builtins", "checksum", "--state-dir", state + "/new"},
			[]string{"ROCKPOOL_AGENT_LICENSE=" + someCode}, exitOK, "good",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(tc.args, tc.environ, strings.NewReader(""), &out, &errs)
			if code != tc.code || !strings.Contains(out.String()+errs.String(), tc.want) {
				t.Errorf("code %d, printed %q and %q; want %d and %q", code, out.String(), errs.String(), tc.code, tc.want)
			}
			if tc.code != exitOK && strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("the refusal is not one line: %q", errs.String())
			}
		})
	}
}

func TestReferenceIsCurrent(t *testing.T) {
	written, err := os.ReadFile("../../../docs/agent-cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := run([]string{"docs"}, nil, strings.NewReader(""), &out, &out); code != exitOK || out.String() != string(written) {
		t.Error("docs/agent-cli.md is not what the program says of itself: go generate ./agent/cmd/rockpool-agent")
	}
}

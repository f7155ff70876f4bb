package agent

import (
	"strings"
	"testing"

	"rockpool/agent/internal/runner"
)

// What the wire's rules refuse is said in the words of the settings file.
func TestLoadConfig_NamesWhatItTellsAsTheFileDoes(t *testing.T) {
	link := func(lines string) string { return "[[link]]\npeer = \"a\"\nkind = \"lan\"\n[[link]]\n" + lines }
	for line, want := range map[string]string{
		`memory = { ram = 1, gpu = -5 }`:                 "memory.gpu: ",
		`memory = { "a b" = 1 }`:                         `memory: the name "a b": `,
		`resources = { z = 1, nvenc = -1 }`:              "resources.nvenc: ",
		`resources = { "" = 1 }`:                         `resources: the name "": `,
		`labels = { site = "a", "" = "x" }`:              `labels: the name "": `,
		`labels = { "a\tb" = "x" }`:                      `labels: the name "a\tb": `,
		`endpoints = { publish = "ftp:" }`:               "endpoints.publish: ",
		`endpoints = { "a b" = "https://a" }`:            `endpoints: the name "a b": `,
		link("peer = \"A B\"\nkind = \"lan\""):           "link 2 of 2: peer: ",
		link("peer = \"b\"\nkind = \"a b\""):             "link 2 of 2: kind: ",
		link("peer = \"b\"\nkind = \"lan\"\nmbps = -1"):  "link 2 of 2: mbps: ",
		link("peer = \"a\"\nkind = \"lan\""):             "link 2 of 2: peer: ",
		strings.Repeat("[[link]]\npeer = \"a\"\n", 1000): "link: ",
	} {
		_, err := load(t, good+line)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.ContainsAny(err.Error(), "[]\n\t") {
			t.Errorf("%.60s: %v, want %q", line, err, want)
		}
	}
}

// Whoever lets jobs run programs as the agent's own user is told so, by whatever
// runner they do.
func TestAttack_A60_EachWayToRunAProgramWarns(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		warned bool
	}{
		"checksum":   {func(c *Config) { c.Builtins = []string{"checksum"} }, false},
		"http-probe": {func(c *Config) { c.Builtins, c.ProbeHosts = []string{"http-probe"}, []string{"a"} }, false},
		"exec":       {func(c *Config) { c.Builtins, c.ExecAllow = []string{"exec"}, []string{"true"} }, true},
		"a runner":   {func(c *Config) { c.Runners = []runner.Spec{{Name: "x", Argv: []string{"true"}}} }, true},
		"its bin":    {func(c *Config) { c.Runners = []runner.Spec{{Name: "x", Bin: "true", Argv: []string{"{{bin}}"}}} }, true},
	} {
		cfg := DefaultConfig()
		cfg.ServerURL = "https://fleet.example"
		tc.change(&cfg)
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(cfg.warnings(), "; "); strings.Contains(got, "job_user") != tc.warned {
			t.Errorf("%s: warnings %q", name, got)
		}
	}
}

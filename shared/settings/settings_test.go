package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type config struct {
	Listen string   `toml:"listen" help:"address"`
	Slots  int64    `toml:"slots"`
	Roles  []string `toml:"roles"`
	Open   bool     `toml:"open"`
	Lease  struct {
		Suspect Duration `toml:"suspect"`
	} `toml:"lease"`
	Runners []struct {
		Name string `toml:"name"`
	} `toml:"runner" file:"only"`
}

func defaults() *config {
	c := &config{Listen: "127.0.0.1:1", Slots: 2}
	c.Lease.Suspect = Duration(25 * time.Second)
	return c
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad_LaterSourcesWin(t *testing.T) {
	c := defaults()
	err := Load(c, Sources{
		Prefix:  "RP",
		File:    file(t, "slots = 3\nlisten = \"file:1\"\nroles = [\"a\"]\n[lease]\nsuspect = \"30s\"\n[[runner]]\nname = \"x\"\n"),
		Environ: []string{"RP_LISTEN=env:1", "RP_ROLES=b, c", "OTHER=1", "RP_TEST_URL=x"},
		Flags:   map[string]string{"listen": "flag:1", "open": "true"},
		Foreign: []string{"RP_TEST_"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "flag:1" || c.Slots != 3 || strings.Join(c.Roles, " ") != "b c" || !c.Open ||
		time.Duration(c.Lease.Suspect) != 30*time.Second || len(c.Runners) != 1 {
		t.Errorf("loaded %+v", *c)
	}
}

func TestLoad_RefusesWithTheName(t *testing.T) {
	for name, tc := range map[string]struct {
		from Sources
		want string
	}{
		"unknown key":       {Sources{File: file(t, "slot = 3")}, "unknown setting slot: did you mean slots?"},
		"unknown in table":  {Sources{File: file(t, "[lease]\nsuspekt = \"3s\"")}, "did you mean lease.suspect?"},
		"unknown variable":  {Sources{Environ: []string{"RP_LISTN=x"}}, "unknown environment variable RP_LISTN: did you mean listen?"},
		"malformed in file": {Sources{File: file(t, "[lease]\nsuspect = \"3\"")}, "lease.suspect"},
		"no unit in file":   {Sources{File: file(t, "[lease]\nsuspect = 3")}, "lease.suspect: needs a unit"},
		"malformed in env":  {Sources{Environ: []string{"RP_LEASE_SUSPECT=soon"}}, "RP_LEASE_SUSPECT: \"soon\" is not a duration"},
		"not a number":      {Sources{Flags: map[string]string{"slots": "many"}}, "--slots: \"many\" is not a whole number"},
		"file only":         {Sources{Environ: []string{"RP_RUNNER=x"}}, "RP_RUNNER"},
		"no file":           {Sources{File: "/nowhere.toml"}, "configuration file"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.from.Prefix = "RP"
			err := Load(defaults(), tc.from)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestReference_HasEverySetting(t *testing.T) {
	var names []string
	for _, s := range Reference(defaults(), "RP") {
		names = append(names, s.Name+"="+s.Env+"="+s.Default)
	}
	want := "listen=RP_LISTEN=127.0.0.1:1 slots=RP_SLOTS=2 roles=RP_ROLES= open=RP_OPEN=false lease.suspect=RP_LEASE_SUSPECT=25s runner=="
	if got := strings.Join(names, " "); got != want {
		t.Errorf("reference\n%s\nwant\n%s", got, want)
	}
}

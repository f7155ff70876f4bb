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
	Wait    Duration `toml:"wait" zero:"refused"`
	Runners []struct {
		Name    string         `toml:"name"`
		Timeout Duration       `toml:"timeout" zero:"refused"`
		Codes   []int          `toml:"codes" zero:"refused"`
		Params  map[string]par `toml:"params"`
	} `toml:"runner" file:"only"`
}

type par struct {
	Length int `toml:"max_length" zero:"refused"`
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

func TestLoad_PartialPassesOverWhatIsNoSettingOfIt(t *testing.T) {
	var c struct {
		Listen string `toml:"listen"`
		Slots  int64  `toml:"slots"`
	}
	from := Sources{
		Prefix: "RP", File: file(t, "slots = 3\nlisten = \"file:1\"\nlease = 5\nunknown = \"\"\n[[runner]]\ntimeout = 5\n"),
		Environ: []string{"RP_OPEN=maybe", "RP_LISTEN=env:1"}, Flags: map[string]string{"wait": "x"}, Partial: true,
	}
	if err := Load(&c, from); err != nil || c.Listen != "env:1" || c.Slots != 3 {
		t.Errorf("loaded %+v, %v", c, err)
	}
	from.File = file(t, "slots = \"x\"")
	if err := Load(&c, from); err == nil || !strings.Contains(err.Error(), "slots") {
		t.Errorf("a setting of it that is wrong: %v", err)
	}
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
		"in a list's table": {Sources{File: file(t, "[[runner]]\ntimout = \"3s\"")}, "unknown setting runner.timout: did you mean runner.timeout?"},
		"in a map's table":  {Sources{File: file(t, "[[runner]]\nparams.x.max_lenght = 3")}, "did you mean runner.params.x.max_length?"},
		"of no table":       {Sources{File: file(t, "[[runner]]\nbrand = 3")}, "unknown setting runner.brand: remove it"},
		"below a table":     {Sources{File: file(t, "[[runner]]\nslots = 3")}, "slots belongs above the first table"},
		"zero":              {Sources{File: file(t, "wait = \"0s\"")}, "wait: must not be zero or empty"},
		"zero in env":       {Sources{Environ: []string{"RP_WAIT=0s"}}, "RP_WAIT: must not be zero or empty"},
		"zero in a table":   {Sources{File: file(t, "[[runner]]\ntimeout = \"0h\"")}, "runner.timeout: must not be zero or empty"},
		"an empty list":     {Sources{File: file(t, "[[runner]]\ncodes = []")}, "runner.codes: must not be zero or empty"},
		"zero in a map":     {Sources{File: file(t, "[[runner]]\nparams.x.max_length = 0")}, "runner.params.x.max_length: must not be"},
		"UTF-16":            {Sources{File: file(t, "\xff\xfes\x00")}, "is no UTF-8 text"},
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

func TestLoad_TakesAByteOrderMark(t *testing.T) {
	c := defaults()
	if err := Load(c, Sources{Prefix: "RP", File: file(t, "\ufeffslots = 3\n")}); err != nil || c.Slots != 3 {
		t.Errorf("slots %d, %v", c.Slots, err)
	}
	err := Load(c, Sources{Prefix: "RP", File: file(t, "slots = 3\n= 4\n")})
	if err == nil || !strings.Contains(err.Error(), "c.toml:2: ") || strings.Contains(err.Error(), ": :") {
		t.Errorf("no key: %v", err)
	}
}

func TestReference_HasEverySetting(t *testing.T) {
	var names []string
	for _, s := range Reference(defaults(), "RP") {
		names = append(names, s.Name+"="+s.Env+"="+s.Default)
	}
	want := "listen=RP_LISTEN=127.0.0.1:1 slots=RP_SLOTS=2 roles=RP_ROLES= open=RP_OPEN=false lease.suspect=RP_LEASE_SUSPECT=25s wait=RP_WAIT=0s runner=="
	if got := strings.Join(names, " "); got != want {
		t.Errorf("reference\n%s\nwant\n%s", got, want)
	}
}

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// load reads a configuration of a file's lines and variables.
func load(t *testing.T, content string, environ ...string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadConfig(path, environ, nil)
}

const good = "server_url = \"https://fleet.example\"\nbuiltins = [\"checksum\"]\n"

func TestLoadConfig_LaterSourcesWin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.toml")
	content := good + "slots = 3\nregion = \"ams\"\nrpc_timeout = \"2s\"\n[labels]\nsite = \"a\"\n[[runner]]\nname = \"count\"\nargv = [\"sh\", \"{{in.file}}\"]\ninputs = [\"file\"]\nlog_limit = \"1MiB\"\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"ROCKPOOL_AGENT_SLOTS=4", "ROCKPOOL_AGENT_REGION=fra", "ROCKPOOL_AGENT_CONFIG=" + path, licenseVariable + "=" + licenseCode, "PATH=" + os.Getenv("PATH")}
	cfg, err := LoadConfig("", environ, map[string]string{"slots": "5"})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Slots != 5 || cfg.Region != "fra" || time.Duration(cfg.RPCTimeout) != 2*time.Second || cfg.license != licenseCode || len(cfg.Runners) != 1 || cfg.Runners[0].LogLimit != 1<<20 {
		t.Errorf("loaded %+v", cfg)
	}
	if h := cfg.hello(); len(h.Labels) != 1 || h.Labels[0].Name != "site" || h.Capacity.Slots != 5 {
		t.Errorf("hello %+v", h)
	}
}

func TestLoadConfig_RefusesInOneLineWithTheSetting(t *testing.T) {
	for name, tc := range map[string]struct {
		content string
		environ []string
		want    string
	}{
		"credential without server": {"", []string{licenseVariable + "=x"}, "server_url"},
		"no address":                {"server_url = \"fleet\"", nil, "server_url"},
		"password in the address":   {"server_url = \"https://a:b@fleet.example\"", nil, "server_url"},
		"plain http":                {"server_url = \"http://10.0.0.1\"", nil, "allow_plain_http"},
		"CA without TLS":            {"server_url = \"http://127.0.0.1\"\nca_file = \"/dev/null\"", nil, "ca_file"},
		"CA unreadable":             {good + "ca_file = \"/nowhere.pem\"", nil, "ca_file"},
		"CA empty":                  {good + "ca_file = \"/dev/null\"", nil, "no certificate"},
		"credential twice":          {good + "license_file = \"/dev/null\"", []string{licenseVariable + "=x"}, "given twice"},
		"credential unreadable":     {good + "license_file = \"/nowhere\"", nil, "license_file"},
		"credential is none":        {good + "license_file = \"/etc/passwd\"", nil, "can be read by others"},
		"credential empty":          {good + "license_file = \"/dev/null\"", nil, "is empty"},
		"license in the file":       {good + "license = \"RPL\"", nil, "unknown setting license"},
		"slots 0":                   {good + "slots = 0", nil, "slots: must be 1..64"},
		"slots 65":                  {good + "slots = 65", nil, "slots: must be 1..64"},
		"slots many":                {good, []string{"ROCKPOOL_AGENT_SLOTS=many"}, "ROCKPOOL_AGENT_SLOTS"},
		"duration":                  {good + "rpc_timeout = \"10\"", nil, "rpc_timeout"},
		"rpc_timeout too short":     {good + "rpc_timeout = \"1ms\"", nil, "rpc_timeout"},
		"stop_timeout":              {good + "stop_timeout = \"-1s\"", nil, "stop_timeout"},
		"stop_grace":                {good + "stop_grace = \"1m\"", nil, "stop_grace"},
		"spool below slots":         {good + "slots = 8\nspool_limit = 4", nil, "spool_limit"},
		"input_limit":               {good + "input_limit = \"big\"", nil, "input_limit"},
		"backend auto":              {good + "backend = \"auto\"", nil, "backend"},
		"node_id":                   {good + "node_id = \"Edge 1\"", nil, "node_id"},
		"role":                      {good + "role = \"\"", nil, "role"},
		"region":                    {good + "region = \"A\"", nil, "region"},
		"endpoint":                  {good + "endpoints = { publish = \"javascript:x\" }", nil, "endpoints"},
		"label":                     {good + "labels = { \"\" = \"x\" }", nil, "labels"},
		"runner's key":              {good + "[[runner]]\nname = \"x\"\nargv = [\"sh\"]\ntimout = \"1m\"", nil, "did you mean runner.timeout?"},
		"link's key":                {good + "[[link]]\npeer = \"a\"\nkind = \"lan\"\nmbp = 1", nil, "did you mean link.mbps?"},
		"input_limit of none":       {good, []string{"ROCKPOOL_AGENT_INPUT_LIMIT=0B"}, "ROCKPOOL_AGENT_INPUT_LIMIT: must not be zero"},
		"memory":                    {good + "memory = { ram = -1 }", nil, "memory"},
		"resource":                  {good + "resources = { \"a b\" = 1 }", nil, "resources"},
		"state_dir":                 {good + "state_dir = \"\"", nil, "state_dir"},
		"log_level":                 {good + "log_level = \"loud\"", nil, "log_level"},
		"log_format":                {good + "log_format = \"xml\"", nil, "log_format"},
		"no runner":                 {"server_url = \"https://fleet.example\"", nil, "none is enabled"},
		"unknown built-in":          {"server_url = \"https://fleet.example\"\nbuiltins = [\"exec\"]", nil, "exec"},
		"runner's program":          {good + "[[runner]]\nname = \"x\"\nargv = [\"/nowhere/tool\"]", nil, "/nowhere/tool"},
		"unknown key":               {good + "slot = 1", nil, "did you mean slots?"},
		"unknown key of a runner":   {good + "[[runner]]\nname = \"x\"\nshell = true", nil, "shell"},
		"unknown variable":          {good, []string{"ROCKPOOL_AGENT_BACKENT=cpu"}, "did you mean backend?"},
		"no TOML":                   {"slots", nil, "agent.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tc.content, tc.environ...)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tc.want)
			}
		})
	}
}

func TestLoadConfig_AcceptsWithAWarning(t *testing.T) {
	for name, tc := range map[string]struct {
		content string
		want    string // empty: no warning
	}{
		"an old pool key":    {good + "pool = \"edge\"", "control plane decides"},
		"plain http allowed": {"server_url = \"http://192.0.2.1\"\nallow_plain_http = true\nbuiltins = [\"checksum\"]", "plain http"},
		"loopback":           {"server_url = \"http://[::1]:8700\"\nbuiltins = [\"checksum\"]", ""},
		"tailnet":            {"server_url = \"http://100.64.1.2\"\nallow_plain_http = true\nbuiltins = [\"checksum\"]", ""},
		"standalone":         {"", ""},
		"a probe":            {"server_url = \"https://fleet.example\"\nbuiltins = [\"http-probe\"]\nprobe_hosts = [\"a\"]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := load(t, tc.content)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(cfg.warnings(), "; ")
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("warnings %q, want %q", got, tc.want)
			}
		})
	}
}

func TestStandalone_DoesNothingUntilStopped(t *testing.T) {
	cfg, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	cfg.StateDir = filepath.Join(t.TempDir(), "state")
	n := begin(t, cfg)
	await(t, "the log line", func() bool { return strings.Contains(n.snapshot(), "standalone") })
	n.stop()
	if exists(cfg.StateDir) {
		t.Error("a standalone agent made a state directory")
	}
}

func TestCheck_SaysWhatAStartWould(t *testing.T) {
	cfg := testConfig(t, "https://fleet.example")
	if err := New(cfg, discard()).Check(t.Context()); err != nil {
		t.Error(err)
	}
	cfg.license = ""
	if err := New(cfg, discard()).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "license_file") {
		t.Errorf("without a credential: %v", err)
	}
}

func TestSettings_HaveAHelpLineEach(t *testing.T) {
	for _, s := range Settings() {
		if s.Help == "" {
			t.Errorf("%s has no line for the reference", s.Name)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstall_WritesWhatItPrints(t *testing.T) {
	config := write(t, "agent.toml", base+"state_dir = \"/var/lib/rockpool-agent\"\nstop_timeout = \"30s\"\n", 0o600)
	unit := filepath.Join(t.TempDir(), "system", "rockpool-agent.service")
	var out, errs bytes.Buffer
	if code := run([]string{"install", "--config", config, "--path", unit}, nil, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatal(errs.String())
	}
	written, err := os.ReadFile(unit)
	if err != nil || string(written) != out.String() || !strings.Contains(out.String(), "TimeoutStopSec=45\n") || !strings.Contains(out.String(), "run --config "+config+" ") {
		t.Errorf("%v, wrote\n%s\nprinted\n%s", err, written, out.String())
	}
}

func TestInstall_RefusesWhatWouldNotStart(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"no server": {"", "server_url"},
		"no runner": {"server_url = \"https://fleet.example\"", "runner"},
		"slots":     {base + "slots = 99", "slots"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run([]string{"install", "--path", "-", "--config", write(t, "agent.toml", tc.file, 0o600)}, nil, strings.NewReader(""), &out, &errs)
			if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), tc.want) {
				t.Errorf("code %d, printed %q and %q", code, out.String(), errs.String())
			}
		})
	}
}

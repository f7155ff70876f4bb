package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rockpool/agent/internal/systemd"
)

// UnitPath is where the unit of the service stands unless told otherwise.
const UnitPath = systemd.DefaultPath

// UnitFor gives the text of a systemd unit that runs this program with the
// settings of a file. User is who it runs as; empty: one of its own that exists
// only while it runs.
func UnitFor(file, user string, environ []string, flags map[string]string) (string, error) {
	file = findConfig(file, environ)
	if file == "" {
		return "", fmt.Errorf("there is no settings file yet: rockpool-agent join makes one, or name one with --config")
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("--config: %w", err)
	}
	// What a unit starts sees no variables of this terminal, so none may count here.
	cfg, err := readConfig(file, nil, flags)
	if err != nil {
		return "", err
	}
	cfg.environ = environ
	if err := cfg.Validate(); err != nil {
		return "", err
	}
	if cfg.Standalone() {
		return "", fmt.Errorf("server_url: is missing in %s: rockpool-agent join sets it", file)
	}
	if user == "" && cfg.JobUser != "" {
		user = "root" // who else could run jobs as another user
	}
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return systemd.Unit{
		Program: program, ConfigFile: file, StateDir: cfg.StateDir, JobDir: cfg.JobDir, User: user,
		StopTimeout: time.Duration(cfg.StopTimeout), Devices: cfg.Backend != "cpu",
	}.Text()
}

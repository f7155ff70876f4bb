package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestUnit_SaysWhatTheSettingsDo(t *testing.T) {
	base := Unit{Program: "/usr/bin/rockpool-agent", ConfigFile: "/etc/rockpool/agent.toml", StateDir: "/var/lib/rockpool-agent", StopTimeout: 5 * time.Minute}
	for name, tc := range map[string]struct {
		change       func(*Unit)
		want, refuse []string
	}{
		"default": {func(*Unit) {}, []string{
			"Type=notify", "TimeoutStopSec=315\n", "WatchdogSec=180\n", "DynamicUser=yes", "StateDirectory=rockpool-agent", "ProtectSystem=strict", "NoNewPrivileges=yes", "PrivateDevices=yes",
			"ExecStart=/usr/bin/rockpool-agent run --config /etc/rockpool/agent.toml --state-dir /var/lib/rockpool-agent\n",
		}, []string{"ReadWritePaths", "User=r"}},
		"own user and folder": {func(u *Unit) { u.User, u.StateDir = "rockpool", "/srv/pool" }, []string{"User=rockpool\n", "ReadWritePaths=/srv/pool\n"}, []string{"DynamicUser", "StateDirectory"}},
		"stop timeout":        {func(u *Unit) { u.StopTimeout = 1500 * time.Millisecond }, []string{"TimeoutStopSec=17\n"}, nil},
		"folder of jobs":      {func(u *Unit) { u.JobDir = "/var/lib/rockpool-jobs" }, []string{"StateDirectory=rockpool-agent", "ReadWritePaths=/var/lib/rockpool-jobs\n"}, nil},
		"root":                {func(u *Unit) { u.User = "root" }, []string{"User=root\n", "CAP_SETUID"}, []string{"CapabilityBoundingSet=\n"}},
		"devices":             {func(u *Unit) { u.Devices = true }, nil, []string{"PrivateDevices"}},
	} {
		t.Run(name, func(t *testing.T) {
			u := base
			tc.change(&u)
			text, err := u.Text()
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range tc.want {
				if !strings.Contains(text, line) {
					t.Errorf("no %q in\n%s", line, text)
				}
			}
			for _, line := range tc.refuse {
				if strings.Contains(text, line) {
					t.Errorf("%q in\n%s", line, text)
				}
			}
		})
	}
	base.StateDir = "/home/ada/state"
	if _, err := base.Text(); err == nil || !strings.Contains(err.Error(), "home folder") {
		t.Errorf("state in a home folder: %v", err)
	}
	base.StateDir = "/var/lib/my agent"
	if _, err := base.Text(); err == nil || !strings.Contains(err.Error(), "state_dir") {
		t.Errorf("a path with a space: %v", err)
	}
}

func TestUnit_IsTakenBySystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here")
	}
	text, err := Unit{Program: "/bin/true", ConfigFile: "/etc/rockpool/agent.toml", StateDir: "/var/lib/rockpool-agent", StopTimeout: time.Minute}.Text()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), Name+".service")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", path).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, Name+".service") {
			t.Errorf("systemd says: %s", line)
		}
	}
	t.Logf("%v: %s", err, out)
}

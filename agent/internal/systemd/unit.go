package systemd

import (
	"bytes"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// Name of the unit and of the folders that systemd makes for it.
const Name = "rockpool-agent"

// DefaultPath is where an administrator's units stand.
const DefaultPath = "/etc/systemd/system/" + Name + ".service"

// Margin is what the supervisor waits beyond the agent's own stop timeout.
const Margin = 15 * time.Second

// Watchdog is how long a session may go without an acknowledged heartbeat: the
// agent gives such a session up before, and is started anew only if it can't.
const Watchdog = 3 * time.Minute

// Unit is what a service is made of.
type Unit struct {
	Program     string // absolute path
	ConfigFile  string
	StateDir    string
	JobDir      string // empty: in StateDir
	User        string // empty: one that exists only while the service runs
	StopTimeout time.Duration
	Devices     bool // jobs need the machine's devices
}

var unitText = template.Must(template.New("unit").Parse(`[Unit]
Description=Rockpool agent
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={{.Program}} run --config {{.ConfigFile}} --state-dir {{.StateDir}}
# A setting that can't be honored, and a node that has left, take a person.
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus=64
# Fed by acknowledged heartbeats while a session is open.
WatchdogSec={{.WatchdogSeconds}}
# Jobs get stop_timeout; the signal goes to the agent, which ends its jobs.
TimeoutStopSec={{.StopSeconds}}
KillMode=mixed

{{if .User}}User={{.User}}
{{else}}DynamicUser=yes
{{end}}{{if .OwnState}}StateDirectory=` + Name + `
StateDirectoryMode=0700
{{else}}ReadWritePaths={{.StateDir}}
{{end}}{{if .JobDir}}ReadWritePaths={{.JobDir}}
{{end}}UMask=0077
# The control groups of jobs are the agent's to make.
Delegate=yes

NoNewPrivileges=yes
{{if eq .User "root"}}# To run jobs as another user, and to end them.
CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_KILL CAP_CHOWN CAP_FOWNER CAP_DAC_OVERRIDE
{{else}}CapabilityBoundingSet=
{{end}}ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
{{if not .Devices}}PrivateDevices=yes
{{end}}ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
`))

// Text is the unit's file. A path with white space, quotes or a percent sign is
// refused: systemd would read something else. So is one in a home folder, which
// the service does not see.
func (u Unit) Text() (string, error) {
	for setting, path := range map[string]string{"program": u.Program, "--config": u.ConfigFile, "state_dir": u.StateDir, "job_dir": "/" + strings.TrimPrefix(u.JobDir, "/"), "--user": "/" + u.User} {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t\r\n\"'\\%$;") {
			return "", fmt.Errorf("%s: %q can't stand in a unit: use an absolute path without white space, quotes, %%, $ and ;", setting, path)
		}
	}
	for setting, path := range map[string]string{"program": u.Program, "--config": u.ConfigFile, "state_dir": u.StateDir, "job_dir": u.JobDir} {
		if strings.HasPrefix(path, "/home/") || strings.HasPrefix(path, "/root/") {
			return "", fmt.Errorf("%s: %s is in a home folder, which the service does not see: put it somewhere else", setting, path)
		}
	}
	var text bytes.Buffer
	err := unitText.Execute(&text, struct {
		Unit
		OwnState                     bool
		StopSeconds, WatchdogSeconds int64
	}{u, u.StateDir == "/var/lib/"+Name, seconds(u.StopTimeout + Margin), seconds(Watchdog)})
	return text.String(), err
}

// seconds rounds up: the supervisor must not be the more hasty one.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

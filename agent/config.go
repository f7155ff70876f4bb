package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"rockpool/agent/internal/runner"
	"rockpool/shared/nodecore"
	"rockpool/shared/settings"
)

// EnvPrefix begins the agent's environment variables: ROCKPOOL_AGENT_SLOTS.
const EnvPrefix = "ROCKPOOL_AGENT"

// Variables that are no settings: the license code, which no file of settings and
// no command line may hold, and where the file of settings lies.
const (
	licenseVariable = "ROCKPOOL_AGENT_LICENSE"
	configVariable  = "ROCKPOOL_AGENT_CONFIG"
)

// DefaultConfigFile is read when no other is named and it is there; the file of
// the same name in the user's own folder comes before it.
const DefaultConfigFile = "/etc/rockpool/agent.toml"

// findConfig is where the file of settings lies: the one that is named, else the
// first of the default ones that is there; empty: there is none.
func findConfig(named string, environ []string) string {
	if named == "" {
		named = variable(environ, configVariable)
	}
	if named != "" {
		return named
	}
	for _, file := range []string{ownConfigFile(), DefaultConfigFile} {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// ownConfigFile is the machine's for root and in the user's own folder otherwise.
func ownConfigFile() string {
	dir, err := os.UserConfigDir()
	if err != nil || os.Geteuid() == 0 {
		return DefaultConfigFile
	}
	return filepath.Join(dir, "rockpool", "agent.toml")
}

// Config of the agent. A field with a toml tag is a setting, from the file, the
// environment or a flag; docs/agent-settings.md is generated from this struct.
type Config struct {
	ServerURL      string `toml:"server_url" help:"https address of the control plane; empty: the agent runs standalone and does nothing"`
	CAFile         string `toml:"ca_file" help:"PEM file with certificates to trust beside the system's"`
	AllowPlainHTTP bool   `toml:"allow_plain_http" help:"accept http to another machine: secrets travel readable"`
	LicenseFile    string `toml:"license_file" help:"file with the license code, read at every dial until the node is registered; or the variable ROCKPOOL_AGENT_LICENSE"`
	StateDir       string `toml:"state_dir" help:"directory of the node's secret, results and jobs; nobody else's, mode 0700"`

	NodeID    string            `toml:"node_id" help:"name that the node asks for at its first registration; empty: the control plane names it"`
	Role      string            `toml:"role" help:"role that the node asks for at its first registration"`
	Region    string            `toml:"region" help:"where the node is"`
	Endpoints map[string]string `toml:"endpoints" file:"only" help:"addresses by name (webrtc, publish, abr …) that placements hand out"`
	Labels    map[string]string `toml:"labels" file:"only" help:"labels by name"`
	Links     []Link            `toml:"link" file:"only" help:"links to other nodes, one table each: peer, kind, mbps"`
	OldPool   string            `toml:"pool" help:"has no effect: the control plane decides a node's pool"`

	Slots     int64            `toml:"slots" help:"jobs that run at one time, 1 to 64"`
	Resources map[string]int64 `toml:"resources" file:"only" help:"further resources by name, in units"`
	Memory    map[string]int64 `toml:"memory" file:"only" help:"memory that jobs may reserve by domain, in MiB"`
	Backend   string           `toml:"backend" help:"the one backend that this node runs: cpu, cuda, hip, metal, opencl, openvino, qsv, rocm, sycl, vaapi or vulkan"`
	Builtins  []string         `toml:"builtins" help:"built-in runners to enable: checksum, exec, http-probe"`
	Runners   []runner.Spec    `toml:"runner" file:"only" help:"runners, one table each"`

	ExecAllow  []string `toml:"exec_allow" help:"programs that jobs of the built-in runner exec may run with arguments of their own"`
	ProbeHosts []string `toml:"probe_hosts" help:"hosts that jobs of the built-in runner http-probe may ask: host for ports 80 and 443, or host:port"`

	JobUser     string            `toml:"job_user" help:"user of this machine that jobs run as, so that they can't read what is the agent's; needs an agent that root has started, and job_dir"`
	JobDir      string            `toml:"job_dir" help:"folder in which jobs get theirs; empty: in state_dir"`
	InputLimit  runner.Size       `toml:"input_limit" zero:"refused" help:"largest input of a job"`
	DiskFree    runner.Size       `toml:"disk_free" help:"bytes of the state directory's disk that must be free for new work; 0B: no bound"`
	SpoolLimit  int64             `toml:"spool_limit" help:"results that may wait for the control plane; full: no new work"`
	RPCTimeout  settings.Duration `toml:"rpc_timeout" help:"longest wait for any answer of the control plane, 100ms to 5m"`
	StopTimeout settings.Duration `toml:"stop_timeout" help:"how long running jobs may go on after SIGTERM"`
	StopGrace   settings.Duration `toml:"stop_grace" help:"from TERM to KILL when this node ends a job by itself, at most 7s; a cancel brings its own"`

	LogLevel  string `toml:"log_level" help:"debug, info, warn or error"`
	LogFormat string `toml:"log_format" help:"text or json"`

	license      string        // from the environment
	environ      []string      // of the agent; runners see the allowed part
	refused      error         // why no agent would start with it
	startTimeout time.Duration // from accept to start; 0: the default
	selfTestWait time.Duration // of a node that holds itself; 0: the default
}

// Link is a way to another node, as its owner knows it.
type Link struct {
	Peer string `toml:"peer" help:"the other node's id"`
	Kind string `toml:"kind" help:"what kind of way it is: lan, wan, nvlink …"`
	Mbps int64  `toml:"mbps" help:"bandwidth in Mbit/s"`
}

// DefaultConfig holds every setting's default.
func DefaultConfig() Config {
	return Config{
		StateDir: defaultStateDir(), Role: "worker", Slots: min(int64(runtime.NumCPU()), maxSlots), Backend: "cpu",
		InputLimit: 4 << 30, DiskFree: 256 << 20, SpoolLimit: nodecore.DefaultSpoolMax, RPCTimeout: settings.Duration(10 * time.Second),
		StopTimeout: settings.Duration(5 * time.Minute), StopGrace: settings.Duration(5 * time.Second),
		LogLevel: "info", LogFormat: "text",
	}
}

// defaultStateDir is the machine's folder for root and the user's own otherwise.
func defaultStateDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/rockpool-agent"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "rockpool-agent")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "rockpool-agent"
	}
	return filepath.Join(home, ".local", "state", "rockpool-agent")
}

// LoadConfig reads defaults, file (empty: the variable ROCKPOOL_AGENT_CONFIG, or
// the default file if there is one), environment and flags (by setting's name),
// and validates the whole. The error, a SettingError, is one line that names the setting.
func LoadConfig(file string, environ []string, flags map[string]string) (Config, error) {
	cfg, err := readConfig(findConfig(file, environ), environ, flags)
	if err == nil {
		err = cfg.Validate()
	}
	if err != nil {
		return Config{}, SettingError{err}
	}
	return cfg, nil
}

// readConfig is LoadConfig without the validation, of the file that is named.
func readConfig(file string, environ []string, flags map[string]string) (Config, error) {
	cfg := DefaultConfig()
	err := settings.Load(&cfg, settings.Sources{
		Prefix: EnvPrefix, File: file, Environ: environ, Flags: flags, Foreign: []string{licenseVariable, configVariable},
	})
	if err != nil {
		return Config{}, oneLine(err)
	}
	cfg.license, cfg.environ = strings.TrimSpace(variable(environ, licenseVariable)), environ
	return cfg, nil
}

// Settings lists every setting for a reference.
func Settings() []settings.Setting {
	cfg := DefaultConfig()
	return settings.Reference(&cfg, EnvPrefix)
}

func variable(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// oneLine keeps a message of a parser to its first line.
func oneLine(err error) error {
	first, _, more := strings.Cut(err.Error(), "\n")
	if !more {
		return err
	}
	return fmt.Errorf("%s", first)
}

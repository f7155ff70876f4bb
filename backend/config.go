// Package backend is Rockpool's server: Run puts its parts together and is the
// only place that does.
package backend

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

// EnvPrefix begins the server's environment variables: ROCKPOOL_LISTEN.
const EnvPrefix = "ROCKPOOL"

// Config of the server. Each setting may come from the file, the environment or
// a flag; docs/server-settings.md is generated from this struct.
type Config struct {
	Name          string `toml:"name" help:"what the console calls this fleet, at most 24 characters; empty: nothing"`
	Listen        string `toml:"listen" help:"address of API and channel"`
	MetricsListen string `toml:"metrics_listen" help:"address of metrics and profiles, loopback only; empty: off"`
	DataDir       string `toml:"data_dir" help:"folder of the private PostgreSQL and of artifacts"`
	TLSCert       string `toml:"tls_cert" help:"PEM file with the certificate chain; with tls_key the server speaks TLS"`
	TLSKey        string `toml:"tls_key" help:"PEM file with the private key"`

	Database  Database  `toml:"database"`
	Postgres  Postgres  `toml:"postgres"`
	Lease     Lease     `toml:"lease"`
	Queue     Queue     `toml:"queue"`
	Retention Retention `toml:"retention"`
	Artifact  Artifact  `toml:"artifact"`
	Log       Log       `toml:"log"`
}

// Database names an external PostgreSQL. Without a URL the server runs its own.
type Database struct {
	URL      string `toml:"url" help:"connection string of an external PostgreSQL; empty: a private one"`
	AdminURL string `toml:"admin_url" help:"connection string of the role that owns the tables, used for migrations only; empty: url"`
	Unsafe   bool   `toml:"unsafe" help:"run although fsync or synchronous_commit is off: answered work can be lost"`
}

// Postgres is the private PostgreSQL.
type Postgres struct {
	BinDir string `toml:"bin_dir" help:"folder with initdb and postgres; empty: search"`
}

// Lease times are the server's; nodes learn them in welcome.
type Lease struct {
	Heartbeat    settings.Duration `toml:"heartbeat" help:"how often a node says that it lives, 1s to 60s"`
	Suspect      settings.Duration `toml:"suspect" help:"silence after which a node gets no new work, at least 2.5 heartbeats"`
	Lost         settings.Duration `toml:"lost" help:"silence after which a node's work runs elsewhere, at least 6 heartbeats"`
	RedialWindow settings.Duration `toml:"redial_window" help:"over which nodes spread their first redial"`
	OfferTimeout settings.Duration `toml:"offer_timeout" help:"how long an offer waits for an answer"`
}

// Queue bounds what waits.
type Queue struct {
	Limit int64 `toml:"limit" help:"jobs of one app that may wait for one pool, 1 to 10000000"`
}

// Retention is how long history is kept. What is open or lasts stays in any case.
type Retention struct {
	Jobs   settings.Duration `toml:"jobs" help:"how long jobs are kept after the day they were made, and placements after their end; at least 24h, 0s: for ever"`
	Alarms settings.Duration `toml:"alarms" help:"how long alarms are kept after they resolved; at least 24h, 0s: for ever"`

	Artifacts settings.Duration `toml:"artifacts" help:"how long an artifact is kept after its upload when no kept job names it; at least 24h, 0s: for ever"`
	Uploads   settings.Duration `toml:"uploads" help:"how long an upload that broke off can go on; at least 1h"`
}

// Artifact bounds what is uploaded.
type Artifact struct {
	MaxBytes   int64 `toml:"max_bytes" help:"largest artifact, in bytes"`
	OwnerBytes int64 `toml:"owner_bytes" help:"all artifacts of one user, outputs of the user's apps among them, in bytes; 0: no bound"`
	TotalBytes int64 `toml:"total_bytes" help:"all artifacts together, in bytes; 0: what the disk takes"`
}

// Log says how the server speaks.
type Log struct {
	Level  string `toml:"level" help:"debug, info, warn or error"`
	Format string `toml:"format" help:"text or json"`
}

// DefaultConfig holds every setting's default.
func DefaultConfig() Config {
	return Config{
		Listen:  "127.0.0.1:8700",
		DataDir: defaultDataDir(),
		Lease: Lease{
			Heartbeat: seconds(10), Suspect: seconds(25), Lost: seconds(90), RedialWindow: seconds(5), OfferTimeout: seconds(5),
		},
		Queue:     Queue{Limit: 100_000},
		Retention: Retention{Jobs: days(30), Alarms: days(90), Artifacts: days(7), Uploads: days(1)},
		Artifact:  Artifact{MaxBytes: 1 << 30, OwnerBytes: 100 << 30},
		Log:       Log{Level: "info", Format: "text"},
	}
}

func seconds(n int64) settings.Duration { return settings.Duration(n * int64(time.Second)) }

func days(n int64) settings.Duration { return settings.Duration(n * int64(24*time.Hour)) }

// defaultDataDir is the machine's folder for root and the user's own otherwise.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/rockpool"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "rockpool")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "rockpool-data"
	}
	return filepath.Join(home, ".local", "share", "rockpool")
}

// foreignVariables begin with ROCKPOOL_ too, but are the CLI's, the agent's or
// the tests'.
var foreignVariables = []string{
	"ROCKPOOL_AGENT_", "ROCKPOOL_TEST_", "ROCKPOOL_SERVER", "ROCKPOOL_TOKEN", "ROCKPOOL_CREDENTIALS",
	"ROCKPOOL_JOB", "ROCKPOOL_ATTEMPT", "ROCKPOOL_CONFIG",
}

// LoadConfig reads defaults, file (empty: none), environment and flags (by
// setting's name, e.g. lease.suspect) and validates the whole.
func LoadConfig(file string, environ []string, flags map[string]string) (Config, error) {
	cfg := DefaultConfig()
	err := settings.Load(&cfg, settings.Sources{
		Prefix: EnvPrefix, File: file, Environ: environ, Flags: flags, Foreign: foreignVariables,
	})
	if err != nil {
		return Config{}, err
	}
	return cfg, cfg.Validate()
}

// Validate refuses what the server could not honor, naming the setting.
func (c *Config) Validate() error {
	checks := []func() error{c.validateName, c.validateListen, c.validateTLS, c.Lease.validate, c.Queue.validate, c.Retention.validate, c.Log.validate, c.validateFolders}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) validate() error {
	if q.Limit < 1 || q.Limit > 10_000_000 {
		return fmt.Errorf("queue.limit: %d is not 1 to 10000000", q.Limit)
	}
	return nil
}

// maxName is what the console's sidebar has room for.
const maxName = 24

func (c *Config) validateName() error {
	if n := utf8.RuneCountInString(c.Name); n > maxName {
		return fmt.Errorf("name: has %d characters; at most %d", n, maxName)
	}
	if wire.CleanText(c.Name, maxName*utf8.UTFMax) != c.Name {
		return fmt.Errorf("name: %q has characters that cannot be shown", c.Name)
	}
	return nil
}

func (c *Config) validateListen() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("listen: %q is not host:port", c.Listen)
	}
	if c.MetricsListen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(c.MetricsListen)
	if err != nil {
		return fmt.Errorf("metrics_listen: %q is not host:port", c.MetricsListen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("metrics_listen: %q is not a loopback address; metrics have no sign-in, use 127.0.0.1", c.MetricsListen)
	}
	return nil
}

func (c *Config) validateTLS() error {
	if c.TLSCert == "" && c.TLSKey == "" {
		return nil
	}
	if c.TLSCert == "" {
		return fmt.Errorf("tls_cert: missing although tls_key is set; set both or none")
	}
	if c.TLSKey == "" {
		return fmt.Errorf("tls_key: missing although tls_cert is set; set both or none")
	}
	if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
		return fmt.Errorf("tls_cert: %w", err)
	}
	return nil
}

func (c *Config) validateFolders() error {
	if c.DataDir == "" {
		return fmt.Errorf("data_dir: is empty; name a folder")
	}
	if err := c.Artifact.validate(); err != nil {
		return err
	}
	if c.Database.AdminURL != "" && c.Database.URL == "" {
		return fmt.Errorf("database.admin_url: set although database.url is not; set both or none")
	}
	return nil
}

func (a Artifact) validate() error {
	switch {
	case a.MaxBytes < 1:
		return fmt.Errorf("artifact.max_bytes: must be at least 1")
	case a.OwnerBytes < 0 || a.OwnerBytes > 0 && a.OwnerBytes < a.MaxBytes:
		return fmt.Errorf("artifact.owner_bytes: must be at least artifact.max_bytes (%d), or 0 for no bound", a.MaxBytes)
	case a.TotalBytes < 0 || a.TotalBytes > 0 && a.TotalBytes < a.MaxBytes:
		return fmt.Errorf("artifact.total_bytes: must be at least artifact.max_bytes (%d), or 0 for what the disk takes", a.MaxBytes)
	}
	return nil
}

func (l Lease) validate() error {
	beat := time.Duration(l.Heartbeat)
	if beat < time.Second || beat > time.Minute {
		return fmt.Errorf("lease.heartbeat: %v is not between 1s and 60s", beat)
	}
	if 2*time.Duration(l.Suspect) < 5*beat {
		return fmt.Errorf("lease.suspect: %v is under 2.5 heartbeats (%v)", l.Suspect, 5*beat/2)
	}
	if time.Duration(l.Lost) < 6*beat || l.Lost <= l.Suspect {
		return fmt.Errorf("lease.lost: %v is under 6 heartbeats (%v) or not above lease.suspect", l.Lost, 6*beat)
	}
	if l.RedialWindow < 0 || time.Duration(l.RedialWindow) > 10*time.Minute {
		return fmt.Errorf("lease.redial_window: %v is not between 0s and 10m", l.RedialWindow)
	}
	if time.Duration(l.OfferTimeout) < 100*time.Millisecond || time.Duration(l.OfferTimeout) > time.Minute {
		return fmt.Errorf("lease.offer_timeout: %v is not between 100ms and 1m", l.OfferTimeout)
	}
	return nil
}

func (r Retention) validate() error {
	if r.Jobs != 0 && r.Jobs < days(1) {
		return fmt.Errorf("retention.jobs: %v is under 24h; 0s keeps them for ever", r.Jobs)
	}
	if r.Alarms != 0 && r.Alarms < days(1) {
		return fmt.Errorf("retention.alarms: %v is under 24h; 0s keeps them for ever", r.Alarms)
	}
	if r.Artifacts != 0 && r.Artifacts < days(1) {
		return fmt.Errorf("retention.artifacts: %v is under 24h; 0s keeps them for ever", r.Artifacts)
	}
	if time.Duration(r.Uploads) < time.Hour {
		return fmt.Errorf("retention.uploads: %v is under 1h", r.Uploads)
	}
	return nil
}

func (l Log) validate() error {
	switch strings.ToLower(l.Level) {
	case "debug", "info", "warn", "error":
	default:
		return fmt.Errorf("log.level: %q is not debug, info, warn or error", l.Level)
	}
	if l.Format != "text" && l.Format != "json" {
		return fmt.Errorf("log.format: %q is not text or json", l.Format)
	}
	return nil
}

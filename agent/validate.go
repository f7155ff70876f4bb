package agent

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"rockpool/agent/internal/durable"
	"rockpool/agent/internal/runner"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

// Bounds of settings.
const (
	maxSlots      = 64
	maxStopGrace  = 7 * time.Second // grace and last acknowledgements fit into the 15 s that a supervisor adds
	minRPCTimeout = 100 * time.Millisecond
	maxRPCTimeout = 5 * time.Minute
)

// Validate refuses what the agent could not honor: one line that names the setting
// and says what to do.
func (c *Config) Validate() error {
	checks := []func() error{
		c.validateServer, c.validateCredential, c.validateNames, c.validateCapacity, c.validateTimes, c.validateLog, c.validateHello, c.validateLinks, c.validateJobs, c.validateRunners,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Standalone reports that there is no control plane to talk to.
func (c *Config) Standalone() bool { return c.ServerURL == "" }

func (c *Config) validateServer() error {
	if c.Standalone() {
		if c.LicenseFile != "" || c.license != "" {
			return fmt.Errorf("server_url: is missing although a license code is given: set it to the control plane's https address")
		}
		return nil
	}
	u, err := url.Parse(c.ServerURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("server_url: must be an address such as https://fleet.example")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("server_url: must hold no user, password, query or fragment")
	case u.Scheme == "http" && !isLoopback(u.Hostname()) && !c.AllowPlainHTTP:
		return fmt.Errorf("server_url: http to another machine shows secrets to the network: use https, or set allow_plain_http = true")
	case u.Scheme == "http" && c.CAFile != "":
		return fmt.Errorf("ca_file: has no effect without https in server_url: remove it")
	}
	_, err = c.tls()
	return err
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// isTailnet reports the ranges of a private network that encrypts by itself.
func isTailnet(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && (netip.MustParsePrefix("100.64.0.0/10").Contains(addr) || netip.MustParsePrefix("fd7a:115c:a1e0::/48").Contains(addr))
}

// tls is the configuration of both the channel and artifacts; nil: the system's.
func (c *Config) tls() (*tls.Config, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca_file: %s holds no certificate in PEM form", c.CAFile)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, nil
}

func (c *Config) validateCredential() error {
	if c.LicenseFile != "" && c.license != "" {
		return fmt.Errorf("license_file: the license code is given twice, here and in %s: keep one", licenseVariable)
	}
	_, err := c.licenseCode()
	return err
}

// licenseShape is that of every code, as people type it; anything else would be refused
// by the control plane for ever.
var licenseShape = regexp.MustCompile(`(?i)^RPL(-?[A-Z2-7]){32}$`)

// licenseCode reads the license code; empty: none is configured.
func (c *Config) licenseCode() (string, error) {
	code, source := c.license, licenseVariable
	if c.LicenseFile != "" {
		var err error
		if code, err = ReadCredential(c.LicenseFile); err != nil {
			return "", fmt.Errorf("license_file: %w", err)
		}
		if code == "" {
			return "", fmt.Errorf("license_file: %s is empty", c.LicenseFile)
		}
		source = "license_file: " + c.LicenseFile
	}
	if code != "" && !licenseShape.MatchString(code) {
		return "", fmt.Errorf("%s holds no license code: it reads RPL-XXXX-XXXX-… with eight groups", source)
	}
	return code, nil
}

// ReadCredential reads a file of a secret, which must be its owner's alone.
func ReadCredential(path string) (string, error) {
	if err := durable.CheckPrivate(path); err != nil {
		return "", err
	}
	content, err := os.ReadFile(path)
	return strings.TrimSpace(string(content)), err
}

func (c *Config) validateNames() error {
	if c.StateDir == "" {
		return fmt.Errorf("state_dir: is empty: name a directory of the agent's own")
	}
	for _, n := range []struct {
		setting, value string
		needed         bool
	}{{"node_id", c.NodeID, false}, {"role", c.Role, true}, {"region", c.Region, false}} {
		if n.value == "" && !n.needed {
			continue
		}
		if err := ids.CheckName(n.value); err != nil {
			return fmt.Errorf("%s: %w", n.setting, err)
		}
	}
	return nil
}

func (c *Config) validateCapacity() error {
	switch {
	case c.Slots < 1 || c.Slots > maxSlots:
		return fmt.Errorf("slots: must be 1..%d", maxSlots)
	case c.SpoolLimit < c.Slots || c.SpoolLimit > 100_000:
		return fmt.Errorf("spool_limit: must be from slots to 100000")
	case c.InputLimit < 0:
		return fmt.Errorf("input_limit: must not be negative")
	case c.DiskFree < 0:
		return fmt.Errorf("disk_free: must not be negative")
	case !slices.Contains(wire.Backends, c.Backend):
		return fmt.Errorf("backend: %q is none of %s: name the one that this node runs", c.Backend, strings.Join(wire.Backends, ", "))
	}
	return nil
}

func (c *Config) validateTimes() error {
	switch {
	case time.Duration(c.RPCTimeout) < minRPCTimeout || time.Duration(c.RPCTimeout) > maxRPCTimeout:
		return fmt.Errorf("rpc_timeout: must be %v to %v", minRPCTimeout, maxRPCTimeout)
	case c.StopTimeout < 0:
		return fmt.Errorf("stop_timeout: must not be negative")
	case c.StopGrace < 0 || time.Duration(c.StopGrace) > maxStopGrace:
		return fmt.Errorf("stop_grace: must be 0s to %v", maxStopGrace)
	}
	return nil
}

func (c *Config) validateLog() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil || !slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel) {
		return fmt.Errorf("log_level: %q is none of debug, info, warn, error", c.LogLevel)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return fmt.Errorf("log_format: %q is neither text nor json", c.LogFormat)
	}
	return nil
}

// validateJobs refuses a user that jobs can't become, and folders that it can't enter.
func (c *Config) validateJobs() error {
	if c.JobDir != "" {
		if info, err := os.Stat(c.JobDir); err != nil || !info.IsDir() || !filepath.IsAbs(c.JobDir) {
			return fmt.Errorf("job_dir: %q is no folder: make it, and name it from the root", c.JobDir)
		}
	}
	if c.JobUser == "" {
		return nil
	}
	if _, err := runner.LookAccount(c.JobUser); err != nil {
		return fmt.Errorf("job_user: %w", err)
	}
	if c.JobDir == "" {
		return fmt.Errorf("job_dir: must be set with job_user, who can't enter state_dir: name a folder that everybody may pass through (install -d -m 711 /var/lib/rockpool-jobs)")
	}
	for dir := filepath.Clean(c.JobDir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("job_dir: job_user can't pass through %s: chmod o+x it, or name another folder", dir)
		}
	}
	return nil
}

// jobs is the folder of jobs; agents that share a job_dir have one each.
func (c *Config) jobs(state string) string {
	if c.JobDir == "" {
		return filepath.Join(state, "jobs")
	}
	name := sha256.Sum256([]byte(state))
	return filepath.Join(c.JobDir, "jobs-"+hex.EncodeToString(name[:4]))
}

func (c *Config) validateRunners() error {
	if c.Standalone() && len(c.Runners)+len(c.Builtins) == 0 {
		return nil
	}
	_, err := c.book()
	return err
}

// book makes the runners ready for use.
func (c *Config) book() (*runner.Book, error) {
	book, err := runner.NewBook(slices.Clone(c.Runners), runner.Builtins{Enabled: c.Builtins, Exec: c.ExecAllow, ProbeHosts: c.ProbeHosts}, c.Backend, c.environ)
	if err != nil || c.JobUser == "" {
		return book, err
	}
	account, err := runner.LookAccount(c.JobUser)
	if err != nil {
		return nil, fmt.Errorf("job_user: %w", err)
	}
	book.As(account)
	return book, nil
}

// warnings are what is honored and yet should be read.
func (c *Config) warnings() (list []string) {
	if c.OldPool != "" {
		list = append(list, "pool: has no effect: the control plane decides a node's pool; remove it")
	}
	if u, err := url.Parse(c.ServerURL); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) && !isTailnet(u.Hostname()) {
		list = append(list, "server_url: plain http to another machine: secrets and results can be read on the way")
	}
	book, err := c.book()
	if err != nil {
		return list
	}
	if c.JobUser == "" && len(book.Programs()) > 0 {
		list = append(list, "job_user: is not set: jobs run as the agent's own user and can read its secret and change its files; docs/runners.md says how to keep them apart")
	}
	return append(list, book.Warnings()...)
}

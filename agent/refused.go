package agent

import (
	"errors"

	"rockpool/agent/internal/identity"
	"rockpool/shared/settings"
)

// SettingError is a setting that is wrong, or what it names: another start would
// end the same way.
type SettingError struct{ err error }

func (e SettingError) Error() string { return e.err.Error() }

// Unwrap gives what is wrong.
func (e SettingError) Unwrap() error { return e.err }

// openState takes the state directory.
func (c *Config) openState() (*identity.Identity, error) {
	id, err := identity.Open(c.StateDir)
	if errors.Is(err, identity.ErrUnfit) {
		err = SettingError{err}
	}
	return id, err
}

// way is what leads to the agent that runs and to its control plane.
type way struct {
	ServerURL      string `toml:"server_url"`
	CAFile         string `toml:"ca_file"`
	AllowPlainHTTP bool   `toml:"allow_plain_http"`
	StateDir       string `toml:"state_dir"`
}

// LookConfig is LoadConfig for a look at what is there: where settings are refused
// that have no part in it, it gives the others, with the defaults beside them, and
// Refused says which one it was.
func LookConfig(file string, environ []string, flags map[string]string) (Config, error) {
	cfg, refused := LoadConfig(file, environ, flags)
	if refused == nil {
		return cfg, nil
	}
	cfg = DefaultConfig()
	w := way{StateDir: cfg.StateDir}
	err := settings.Load(&w, settings.Sources{
		Prefix: EnvPrefix, File: findConfig(file, environ), Environ: environ, Flags: flags, Partial: true,
	})
	if err != nil {
		return Config{}, SettingError{oneLine(err)}
	}
	cfg.ServerURL, cfg.CAFile, cfg.AllowPlainHTTP, cfg.StateDir, cfg.refused = w.ServerURL, w.CAFile, w.AllowPlainHTTP, w.StateDir, refused
	return cfg, nil
}

// Refused is why no agent would start with the configuration; nil: it would.
func (c *Config) Refused() error { return c.refused }

package main

import (
	"context"
	"os"
	"runtime/debug"

	"rockpool/backend"
)

// serveCommand runs the server. Every setting has a place in the file and a
// variable (docs/server-settings.md); the most used ones have a flag too.
type serveCommand struct {
	Config         string  `env:"ROCKPOOL_CONFIG" placeholder:"FILE" help:"Settings file (TOML)."`
	Listen         *string `placeholder:"HOST:PORT" help:"Address of API and channel."`
	MetricsListen  *string `placeholder:"HOST:PORT" help:"Address of metrics and profiles, loopback only."`
	DataDir        *string `placeholder:"DIR" help:"Folder of the private PostgreSQL and of artifacts."`
	PostgresBinDir *string `placeholder:"DIR" help:"Folder with initdb and postgres."`
	LogLevel       *string `placeholder:"LEVEL" help:"debug, info, warn or error."`
}

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context) error {
	cfg, err := backend.LoadConfig(c.Config, os.Environ(), c.settings())
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return backend.Run(ctx, cfg)
}

// gcPercent is how much garbage may lie about, in percent of what is in use. A
// job is mostly garbage: requests, rows, frames. Next to them little is in use, so
// that collecting at Go's own 100 costs a fifth of the server's CPU time for the
// sake of a few MiB. GOGC overrules it.
const gcPercent = 300

// settings are the flags that were given, by the setting's name.
func (c *serveCommand) settings() map[string]string {
	given := map[string]string{}
	for name, value := range map[string]*string{
		"listen": c.Listen, "metrics_listen": c.MetricsListen, "data_dir": c.DataDir,
		"postgres.bin_dir": c.PostgresBinDir, "log.level": c.LogLevel,
	} {
		if value != nil {
			given[name] = *value
		}
	}
	return given
}

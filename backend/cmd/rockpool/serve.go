package main

import (
	"context"
	"os"

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
		collectByHeap()
	}
	return backend.Run(ctx, cfg)
}

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

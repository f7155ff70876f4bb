package main

import (
	"rockpool/backend/internal/rest"
	"rockpool/shared/buildinfo"
)

type versionCommand struct{}

// Run prints what this program was built from.
func (c *versionCommand) Run(d *desk) error {
	v := thisVersion()
	var g grid
	g.fact("version", v.Version)
	g.fact("commit", v.Commit)
	g.fact("go", v.Go)
	return d.show(v, g)
}

func thisVersion() rest.Version {
	built := buildinfo.Get()
	return rest.Version{Version: built.Version, Commit: built.Commit, Go: built.Go}
}

package main

import (
	"fmt"

	"rockpool/shared/buildinfo"
)

type versionCommand struct{}

// Run prints this build.
func (c *versionCommand) Run(d *desk) error {
	_, err := fmt.Fprintln(d.out, "rockpool-agent", buildinfo.Get())
	return err
}

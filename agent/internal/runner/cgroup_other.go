//go:build !linux

package runner

import "log/slog"

// cgroups are Linux's.
type cgroups struct{ memory, processes bool }

func openCgroups(string, *slog.Logger) *cgroups { return nil }

func (*cgroups) make(string, limits) (*cgroup, error) { return nil, nil }

type cgroup struct{}

func (*cgroup) remove() {}

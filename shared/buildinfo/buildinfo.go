// Package buildinfo says which build this is. A release sets version and commit
// with -ldflags "-X rockpool/shared/buildinfo.version=1.2.3"; any other build
// says what the Go toolchain recorded.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Set by the linker in a release.
var (
	version string
	commit  string
)

// Info names a build.
type Info struct {
	Version string `json:"version"` // 1.2.3, or dev
	Commit  string `json:"commit"`  // 12 hex digits, with + when the tree had changes; may be empty
	Go      string `json:"go"`      // toolchain, such as go1.26.8
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Get returns the running program's build.
var Get = sync.OnceValue(func() Info {
	recorded, _ := debug.ReadBuildInfo()
	return describe(recorded, version, commit)
})

// describe merges what the linker set with what the toolchain recorded.
func describe(recorded *debug.BuildInfo, version, commit string) Info {
	info := Info{Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info.Version == "" {
		info.Version = "dev"
		if recorded != nil && strings.HasPrefix(recorded.Main.Version, "v") {
			info.Version = strings.TrimPrefix(recorded.Main.Version, "v")
		}
	}
	if info.Commit == "" && recorded != nil {
		info.Commit = recordedCommit(recorded.Settings)
	}
	return info
}

func recordedCommit(settings []debug.BuildSetting) string {
	var revision, mark string
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			mark = "+"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + mark
}

// String is one line: "1.2.3 (0123456789ab, go1.26.8, linux/amd64)".
func (i Info) String() string {
	parts := []string{i.Go, i.OS + "/" + i.Arch}
	if i.Commit != "" {
		parts = append([]string{i.Commit}, parts...)
	}
	return i.Version + " (" + strings.Join(parts, ", ") + ")"
}

package buildinfo

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribe_LinkerWinsOverToolchain(t *testing.T) {
	recorded := &debug.BuildInfo{
		Main: debug.Module{Version: "v0.4.0"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	for name, c := range map[string]struct {
		recorded        *debug.BuildInfo
		version, commit string
		want            string
	}{
		"release":     {recorded, "1.2.3", "feedbeef", "1.2.3 (feedbeef, "},
		"module":      {recorded, "", "", "0.4.0 (0123456789ab+, "},
		"plain build": {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "", "dev (go"},
		"nothing":     {nil, "", "", "dev (go"},
	} {
		if got := describe(c.recorded, c.version, c.commit).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q…", name, got, c.want)
		}
	}
	if Get().Version == "" || Get().Go == "" {
		t.Errorf("got %+v", Get())
	}
}

package net

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"rockpool/tests/rig"
)

// unable says why there is no home; empty: there is one.
var unable string

func TestMain(m *testing.M) { os.Exit(main(m)) }

func main(m *testing.M) int {
	home = os.Getenv(homeVariable)
	if home == "" {
		if unable = setOut(); os.Getenv("CI") == "true" {
			fmt.Fprintf(os.Stderr, "tests/net can't run in CI: %s\n", unable)
			return 1
		}
		return m.Run() // of tests that are skipped
	}
	defer removeNamespaces(home)
	rig.Host = serverHost
	// Most of a test's time is waiting, so more of them than cores run at once.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	return rig.Main(m)
}

// setOut ends in another run of this program, at home, or says why it can't.
func setOut() string {
	if os.Getuid() != 0 {
		return "network namespaces are root's to make"
	}
	var missing []string
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if missing != nil {
		return strings.Join(missing, ", ") + " missing: apt-get install iproute2 nftables conntrack util-linux (scripts/test does it where it may)"
	}
	removeLeftovers()
	if err := rig.Prebuild("rockpool", "rockpool-agent"); err != nil {
		return err.Error()
	}
	return goHome().Error()
}

// need skips a test where the rig can't be.
func need(t *testing.T) {
	t.Helper()
	if unable != "" {
		t.Skip(unable)
	}
}

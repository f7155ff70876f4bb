package load

import (
	"fmt"
	"os"
	"testing"

	"rockpool/tests/rig"
)

func TestMain(m *testing.M) {
	if os.Getenv(plainVariable) != "" {
		fmt.Fprintln(os.Stderr, servePlain())
		os.Exit(1)
	}
	os.Exit(rig.Main(m))
}

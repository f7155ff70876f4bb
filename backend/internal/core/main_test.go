package core

import (
	"flag"
	"os"
	"testing"
)

// TestMain plays the same histories each time, unless a seed is given: new ones are
// for the long runs, which set ROCKPOOL_TEST_SOAK.
func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); os.Getenv("ROCKPOOL_TEST_SOAK") == "" && seed.Value.String() == "0" {
		if err := seed.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

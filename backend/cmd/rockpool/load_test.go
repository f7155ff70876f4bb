package main

import (
	"os"
	"strings"
	"testing"
)

// What a load can't honor is refused before anything is started.
func TestLoad_RefusesWhatItCannotMeasure(t *testing.T) {
	agent := "--agents-bin=" + os.Args[0]
	for args, says := range map[string]string{
		"batch --server=http://example":        "throw-away server of its own",
		"--token-file=x load latency":          "throw-away server of its own",
		"single --allow-plain-http":            "throw-away server of its own",
		"batch --on-demand --jobs=5":           "nothing with --on-demand",
		"batch --on-demand --forget":           "nothing with --on-demand",
		"-o json load single --on-demand":      "nothing with --on-demand",
		"batch --slots=65":                     "--slots must be 1 to 64",
		"single --slots=0":                     "--slots must be 1 to 64",
		"process --slots=65 " + agent:          "--slots must be 1 to 64",
		"batch --jobs=9000000000000000000":     "--jobs must be 1 to",
		"single --jobs=9000000000000000000":    "--jobs must be 1 to",
		"latency --jobs=9000000000000000000":   "--jobs must be 1 to",
		"batch --waiting=9000000000000000000":  "--waiting 0 to",
		"batch --callers=9000000000000000000":  "--callers must be 1 to",
		"batch --rounds=0":                     "--rounds must be 1 to",
		"batch --agents=2 --pools=3":           "each pool needs an agent",
		"latency --rounds=9000000000000000000": "--rounds must be 1 to",
		"batch --agents=100000000000000000":    "--agents must be 1 to 10000",
		"batch --forget --waiting=1":           "--forget",
	} {
		words := strings.Fields(args)
		if !strings.Contains(args, "load ") {
			words = append([]string{"load"}, words...)
		}
		if got := rockpool(t, words...); got.code != exitUsage || !strings.Contains(got.errs, says) {
			t.Errorf("%s: exit %d, %s", args, got.code, got.errs)
		}
	}
}

func TestLoad_IsNotMovedByTheEnvironment(t *testing.T) {
	t.Setenv("ROCKPOOL_SERVER", "http://example") // of the other commands
	if got := rockpool(t, "load", "batch", "--rounds=0"); !strings.Contains(got.errs, "--rounds must be") {
		t.Errorf("said %s", got.errs)
	}
}

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples_AreValidConfiguration reads every shipped runner as a node's owner
// would append it; the program is another one, which is there.
func TestExamples_AreValidConfiguration(t *testing.T) {
	files, err := filepath.Glob("../docs/examples/runners/*.toml")
	if err != nil || len(files) < 5 {
		t.Fatalf("examples %v, %v", files, err)
	}
	all := good
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(content), "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "bin ") {
				lines[i] = fmt.Sprintf("bin = %q", os.Args[0])
			}
		}
		all += strings.Join(lines, "\n")
		cfg, err := load(t, good+strings.Join(lines, "\n"))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if want := strings.TrimSuffix(filepath.Base(file), ".toml"); len(cfg.Runners) != 1 || cfg.Runners[0].Name != want {
			t.Errorf("%s declares %+v", file, cfg.Runners)
		}
	}
	if cfg, err := load(t, all); err != nil || len(cfg.Runners) != len(files) {
		t.Errorf("all of them at once: %v", err)
	}
}

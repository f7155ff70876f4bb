package load

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"rockpool/tests/rig"
)

// TestCommand_TakesJobsThroughAndComparesTheBooks runs each kind of load small.
func TestCommand_TakesJobsThroughAndComparesTheBooks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts four servers")
	}
	agent := rig.Binary(t, "rockpool-agent")
	for name, args := range map[string][]string{
		"batch":   {"batch", "--agents=6", "--pools=3", "--jobs=300", "--batch=50", "--waiting=90"},
		"forget":  {"batch", "--agents=2", "--jobs=100", "--batch=50", "--forget"},
		"single":  {"single", "--agents=2", "--jobs=50", "--callers=5"},
		"process": {"process", "--agents=2", "--slots=2", "--jobs=20", "--agents-bin=" + agent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var errs strings.Builder
			command := exec.Command(rig.Binary(t, "rockpool"), append(append([]string{"load"}, args...), "--rounds=1", "--output=json")...)
			command.Stderr = &errs
			out, err := command.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
			var report struct {
				JobsPerSecond float64
				MemoryBytes   struct{ Server, Postgres, Database int64 }
				Books         struct {
					Accepted, Sampled int64
					Ended, Reserved   int64
					States            map[string]int64
				}
				Forgotten *struct{ Jobs, Database int64 }
			}
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			b, m := report.Books, report.MemoryBytes
			if b.Accepted == 0 || b.Accepted != b.Ended+b.States["queued"] || b.Reserved != 0 || b.Sampled == 0 {
				t.Errorf("books %+v", b)
			}
			if report.JobsPerSecond <= 0 || m.Server == 0 || m.Postgres == 0 || m.Database == 0 {
				t.Errorf("figures %+v", report)
			}
			if f := report.Forgotten; (f != nil) != (name == "forget") || f != nil && (f.Jobs != 0 || f.Database == 0) {
				t.Errorf("retention left %+v", f)
			}
		})
	}
}

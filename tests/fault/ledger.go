// Package fault kills the real programs at random moments and then checks what
// was promised: every answered job ends with exactly one accepted result, no
// attempt starts twice, nothing stays reserved.
package fault

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// runnerTable is an agent's runner that writes a line per start: what ran can be
// read off a file, whatever any program believes.
func runnerTable(ledger string) string {
	return fmt.Sprintf(`
[[runner]]
name = "ledger"
argv = ["/bin/sh", "-c", "echo \"$ROCKPOOL_JOB $ROCKPOOL_ATTEMPT\" >> %s; sleep 0.05"]
timeout = "1m"
`, ledger)
}

// readLedger gives each start of each job: how often attempt n of it began.
func readLedger(path string) (map[string]map[string]int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	starts := map[string]map[string]int{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		job, attempt, found := strings.Cut(lines.Text(), " ")
		if !found {
			return nil, fmt.Errorf("ledger line reads %q", lines.Text())
		}
		if starts[job] == nil {
			starts[job] = map[string]int{}
		}
		starts[job][attempt]++
	}
	return starts, lines.Err()
}

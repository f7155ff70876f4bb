package planted

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"rockpool/backend/internal/sim"
	"rockpool/backend/internal/sim/scenario"
)

const (
	core      = "../../core/"
	scenarios = "../../../../tests/scenarios"
)

// bug is one change of a source file: Find stands there exactly once.
type bug struct {
	name, file, find, put string
	rules                 []string // one of them must find it
}

var bugs = []bug{
	{
		"an offer goes out to a node that was moved meanwhile", "commit.go",
		"case j.stage == stageUnsent && n.slot.Eligible() && n.rec.Pool == j.row.Pool:",
		"case j.stage == stageUnsent && n.slot.Eligible():", []string{"W1"},
	},
	{
		"an offer goes out to a node that was held meanwhile", "commit.go",
		"case j.stage == stageUnsent && n.slot.Eligible() && n.rec.Pool == j.row.Pool:",
		"case j.stage == stageUnsent && n.rec.Pool == j.row.Pool:", []string{"W6"},
	},
	{
		"holds are ignored", "node.go",
		"for _, h := range n.rec.Holds {", "for _, h := range n.rec.Holds[:0] {", []string{"W2", "W6"},
	},
	{
		"a silent node gets work", "node.go",
		"return l.open && l.pending == nil && l.lease.State == fleet.LeaseReady",
		"return l.open && l.pending == nil", []string{"W6"},
	},
	{
		"an attempt that has ended keeps its reservation", "job.go",
		"j.draining, j.overrun, j.cancelSent = false, false, false\n\td.release(j)",
		"j.draining, j.overrun, j.cancelSent = false, false, false", []string{"W2", "W3"},
	},
	{
		"an offer goes out before its commit", "place.go",
		"\td.write(j, out)\n\tif row.Fallback {",
		"\td.write(j, out)\n\td.sendOffer(now, j, out)\n\tif row.Fallback {", []string{"W3"},
	},
	{
		"a superseded attempt's result is taken", "attempt.go",
		"default:\n\t\t\tfence(n, a, \"a newer attempt was assigned\", out)",
		"default:\n\t\t\td.accept(now, n, j, res, out)", []string{"W10", "W3", "W2"},
	},
	{
		"a result is acknowledged twice", "attempt.go",
		"out.acks = append(out.acks, resultAck(n, a, verdict))",
		"out.acks = append(out.acks, resultAck(n, a, verdict), resultAck(n, a, verdict))", []string{"W3"},
	},
	{
		"a fallback has no record", "place.go",
		"if row.Fallback {", "if row.Fallback && row.Attempt == 0 {", []string{"W1"},
	},
	{
		"unassigned is resolved to", "pool/pool.go",
		"if id != fleet.PoolUnassigned && !slices.Contains(c.Pools, id) {",
		"if !slices.Contains(c.Pools, id) {", []string{"W11"},
	},
	{
		"a node takes more than it has", "schedule/search.go",
		"floor := int(min(r.Demand.Slots, levels))", "floor := max(0, int(min(r.Demand.Slots, levels))-1)", []string{"W2"},
	},
	{
		"a lost node keeps its work", "node.go",
		"for _, j := range gone {", "for _, j := range gone[:0] {", []string{"W2", "W3", "W8", "expect"},
	},
	{
		"work waits although a node became free", "serve.go",
		"if !n.freed && d.queue.Len() > 0 {", "if !n.freed && d.queue.Len() > 3 {", []string{"W8"},
	},
	{
		"a job goes back to the node that declined it", "job.go",
		"j.avoid = append(j.avoid, schedule.Exclusion{Node: &n.slot, Until: until})", "", []string{"W9"},
	},
	{
		"an epoch is used twice", "session.go",
		"n.epoch = max(n.epoch, n.rec.Epoch, last) + 1", "n.epoch = max(n.epoch, n.rec.Epoch, last, 1)", []string{"W10"},
	},
	{
		"a read has an effect", "align.go",
		"func (d *Dispatch) Alignment() Alignment {", "func (d *Dispatch) Alignment() Alignment {\n\td.rev++", []string{"W12"},
	},
	{
		"a key's placement is forgotten", "placements.go",
		"if p := d.byKey[keyOfPlacement(ask.Spec)]; p != nil {",
		"if p := d.byKey[keyOfPlacement(ask.Spec)]; p != nil && p.drained(now) {", []string{"W3"},
	},
	{
		"a placement has one node twice", "decide.go",
		"\t\ttaken = append(taken, schedule.Exclusion{Node: next})\n", "", []string{"W1"},
	},
	{
		"a placement that has ended keeps its reservation", "placements.go",
		"\t\td.index.Release(&n.slot, &p.spec.Demands)\n", "", []string{"W2"},
	},
	{
		"a placement by fallback leaves no record", "placements.go",
		"\tif dec.Fallback {", "\tif dec.Fallback && p.spec.Key != \"\" {", []string{"W1"},
	},
}

// played are enough to find all of them.
var played = []string{"move-node-mid-offer", "pool-starvation-draining", "canary-hidden", "commit-unknown", "swarm"}

func TestPlantedBugs_AreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program with all the bugs")
	}
	binary := build(t)
	t.Run("no bug", func(t *testing.T) {
		rule, said := play(t, binary, "")
		if rule != "" {
			t.Errorf("%s without a bug: %s", rule, said)
		}
		sameHashes(t, said)
	})
	for _, b := range bugs {
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			rule, said := play(t, binary, b.name)
			if !slices.Contains(b.rules, rule) {
				t.Errorf("%s is found by rule %q, want one of %v: %s", b.name, rule, b.rules, said)
			}
			t.Log(strings.TrimSpace(said))
		})
	}
}

// sameHashes: another program, built another way (this one perhaps with the race
// detector), has the same runs.
func sameHashes(t *testing.T, said string) {
	t.Helper()
	for _, name := range played {
		sc, err := scenario.Load(os.DirFS(scenarios), name)
		if err != nil {
			t.Fatal(err)
		}
		if want := "hash " + name + " " + sim.Run(sc, sc.Seed).Hash + "\n"; !strings.Contains(said, want) {
			t.Errorf("another program had another run than %q: %s", want, said)
		}
	}
}

// play lets the program play with one of the bugs, and gives the rule that failed first.
func play(t *testing.T, binary, bug string) (rule, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{scenarios}, played...)...)
	cmd.Env = append(os.Environ(), planted+"="+bug)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		// It crashed: that is no rule.
		return "crash", string(out)
	}
	_, failed, _ := strings.Cut(string(out), "failed ")
	rule, _, _ = strings.Cut(failed, " ")
	return rule, failed + string(out)
}

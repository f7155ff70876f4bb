package scenario

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/sim"
)

// refer reads the data that a scenario names.
func refer(files fs.FS, sc *sim.Scenario) (err error) {
	switch sc.Network.RTT {
	case "", "lan":
	case "seattle":
		if sc.Network.Samples, err = roundTrips(files); err != nil {
			return err
		}
	default:
		return fmt.Errorf("rtt %q: lan or seattle", sc.Network.RTT)
	}
	for i := range sc.Churn {
		if err := fit(files, &sc.Churn[i]); err != nil {
			return err
		}
	}
	for i := range sc.Demand {
		switch d := &sc.Demand[i]; d.TraceOf {
		case "":
		case "openb":
			if err := openb(files, sc, d); err != nil {
				return err
			}
		default:
			return fmt.Errorf("trace %q: openb", d.TraceOf)
		}
	}
	return nil
}

// roundTrips reads the matrix of round trips between homes, in ms, sorted; 0 in it
// is a missing pair, and what takes longer than any dial waits is an outage.
func roundTrips(files fs.FS) (samples []sim.Time, err error) {
	content, err := fs.ReadFile(files, "data/rtt-seattle.tsv")
	if err != nil {
		return nil, fmt.Errorf("read the round trips: %w", err)
	}
	for _, field := range strings.Fields(string(content)) {
		seconds, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, fmt.Errorf("read the round trips: %w", err)
		}
		if seconds > 0 && seconds < longestTrip {
			samples = append(samples, max(1, sim.Time(seconds*1000)))
		}
	}
	slices.Sort(samples)
	return samples, nil
}

const longestTrip = 1.5 // seconds

// rows reads a CSV file of the data folder without its head.
func rows(files fs.FS, name string) ([][]string, error) {
	content, err := fs.ReadFile(files, "data/"+name)
	if err != nil {
		return nil, fmt.Errorf("read the data: %w", err)
	}
	r := csv.NewReader(bytes.NewReader(content))
	r.Comment = '#'
	list, err := r.ReadAll()
	if err != nil || len(list) < 2 {
		return nil, fmt.Errorf("read %s: %d rows: %w", name, len(list), err)
	}
	return list[1:], nil
}

// fit finds the Weibull fit of a failure trace; its scales are hours.
func fit(files fs.FS, c *sim.Churn) error {
	list, err := rows(files, "churn.csv")
	if err != nil {
		return err
	}
	if c.Scale <= 0 {
		c.Scale = 1
	}
	for _, r := range list {
		if r[0] != c.Fit || r[1] != "weibull" {
			continue
		}
		var p [4]float64
		for i := range p {
			if p[i], err = strconv.ParseFloat(r[2+i], 64); err != nil {
				return fmt.Errorf("read the fit %s: %w", c.Fit, err)
			}
		}
		hours := 3_600_000 * c.Scale
		c.Up, c.Down = sim.Weibull{Shape: p[0], Scale: p[1] * hours}, sim.Weibull{Shape: p[2], Scale: p[3] * hours}
		return nil
	}
	return fmt.Errorf("there is no fit %q", c.Fit)
}

// openb makes the nodes of the recorded cluster, and its tasks. A slot is four
// processors, or what fits into the most slots that a node may have; a GPU is 1000
// of the resource gpu, and memory is counted as it is. Of the first weeks, in which
// little happens, the last day alone is played: what began before begins with it.
func openb(files fs.FS, sc *sim.Scenario, d *sim.Demand) error {
	nodes, err := rows(files, "openb-nodes.csv")
	if err != nil {
		return err
	}
	tasks, err := rows(files, "openb-tasks.csv")
	if err != nil {
		return err
	}
	for _, r := range nodes {
		cpu, memory, gpu := whole(r[1]), whole(r[2]), whole(r[3])
		n := sim.Nodes{
			ID: r[0], Count: 1, Pool: fleet.PoolDefault, Role: "worker", Runners: []string{"noop"},
			Slots: min(fleet.MaxSlots, max(1, cpu/processors)), Memory: memory, Joins: 5000,
		}
		if gpu > 0 {
			n.Extra = []fleet.Quantity{{Name: "gpu", Amount: gpu * 1000}}
		}
		sc.Nodes = append(sc.Nodes, n)
	}
	for _, r := range tasks {
		cpu, memory, gpus, milli := whole(r[1]), whole(r[2]), whole(r[3]), whole(r[4])
		begin, end := max(0, whole(r[5])-quietUntil), max(0, whole(r[6])-quietUntil)
		t := sim.Task{At: sim.Time(begin * 1000), Run: sim.Time(max(1, end-begin) * 1000)}
		t.Demands.Slots = min(fleet.MaxSlots, max(1, (cpu+processors-1)/processors))
		if memory > 0 {
			t.Demands.Memory = []fleet.Quantity{{Name: "ram", Amount: memory}}
		}
		if gpus > 0 {
			t.Demands.Resources = []fleet.Quantity{{Name: "gpu", Amount: gpus * milli}}
		}
		d.Trace = append(d.Trace, t)
	}
	slices.SortStableFunc(d.Trace, func(a, b sim.Task) int { return int(a.At - b.At) })
	return nil
}

const (
	processors = 4000      // of a slot, in thousandths
	quietUntil = 9_400_000 // seconds
)

// whole reads a whole number; an empty field is 0.
func whole(field string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(field), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

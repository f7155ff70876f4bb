package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// metrics are what a benchmark reports, by unit.
type metrics map[string]float64

// processors is the number that Go's benchmarks have behind their names.
var processors = regexp.MustCompile(`-\d+$`)

// goBench runs benchmarks of a package once and returns their metrics by name.
func (b *bench) goBench(pkg, pattern, benchtime string) (map[string]metrics, error) {
	out, err := b.command("go", "test", "-run", "^$", "-bench", pattern, "-benchtime", benchtime, "-timeout", "1h", pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("benchmark %s of %s: %w\n%s", pattern, pkg, err, out)
	}
	return metricsOf(out), nil
}

// metricsOf reads what go test prints of benchmarks.
func metricsOf(out []byte) map[string]metrics {
	found := map[string]metrics{}
	for text := range bytes.Lines(out) {
		fields := strings.Fields(string(text))
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		m := metrics{}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				m[fields[i+1]] = v
			}
		}
		found[processors.ReplaceAllString(fields[0], "")] = m
	}
	return found
}

// one is the metrics of a single benchmark.
func (b *bench) one(pkg, name, benchtime string, units ...string) (metrics, error) {
	var pattern []string
	for part := range strings.SplitSeq(name, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	all, err := b.goBench(pkg, strings.Join(pattern, "/"), benchtime)
	if err != nil {
		return nil, err
	}
	m := all[name]
	for _, unit := range units {
		if _, ok := m[unit]; !ok {
			return nil, fmt.Errorf("%s of %s reports no %s", name, pkg, unit)
		}
	}
	return m, nil
}

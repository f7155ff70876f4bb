package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
)

func hasRedis() bool {
	_, err := exec.LookPath("redis-server")
	return err == nil
}

// latencyReport is what `rockpool load latency` prints.
type latencyReport struct {
	Start, Result, Probe    quantiles
	StartRatio, ResultRatio quantiles
}

type quantiles struct{ P50, P99 float64 }

func ms(f float64) string { return fmt.Sprintf("%.2f ms", f) }

func (b *bench) latency() ([]line, error) {
	out, err := b.command(b.program("rockpool"), "load", "latency", "--output=json", "--rounds="+strconv.Itoa(b.rounds()), "--jobs="+strconv.Itoa(b.size(300))).Output()
	if err != nil {
		return nil, err
	}
	var r latencyReport
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, err
	}
	of := func(what string, q, ratio quantiles, gate float64) []line {
		return []line{
			{what: what + ", p50", ours: ms(q.P50), beside: "request and commit " + ms(r.Probe.P50), ratio: ratio.P50, gate: fmt.Sprintf("≤ %.1f ×", gate), met: ratio.P50 <= gate},
			{what: what + ", p99", ours: ms(q.P99), beside: "request and commit " + ms(r.Probe.P99), ratio: ratio.P99},
		}
	}
	return append(of("submit to start", r.Start, r.StartRatio, 1.5), of("submit to result", r.Result, r.ResultRatio, 2.5)...), nil
}

func (b *bench) sessions() ([]line, error) {
	n := b.crowd()
	m, err := b.one("./tests/load", fmt.Sprintf("BenchmarkIdleSessions/%d", n), "1x",
		"heap-B/session", "stack-B/session", "plain-heap+stack-B/session", "heap+stack-ratio")
	if err != nil {
		return nil, err
	}
	kb, plain, r := (m["heap-B/session"]+m["stack-B/session"])/1000, m["plain-heap+stack-B/session"]/1000, m["heap+stack-ratio"]
	return []line{
		{what: fmt.Sprintf("memory of a session, %d", n), ours: fmt.Sprintf("%.1f kB", kb), beside: fmt.Sprintf("plain websocket.Accept %.1f kB", plain), ratio: r, gate: "≤ 0.52 ×", met: r <= 0.52},
		{what: "the same", ours: fmt.Sprintf("%.0f a GB", 1e6/kb), gate: "≥ 80000", met: 1e6/kb >= 80_000},
	}, nil
}

func (b *bench) heartbeats() ([]line, error) {
	m, err := b.one("./tests/load", "BenchmarkHeartbeats", "1x", "server-µs/heartbeat", "postgres-µs/heartbeat", "read+decode-µs/heartbeat", "ratio")
	if err != nil {
		return nil, err
	}
	cpu := m["server-µs/heartbeat"]
	return []line{
		{what: "heartbeat, answered", ours: fmt.Sprintf("%.2f µs", cpu), beside: fmt.Sprintf("read and decode %.2f µs", m["read+decode-µs/heartbeat"]), ratio: m["ratio"], gate: "≤ 1.25 ×", met: m["ratio"] <= 1.25, cpu: cpu},
		{what: "heartbeats on one core", ours: fmt.Sprintf("%.0f/s", 1e6/cpu), gate: "≥ 65000/s", met: 1e6/cpu >= 65_000, cpu: cpu},
		{what: "PostgreSQL's part", ours: fmt.Sprintf("%.2f µs", m["postgres-µs/heartbeat"])},
	}, nil
}

func (b *bench) decisions() (lines []line, err error) {
	for _, g := range []struct {
		nodes    int
		ns, scan float64
	}{{10_000, 100, 100}, {100_000, 120, 800}} {
		m, err := b.one("./backend/internal/core/schedule", fmt.Sprintf("BenchmarkDecide/nodes=%d", g.nodes), "0.2s", "cpu-ns/op", "scan-cpu-ns/op", "x-scan", "allocs/op")
		if err != nil {
			return lines, err
		}
		lines = append(lines,
			line{what: fmt.Sprintf("decision, reservation, release; %d nodes", g.nodes), ours: fmt.Sprintf("%.0f ns, %.0f allocations", m["cpu-ns/op"], m["allocs/op"]), gate: fmt.Sprintf("≤ %.0f ns, 0", g.ns), met: m["cpu-ns/op"] <= g.ns && m["allocs/op"] == 0},
			line{what: "the same", ours: fmt.Sprintf("%.0f ns", m["cpu-ns/op"]), beside: fmt.Sprintf("scan of a slice %.0f ns", m["scan-cpu-ns/op"]), ratio: m["x-scan"], gate: fmt.Sprintf("≥ %.0f ×", g.scan), met: m["x-scan"] >= g.scan})
	}
	m, err := b.one("./backend/internal/core/schedule", "BenchmarkExhausted/nodes=10000", "0.2s", "cpu-ns/op")
	if err != nil {
		return lines, err
	}
	return append(lines, line{what: "refusal with all its counts; 10000 nodes", ours: fmt.Sprintf("%.0f ns", m["cpu-ns/op"]), gate: "≤ 50 ns", met: m["cpu-ns/op"] <= 50}), nil
}

func (b *bench) simulator() ([]line, error) {
	m, err := b.one("./backend/internal/sim/scenario", "BenchmarkFleet10k", "1x", "x-cpu-time", "events/s")
	if err != nil {
		return nil, err
	}
	d, err := b.one("./backend/internal/core", "BenchmarkDecision/nodes=10000", "0.2s", "decisions/cpu-s")
	if err != nil {
		return nil, err
	}
	return []line{
		{what: "decisions of its path, 10000 nodes, by CPU time", ours: fmt.Sprintf("%.1f M/s", d["decisions/cpu-s"]/1e6), gate: "≥ 3 M/s", met: d["decisions/cpu-s"] >= 3e6},
		{what: "10000 nodes and 500 jobs/s, by CPU time", ours: fmt.Sprintf("%.0f × real time", m["x-cpu-time"]), gate: "≥ 100 ×", met: m["x-cpu-time"] >= 100},
		{what: "events of that run", ours: fmt.Sprintf("%.0f/s", m["events/s"])},
	}, nil
}

func (b *bench) storm() ([]line, error) {
	n := b.crowd()
	m, err := b.one("./tests/load", fmt.Sprintf("BenchmarkStorm/%d", n), "1x", "server-s", "bare-s", "ratio", "past-window-s")
	if err != nil {
		return nil, err
	}
	return []line{
		{what: fmt.Sprintf("%d agents back after a restart", n), ours: fmt.Sprintf("%.1f s", m["server-s"]), beside: fmt.Sprintf("bare accepts %.1f s", m["bare-s"]), ratio: m["ratio"], gate: "≤ 1.5 ×", met: m["ratio"] <= 1.5},
		{what: "past the redial window", ours: fmt.Sprintf("%.1f s", m["past-window-s"]), gate: "≤ 5 s", met: m["past-window-s"] <= 5},
	}, nil
}

func (b *bench) idle() ([]line, error) {
	m, err := b.one("./tests/load", "BenchmarkIdle", "1x", "server-MiB", "plain-MiB", "agent-MiB", "ratio")
	if err != nil {
		return nil, err
	}
	return []line{
		{what: "server with nothing to do, resident", ours: fmt.Sprintf("%.1f MiB", m["server-MiB"]), beside: fmt.Sprintf("bare echo server %.1f MiB", m["plain-MiB"]), ratio: m["ratio"], gate: "≤ 2 ×", met: m["ratio"] <= 2},
		{what: "the same", ours: fmt.Sprintf("%.1f MiB", m["server-MiB"]), gate: "≤ 25 MB", met: m["server-MiB"]*1.048576 <= 25},
		{what: "agent with nothing to do, resident", ours: fmt.Sprintf("%.1f MiB", m["agent-MiB"]), gate: "≤ 12 MB", met: m["agent-MiB"]*1.048576 <= 12},
	}, nil
}

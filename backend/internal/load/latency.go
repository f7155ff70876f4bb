package load

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"rockpool/backend/internal/rest"
	"rockpool/shared/wire"
)

// LatencyOptions of Latency.
type LatencyOptions struct {
	Rounds int           // pairs of jobs and probe
	Jobs   int           // of a round, and as many probe requests
	Gap    time.Duration // between the end of one and the next
	Agents int           // that are connected beside the one that works: it has the most slots free
}

// LatencyReport is what a job at low load takes, beside the probe of the same
// minutes. Each figure is the median of the rounds'.
type LatencyReport struct {
	Rounds int           `json:"rounds"`
	Jobs   int           `json:"jobs"` // of a round
	Gap    rest.Duration `json:"gap"`
	Agents int           `json:"agents"` // beside the one that worked

	Start  Quantiles `json:"start"`  // from before the POST to the node's start message
	Result Quantiles `json:"result"` // from before the POST to its answer, with ?wait, of the committed result
	Probe  Quantiles `json:"probe"`  // one HTTP request that makes one commit

	StartRatio  Quantiles `json:"startRatio"` // to the probe, of each round
	ResultRatio Quantiles `json:"resultRatio"`
}

// Quantiles of durations in milliseconds, or of ratios.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Latency starts a server on a throw-away folder and measures one job after the
// other on it, in turns with the probe.
func Latency(ctx context.Context, o LatencyOptions) (report LatencyReport, err error) {
	var rounds []round
	err = o.onBench(ctx, func(b *bench) error {
		for range o.Rounds {
			r, err := b.round(ctx, o.Jobs)
			if err != nil {
				return err
			}
			rounds = append(rounds, r)
		}
		return nil
	})
	if err != nil {
		return report, err
	}
	return reportOf(o, rounds), nil
}

// onBench does something on a bench that is warm.
func (o LatencyOptions) onBench(ctx context.Context, do func(*bench) error) (err error) {
	s, err := setStage(ctx, Options{Agents: o.Agents, Pools: 1, Slots: 1})
	if err != nil {
		return err
	}
	defer func() { err = s.leave(ctx, err) }()
	bare, err := startProbe(ctx, s.server.database())
	if err != nil {
		return err
	}
	defer bare.close()
	bench := newBench(s, bare, o.Gap)
	if err := bench.node.Connect(ctx); err != nil {
		return err
	}
	defer bench.node.Cut()
	if _, err := bench.round(ctx, warmUp); err != nil {
		return err
	}
	return do(bench)
}

// warmUp is how many jobs and probe requests are not counted.
const warmUp = 100

// bench submits jobs to one node, one at a time.
type bench struct {
	stage *stage
	house house
	node  *Node
	probe *probe
	gap   time.Duration

	mu     sync.Mutex
	starts map[string]time.Time // by job
}

func newBench(s *stage, p *probe, gap time.Duration) *bench {
	b := &bench{stage: s, house: s.houses[0], probe: p, gap: gap, starts: map[string]time.Time{}}
	b.node = NewNode(NodeOptions{Server: s.server.url, Name: "load", License: b.house.license, Slots: 64, Hear: b.hear})
	return b
}

// hear notes when a job may begin, and ends it at once.
func (b *bench) hear(m wire.Message) {
	if m.Type == wire.TypeStart {
		now := time.Now()
		if start, err := wire.Decode[wire.Start](m); err == nil {
			b.mu.Lock()
			b.starts[start.Job] = now
			b.mu.Unlock()
		}
	}
	b.node.Diligent(m)
}

// round is the quantiles of one pair.
type round struct{ start, result, probe Quantiles }

func (b *bench) round(ctx context.Context, jobs int) (r round, err error) {
	starts, results, probes := make([]time.Duration, jobs), make([]time.Duration, jobs), make([]time.Duration, jobs)
	for i := range jobs {
		if starts[i], results[i], err = b.job(ctx); err != nil {
			return r, err
		}
		if err := sleep(ctx, b.gap); err != nil {
			return r, err
		}
	}
	body, err := json.Marshal(b.request())
	if err != nil {
		return r, fmt.Errorf("write the probe's request: %w", err)
	}
	for i := range jobs {
		if probes[i], err = b.probe.request(ctx, body); err != nil {
			return r, err
		}
		if err := sleep(ctx, b.gap); err != nil {
			return r, err
		}
	}
	return round{quantilesOf(starts), quantilesOf(results), quantilesOf(probes)}, nil
}

// LatencyTurn is a round that was demanded, in milliseconds.
type LatencyTurn struct {
	Jobs    int       `json:"jobs"`
	Seconds float64   `json:"seconds"` // with the probe's requests
	Start   Quantiles `json:"start"`
	Result  Quantiles `json:"result"`
	Probe   Quantiles `json:"probe"`
}

func (b *bench) turn(ctx context.Context, jobs int) (LatencyTurn, error) {
	began := time.Now()
	r, err := b.round(ctx, jobs)
	return LatencyTurn{Jobs: jobs, Seconds: time.Since(began).Seconds(), Start: r.start, Result: r.result, Probe: r.probe}, err
}

func (b *bench) request() rest.JobRequest { return rest.JobRequest{App: b.house.app, Runner: "noop"} }

// job measures one job from its submission on.
func (b *bench) job(ctx context.Context) (start, result time.Duration, err error) {
	began := time.Now()
	job, err := b.house.client.RunJob(ctx, b.request(), requestWait)
	result = time.Since(began)
	if err != nil {
		return 0, 0, fmt.Errorf("submit a job: %w", err)
	}
	b.mu.Lock()
	at, started := b.starts[job.ID]
	delete(b.starts, job.ID)
	b.mu.Unlock()
	if job.State != "succeeded" || !started {
		return 0, 0, fmt.Errorf("job %s is %s after %v", job.ID, job.State, result)
	}
	return at.Sub(began), result, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func quantilesOf(list []time.Duration) Quantiles {
	slices.Sort(list)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return Quantiles{P50: ms(quantile(list, 0.50)), P99: ms(quantile(list, 0.99))}
}

// quantile of a sorted list: the smallest value that so large a part does not exceed.
func quantile[T cmp.Ordered](sorted []T, part float64) T {
	at := int(part*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

func reportOf(o LatencyOptions, rounds []round) LatencyReport {
	median := func(of func(round) Quantiles) Quantiles {
		return Quantiles{
			medianOf(rounds, func(r round) float64 { return of(r).P50 }), medianOf(rounds, func(r round) float64 { return of(r).P99 }),
		}
	}
	return LatencyReport{
		Rounds: o.Rounds, Jobs: o.Jobs, Gap: rest.Duration(o.Gap), Agents: o.Agents,
		Start:       median(func(r round) Quantiles { return r.start }),
		Result:      median(func(r round) Quantiles { return r.result }),
		Probe:       median(func(r round) Quantiles { return r.probe }),
		StartRatio:  median(func(r round) Quantiles { return r.start.per(r.probe) }),
		ResultRatio: median(func(r round) Quantiles { return r.result.per(r.probe) }),
	}
}

func (q Quantiles) per(p Quantiles) Quantiles { return Quantiles{q.P50 / p.P50, q.P99 / p.P99} }

// medianOf is the median of what something says of each of a list.
func medianOf[T any](list []T, say func(T) float64) float64 {
	all := make([]float64, len(list))
	for i, item := range list {
		all[i] = say(item)
	}
	slices.Sort(all)
	return quantile(all, 0.5)
}

package load

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"rockpool/backend/internal/rest"
)

// MostJobs is how many jobs a round may have.
const MostJobs = 100_000_000

// Options of Run.
type Options struct {
	Agents    int    `json:"agents"`
	Pools     int    `json:"pools"` // each with a user, an app and its part of the agents
	Slots     int64  `json:"slots"` // of an agent
	Jobs      int    `json:"jobs"`  // of a round
	Rounds    int    `json:"rounds"`
	Batch     int    `json:"batch"`               // jobs of a request; 1: a request submits one job and waits for its result
	Callers   int    `json:"callers"`             // that submit at a time
	Waiting   int    `json:"waiting"`             // jobs that wait before the first agent comes, and stay about as many
	Forget    bool   `json:"forget,omitempty"`    // at the end forget the jobs, as retention does
	Metrics   string `json:"-"`                   // address for the server's metrics and profiles; empty: none
	AgentsBin string `json:"agentsBin,omitempty"` // the agent's program, whose agents run /bin/true; empty: scripted ones
}

// Round is what a number of jobs took, from the first submission to the last result.
type Round struct {
	Jobs    int     `json:"jobs"`
	Seconds float64 `json:"seconds"`
	CPU     CPU     `json:"cpuMicrosPerJob"`
	// Result is the time from a POST to its answer with the result, in milliseconds,
	// of jobs that were submitted one by one.
	Result *Quantiles `json:"result,omitempty"`
}

// CPU is time in microseconds by who spent it.
type CPU struct {
	Server   float64 `json:"server"`
	Postgres float64 `json:"postgres"`
	Agents   float64 `json:"agents"`  // all of them, in their process or processes
	Callers  float64 `json:"callers"` // this process, which submits
}

// Report of a load.
type Report struct {
	Options       Options `json:"options"`
	Rounds        []Round `json:"rounds"`
	JobsPerSecond float64 `json:"jobsPerSecond"` // the median
	CPU           CPU     `json:"cpuMicrosPerJob"`
	Memory        Memory  `json:"memoryBytes"`
	Books         Books   `json:"books"`
	// Forgotten is there when the jobs were to be forgotten.
	Forgotten *Forgotten `json:"forgotten,omitempty"`
}

// Memory is what processes hold at the end, in bytes.
type Memory struct {
	Server   int64 `json:"server"`   // resident
	Postgres int64 `json:"postgres"` // a shared page counts once
	Database int64 `json:"database"` // on disk
}

// Run starts a server on a throw-away folder and its agents, takes jobs through
// them, and checks the books: an error says which do not agree.
func Run(ctx context.Context, o Options) (r Report, err error) {
	r.Options = o
	s, err := setStage(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = s.leave(ctx, err) }()
	if _, err := s.round(ctx, max(1, o.Jobs/5)); err != nil { // what is made once is made
		return r, err
	}
	for range o.Rounds {
		round, err := s.round(ctx, o.Jobs)
		if err != nil {
			return r, err
		}
		r.Rounds = append(r.Rounds, round)
	}
	if r.Memory, err = s.memory(); err != nil {
		return r, err
	}
	if r.Books, err = s.audit(ctx); err != nil {
		return r, err
	}
	r.Memory.Database = r.Books.Bytes
	r.summarize()
	if o.Forget {
		left, err := s.forget(ctx)
		if err != nil {
			return r, err
		}
		r.Forgotten = &left
	}
	return r, nil
}

func (r *Report) summarize() {
	of := func(part func(Round) float64) float64 { return medianOf(r.Rounds, part) }
	r.JobsPerSecond = of(func(r Round) float64 { return float64(r.Jobs) / r.Seconds })
	r.CPU = CPU{
		Server: of(func(r Round) float64 { return r.CPU.Server }), Postgres: of(func(r Round) float64 { return r.CPU.Postgres }),
		Agents: of(func(r Round) float64 { return r.CPU.Agents }), Callers: of(func(r Round) float64 { return r.CPU.Callers }),
	}
}

// round takes a number of jobs through their life.
func (s *stage) round(ctx context.Context, jobs int) (r Round, err error) {
	before, err := s.spent()
	if err != nil {
		return r, err
	}
	began := time.Now()
	if s.options.Batch == 1 {
		r.Result, err = s.oneByOne(ctx, jobs)
	} else {
		err = s.inBatches(ctx, jobs)
	}
	if err != nil {
		return r, err
	}
	r.Jobs, r.Seconds = jobs, time.Since(began).Seconds()
	after, err := s.spent()
	if err != nil {
		return r, err
	}
	r.CPU = after.minus(before).per(jobs)
	return r, nil
}

// inBatches submits jobs while there is room for them, and waits until as many are
// done.
func (s *stage) inBatches(ctx context.Context, jobs int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	_, before := s.flow.counts()
	var left atomic.Int64
	left.Store(int64(jobs))
	var callers sync.WaitGroup
	for range s.options.Callers {
		callers.Go(func() {
			for ctx.Err() == nil {
				size := min(s.options.Batch, int(left.Add(-int64(s.options.Batch)))+s.options.Batch)
				if size <= 0 {
					return
				}
				if err := s.submit(ctx, size); err != nil {
					cancel(err)
				}
			}
		})
	}
	if err := s.awaitDone(ctx, before+jobs); err != nil {
		cancel(err)
	}
	callers.Wait()
	return context.Cause(ctx)
}

// submit submits a batch as soon as there is room for it.
func (s *stage) submit(ctx context.Context, size int) error {
	if err := s.flow.admit(ctx, size); err != nil {
		return err
	}
	house := s.nextHouse()
	batch := make([]rest.JobRequest, size)
	for i := range batch {
		batch[i] = s.job(house)
	}
	answer, err := house.client.SubmitBrief(ctx, batch, "")
	if err != nil {
		return fmt.Errorf("submit a batch: %w", err)
	}
	for _, item := range answer.Items {
		if item.Status != http.StatusCreated {
			return fmt.Errorf("the server refused a job: %d %+v", item.Status, item.Problem)
		}
		if err := s.take(item.ID); err != nil {
			return err
		}
	}
	if len(answer.Items) != size {
		return fmt.Errorf("the server answers for %d of %d jobs", len(answer.Items), size)
	}
	s.remember(house, answer.Items[size-1].ID)
	return nil
}

// oneByOne lets callers submit one job after the other, each waiting for the
// result of its own.
func (s *stage) oneByOne(ctx context.Context, jobs int) (*Quantiles, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	took := make([]time.Duration, jobs)
	var next atomic.Int64
	var callers sync.WaitGroup
	for range s.options.Callers {
		callers.Go(func() {
			for i := next.Add(1) - 1; i < int64(jobs) && ctx.Err() == nil; i = next.Add(1) - 1 {
				began := time.Now()
				if err := s.runJob(ctx); err != nil {
					cancel(err)
				}
				took[i] = time.Since(began)
			}
		})
	}
	callers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	q := quantilesOf(took)
	return &q, nil
}

// runJob submits a job and waits for its result.
func (s *stage) runJob(ctx context.Context) error {
	if err := s.flow.admit(ctx, 1); err != nil {
		return err
	}
	house := s.nextHouse()
	job, err := house.client.RunJob(ctx, s.job(house), requestWait)
	if err != nil {
		return fmt.Errorf("submit a job: %w", err)
	}
	if err := s.take(job.ID); err != nil {
		return err
	}
	if job.State != "succeeded" {
		return fmt.Errorf("job %s is %s after %v", job.ID, job.State, requestWait)
	}
	s.remember(house, job.ID)
	s.flow.endedOne()
	return nil
}

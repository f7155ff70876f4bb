package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/store"
	"rockpool/shared/ids"
)

// stage is a server with all that a load of jobs needs around it.
type stage struct {
	options Options
	server  *server
	admin   *client.Client
	db      *store.Probe
	houses  []house
	agents  agents
	flow    *flow
	turn    atomic.Int64  // of houses
	taken   atomic.Int64  // jobs that the server has answered with 201
	ids     atomic.Uint64 // of these, summed as store.Ledger sums them

	mu      sync.Mutex
	samples []sample
}

// sample is a job that is read again at the end.
type sample struct {
	house house
	job   string
}

// agents do the work, in processes of their own.
type agents interface {
	// done tells how many jobs are done, until there are more than so many or
	// some time has passed.
	done(ctx context.Context, past int) (int, error)
	alive() error // reports one that has ended
	pids() []int
	Close() error
}

// setStage starts everything; with an error nothing stays behind.
func setStage(ctx context.Context, o Options) (s *stage, err error) {
	if err := CheckDescriptors(o.Agents); err != nil {
		return nil, err
	}
	s = &stage{options: o, flow: newFlow(o.Waiting + o.openAtMost())}
	defer func() {
		if err != nil {
			err = s.leave(ctx, err)
			s = nil
		}
	}()
	var token string
	if s.server, token, err = startServer(ctx, o.settings()...); err != nil {
		return s, err
	}
	if s.admin, err = s.server.claim(ctx, token); err != nil {
		return s, err
	}
	if s.db, err = store.OpenProbe(ctx, s.server.database()); err != nil {
		return s, err
	}
	for i := range o.Pools {
		h, err := s.server.furnish(ctx, s.admin, fmt.Sprintf("load-%d", i+1), int64(o.Agents)+1)
		if err != nil {
			return s, err
		}
		s.houses = append(s.houses, h)
	}
	if err := s.fillQueue(ctx); err != nil {
		return s, err
	}
	s.agents, err = s.startAgents(ctx)
	return s, err
}

// openAtMost is how many jobs are open at a time, beside those that shall wait.
func (o Options) openAtMost() int {
	most := max(o.Agents*int(o.Slots), 2*o.Batch)
	if o.AgentsBin != "" {
		return most + openReal
	}
	return most
}

// settings of the server are the shipped ones, but for a queue that may be as long
// as it is asked to be.
func (o Options) settings() (env []string) {
	if o.Waiting > 0 {
		env = append(env, "ROCKPOOL_QUEUE_LIMIT=10000000")
	}
	if o.Metrics != "" {
		env = append(env, "ROCKPOOL_METRICS_LISTEN="+o.Metrics)
	}
	return env
}

func (s *stage) startAgents(ctx context.Context) (agents, error) {
	licenses := make([]string, len(s.houses))
	for i, h := range s.houses {
		licenses[i] = h.license
	}
	if s.options.AgentsBin != "" {
		return s.startRealAgents(ctx, licenses)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	f, err := StartFleet(program, FleetOrder{Server: s.server.url, Name: "load", Licenses: licenses, Nodes: s.options.Agents, Slots: s.options.Slots})
	if err != nil {
		return nil, err
	}
	if err := f.AwaitJoined(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// fillQueue submits what waits for the first agent.
func (s *stage) fillQueue(ctx context.Context) error {
	for left := s.options.Waiting; left > 0; left -= rest.MaxBatch {
		if err := s.submit(ctx, min(left, rest.MaxBatch)); err != nil {
			return err
		}
	}
	return nil
}

// leave ends what was started; an error gets what is known of its cause.
func (s *stage) leave(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		err = s.cause(err)
	}
	if s.agents != nil {
		err = errors.Join(err, s.agents.Close())
	}
	if s.db != nil {
		s.db.Close()
	}
	if s.server != nil {
		err = errors.Join(err, s.server.stop())
	}
	return err
}

// deathWait is how long a process that dies may take to be gone.
const deathWait = 2 * time.Second

// cause is the end of a process, where one has ended, or what the server's log
// complains of beside the error.
func (s *stage) cause(err error) error {
	if s.server == nil {
		return err
	}
	select { // who talks to a server may see its end before its parent does
	case <-s.server.child.ended:
	case <-time.After(deathWait):
	}
	gone := s.server.child.alive()
	if gone == nil && s.agents != nil {
		gone = s.agents.alive()
	}
	if gone != nil {
		return gone
	}
	if said := complaint(s.server.child.log); said != "" {
		return fmt.Errorf("%w; the server's log says: %s", err, said)
	}
	return err
}

func (s *stage) nextHouse() house { return s.houses[int(s.turn.Add(1))%len(s.houses)] }

func (s *stage) job(h house) rest.JobRequest {
	if s.options.AgentsBin != "" {
		return rest.JobRequest{App: h.app, Runner: processRunner}
	}
	return rest.JobRequest{App: h.app, Runner: "noop"}
}

// take counts a job that the server has taken.
func (s *stage) take(job string) error {
	id, err := ids.ParseJobID(job)
	if err != nil {
		return fmt.Errorf("the server answers with a job without an id: %w", err)
	}
	s.ids.Add(binary.BigEndian.Uint64(id[8:]))
	s.taken.Add(1)
	return nil
}

// samplesKept is how many jobs are read again at the end.
const samplesKept = 200

// remember keeps some of the jobs that were submitted, the newest.
func (s *stage) remember(h house, job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples) == samplesKept {
		s.samples = s.samples[samplesKept/2:]
	}
	s.samples = append(s.samples, sample{h, job})
}

// doneWait is how long no job may be done while some are waited for.
const doneWait = time.Minute

// awaitDone waits until so many jobs are done in all.
func (s *stage) awaitDone(ctx context.Context, target int) error {
	_, done := s.flow.counts()
	for last := time.Now(); done < target; {
		now, err := s.agents.done(ctx, done)
		if err == nil {
			err = s.server.child.alive()
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case now > done:
			done, last = now, time.Now()
			s.flow.ended(done)
		case time.Since(last) > doneWait:
			return fmt.Errorf("%d of %d jobs are done, and no other one since %v", done, target, doneWait)
		}
	}
	return nil
}

// spent is the CPU time that the parts have used so far, in microseconds.
func (s *stage) spent() (c CPU, err error) {
	postmaster, err := s.server.postmaster()
	if err != nil {
		return c, err
	}
	server, err := ProcessTime(s.server.child.Process.Pid)
	if err != nil {
		return c, err
	}
	postgres, err := TreeTime(postmaster)
	if err != nil {
		return c, err
	}
	callers, err := ProcessTime(os.Getpid())
	if err != nil {
		return c, err
	}
	c = CPU{Server: micros(server), Postgres: micros(postgres), Callers: micros(callers)}
	for _, pid := range s.agents.pids() {
		t, err := TreeTime(pid)
		if err != nil {
			return c, err
		}
		c.Agents += micros(t)
	}
	return c, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (c CPU) minus(o CPU) CPU {
	return CPU{c.Server - o.Server, c.Postgres - o.Postgres, c.Agents - o.Agents, c.Callers - o.Callers}
}

func (c CPU) per(jobs int) CPU {
	n := float64(jobs)
	return CPU{c.Server / n, c.Postgres / n, c.Agents / n, c.Callers / n}
}

func (s *stage) memory() (m Memory, err error) {
	if m.Server, err = Resident(s.server.child.Process.Pid); err != nil {
		return m, err
	}
	postmaster, err := s.server.postmaster()
	if err != nil {
		return m, err
	}
	m.Postgres, err = treeMemory(postmaster)
	return m, err
}

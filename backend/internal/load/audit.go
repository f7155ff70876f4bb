package load

import (
	"context"
	"fmt"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/store"
)

// Books are what callers, agents, database and REST say became of the jobs.
type Books struct {
	Accepted int64 `json:"accepted"` // answered with 201
	Stored   int64 `json:"stored"`   // results that agents were told are kept; -1: nobody counted
	store.Ledger
	answered uint64 // the sum of the accepted jobs' ids, as the ledger has that of the rows
	Sampled  int    `json:"sampled"` // jobs that were read again over REST
}

// settleWait is how long what runs at the end may take.
const settleWait = time.Minute

// audit lets what runs end and compares the books: accepted = done + queued +
// failed, the same jobs, nothing reserved, and one result for each job that has ended.
func (s *stage) audit(ctx context.Context) (b Books, err error) {
	if err := s.drainPools(ctx); err != nil {
		return b, err
	}
	if b.Ledger, err = s.settle(ctx); err != nil {
		return b, err
	}
	b.Accepted, b.answered = s.taken.Load(), s.ids.Load()
	if b.Stored, err = s.stored(ctx, b.Ended); err != nil {
		return b, err
	}
	if err := b.agree(); err != nil {
		return b, err
	}
	if err := s.auditFleet(ctx, b.States["queued"]); err != nil {
		return b, err
	}
	b.Sampled, err = s.auditSamples(ctx)
	return b, err
}

// drainPools lets no more work begin, where some is left.
func (s *stage) drainPools(ctx context.Context) error {
	if s.options.Waiting == 0 {
		return nil
	}
	draining := "draining"
	for _, h := range s.houses {
		if _, err := s.admin.ChangePool(ctx, h.pool, rest.PoolChange{State: &draining}, 0, false); err != nil {
			return fmt.Errorf("stop the work of %s: %w", h.pool, err)
		}
	}
	return nil
}

// settle waits until no attempt is open any more.
func (s *stage) settle(ctx context.Context) (store.Ledger, error) {
	deadline := time.Now().Add(settleWait)
	for {
		l, err := s.db.Ledger(ctx)
		open := l.States["offered"] + l.States["canceling"]
		if err != nil || open == 0 && l.Reserved == 0 || time.Now().After(deadline) {
			return l, err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return l, err
		}
	}
}

// stored is how many results the agents were told are kept.
func (s *stage) stored(ctx context.Context, want int64) (int64, error) {
	f, scripted := s.agents.(*Fleet)
	if !scripted {
		return -1, nil
	}
	deadline := time.Now().Add(settleWait)
	for {
		r, err := f.Do(FleetReports)
		switch {
		case err != nil:
			return 0, err
		case r.Refused > 0:
			return 0, fmt.Errorf("%d results were not taken: their jobs had one, or their attempts were over", r.Refused)
		case int64(r.Stored) >= want || time.Now().After(deadline):
			return int64(r.Stored), nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// agree compares what callers, agents and the database say.
func (b Books) agree() error {
	var rows int64
	for _, n := range b.States {
		rows += n
	}
	good, queued := b.States["succeeded"], b.States["queued"]
	failed := b.Ended - good
	switch {
	case b.Accepted != rows || b.Accepted != good+queued+failed:
		return fmt.Errorf("%d jobs were accepted, and there are %d: %d done, %d queued, %d failed", b.Accepted, rows, good, queued, failed)
	case b.answered != b.IDs:
		return fmt.Errorf("%d jobs were accepted, and there are as many, but not the same: some are lost, and others stand in their place", b.Accepted)
	case failed > 0:
		return fmt.Errorf("%d of %d jobs failed", failed, b.Accepted)
	case b.Reserved != 0:
		return fmt.Errorf("%d slots or units of other resources are still reserved", b.Reserved)
	case b.Resultless != 0:
		return fmt.Errorf("%d jobs that have ended have no result", b.Resultless)
	case b.Stored >= 0 && b.Stored != b.Ended:
		return fmt.Errorf("agents were told that %d results are kept, and %d jobs have ended", b.Stored, b.Ended)
	}
	return nil
}

// auditFleet compares what the server holds in memory.
func (s *stage) auditFleet(ctx context.Context, queued int64) error {
	deadline := time.Now().Add(settleWait)
	for {
		waiting, held, err := s.inMemory(ctx)
		switch {
		case err != nil || waiting == queued && held == 0:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("in memory %d jobs wait and %d slots are reserved, in the database %d and 0", waiting, held, queued)
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *stage) inMemory(ctx context.Context) (waiting, held int64, err error) {
	pools, err := client.All(ctx, s.admin.Pools, client.Page{})
	if err != nil {
		return 0, 0, err
	}
	for _, p := range pools.Items {
		waiting += int64(p.Queued)
	}
	nodes, err := client.All(ctx, s.nodes, client.Page{Limit: 500})
	for _, n := range nodes.Items {
		held += n.Reserved.Slots + int64(n.Running)
	}
	return waiting, held, err
}

func (s *stage) nodes(ctx context.Context, page client.Page) (rest.List[rest.Node], error) {
	return s.admin.Nodes(ctx, client.NodeFilter{}, page)
}

// auditSamples reads some of the jobs as their owners do.
func (s *stage) auditSamples(ctx context.Context) (read int, err error) {
	for _, sample := range s.samples {
		job, err := sample.house.client.Job(ctx, sample.job)
		if err != nil {
			return read, err
		}
		if !client.Ended(job) && s.options.Waiting == 0 {
			return read, fmt.Errorf("job %s is %s over REST, and nothing is left to do", job.ID, job.State)
		}
		read++
	}
	return read, nil
}

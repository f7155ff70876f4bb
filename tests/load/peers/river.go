package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	riverWorkers = 2_000
	riverBulk    = 1_000 // jobs of an insert
	riverCallers = 64    // that insert at a time, one by one
	riverConns   = 16
)

// riverPace is how often River fetches jobs at most, and how often it looks for them
// when nothing tells it of any. Each has its own database.
type riverPace struct {
	database       string
	cooldown, poll time.Duration
}

var (
	riverShipped = riverPace{"river_shipped", river.FetchCooldownDefault, river.FetchPollIntervalDefault}
	riverHasty   = riverPace{"river", 2 * time.Millisecond, 20 * time.Millisecond} // fifty times as often
)

// nothing is a job that does nothing.
type nothing struct{}

func (nothing) Kind() string { return "nothing" }

type nothingWorker struct{ river.WorkerDefaults[nothing] }

func (nothingWorker) Work(context.Context, *river.Job[nothing]) error { return nil }

type riverPeer struct {
	pool   *pgxpool.Pool
	pace   riverPace
	insert func(ctx context.Context, client *river.Client[pgx.Tx], jobs int) error
}

// riverPeers makes Rivers of one pace that insert in one way.
func riverPeers(pace riverPace, insert func(context.Context, *river.Client[pgx.Tx], int) error) func(context.Context, string) (peer, error) {
	return func(ctx context.Context, database string) (peer, error) { return newRiver(ctx, database, pace, insert) }
}

// newRiver makes a database of River's own beside Rockpool's.
func newRiver(ctx context.Context, database string, pace riverPace, insert func(context.Context, *river.Client[pgx.Tx], int) error) (peer, error) {
	admin, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, err
	}
	_, err = admin.Exec(ctx, "DROP DATABASE IF EXISTS "+pace.database)
	if err == nil {
		_, err = admin.Exec(ctx, "CREATE DATABASE "+pace.database)
	}
	if err = errors.Join(err, admin.Close(ctx)); err != nil {
		return nil, fmt.Errorf("make a database: %w", err)
	}
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.Database, config.MaxConns = pace.database, riverConns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return &riverPeer{pool, pace, insert}, nil
}

// run starts a client for the round alone, so that it does not fetch in between.
func (r *riverPeer) run(ctx context.Context, jobs int) (time.Duration, error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, nothingWorker{})
	client, err := river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		FetchCooldown: r.pace.cooldown, FetchPollInterval: r.pace.poll, Workers: workers, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
	})
	if err != nil {
		return 0, err
	}
	done, cancel := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: jobs, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	inserted := make(chan error, 1)
	go func() { inserted <- r.insert(ctx, client, jobs) }()
	for left := jobs; left > 0; {
		select {
		case <-done:
			left--
		case err := <-inserted:
			if err != nil {
				return 0, errors.Join(err, client.Stop(ctx))
			}
			inserted = nil
		case <-time.After(time.Minute):
			return 0, errors.Join(fmt.Errorf("%d of %d jobs are not done, and no other one since a minute", left, jobs), client.Stop(ctx))
		}
	}
	took := time.Since(began)
	return took, client.Stop(ctx)
}

// insertBulk inserts by COPY, as fast as River can.
func insertBulk(ctx context.Context, client *river.Client[pgx.Tx], jobs int) error {
	for left := jobs; left > 0; left -= riverBulk {
		batch := make([]river.InsertManyParams, min(left, riverBulk))
		for i := range batch {
			batch[i].Args = nothing{}
		}
		if _, err := client.InsertManyFast(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// insertSingle inserts one by one, from many callers; none waits for its job's end.
func insertSingle(ctx context.Context, client *river.Client[pgx.Tx], jobs int) error {
	var next atomic.Int64
	var callers sync.WaitGroup
	errs := make(chan error, riverCallers)
	for range riverCallers {
		callers.Go(func() {
			for next.Add(1) <= int64(jobs) {
				if _, err := client.Insert(ctx, nothing{}, nil); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	callers.Wait()
	close(errs)
	return <-errs
}

func (r *riverPeer) close() error {
	r.pool.Close()
	return nil
}

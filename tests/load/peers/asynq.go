package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

const (
	asynqWorkers = 100
	asynqCallers = 64
)

// asynqPeer is asynq with a Redis of its own that flushes every write.
type asynqPeer struct {
	dir     string
	redis   *exec.Cmd
	server  *asynq.Server
	client  *asynq.Client
	done    atomic.Int64
	changed chan struct{}
}

func newAsynq(ctx context.Context) (peer, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("asynq needs Redis, 'apt-get install redis-server': %w", err)
	}
	dir, err := os.MkdirTemp("", "peers-redis-")
	if err != nil {
		return nil, err
	}
	a := &asynqPeer{dir: dir, changed: make(chan struct{}, 1)}
	socket := filepath.Join(dir, "redis.sock")
	a.redis = exec.Command(program, "--port", "0", "--unixsocket", socket, "--dir", dir, "--appendonly", "yes", "--appendfsync", "always", "--save", "")
	if err := a.redis.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := a.start(ctx, asynq.RedisClientOpt{Network: "unix", Addr: socket}); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *asynqPeer) start(ctx context.Context, redis asynq.RedisClientOpt) error {
	a.client = asynq.NewClient(redis)
	for deadline := time.Now().Add(10 * time.Second); a.client.Ping() != nil; {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return errors.New("Redis does not answer")
		}
	}
	a.server = asynq.NewServer(redis, asynq.Config{Concurrency: asynqWorkers, Logger: quiet{}, LogLevel: asynq.FatalLevel})
	return a.server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		a.done.Add(1)
		select {
		case a.changed <- struct{}{}:
		default:
		}
		return nil
	}))
}

// quiet is a logger that drops everything.
type quiet struct{}

func (quiet) Debug(...any)     {}
func (quiet) Info(...any)      {}
func (quiet) Warn(...any)      {}
func (quiet) Error(...any)     {}
func (quiet) Fatal(say ...any) { slog.Error(fmt.Sprint(say...)) }

// run enqueues one by one, for asynq knows no bulk; a job is done when its handler
// has returned, a moment before Redis knows.
func (a *asynqPeer) run(ctx context.Context, jobs int) (time.Duration, error) {
	target := a.done.Load() + int64(jobs)
	began := time.Now()
	var next atomic.Int64
	var callers sync.WaitGroup
	errs := make(chan error, asynqCallers)
	for range asynqCallers {
		callers.Go(func() {
			for next.Add(1) <= int64(jobs) {
				if _, err := a.client.EnqueueContext(ctx, asynq.NewTask("nothing", nil)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	callers.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return 0, err
	}
	for a.done.Load() < target {
		select {
		case <-a.changed:
		case <-time.After(time.Minute):
			return 0, fmt.Errorf("%d jobs are not done", target-a.done.Load())
		}
	}
	return time.Since(began), nil
}

func (a *asynqPeer) close() (err error) {
	if a.server != nil {
		a.server.Shutdown()
	}
	if a.client != nil {
		err = a.client.Close()
	}
	_ = a.redis.Process.Kill()
	_ = a.redis.Wait() // killed
	return errors.Join(err, os.RemoveAll(a.dir))
}

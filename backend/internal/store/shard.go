package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// The lease of the shard, by the database's clock.
const (
	leaseValid = 15 * time.Second
	leaseRenew = 5 * time.Second
	// stepAside is how long a holder whose lease ended may take to go.
	stepAside = 5 * time.Second
	// commitsAside is how long commits of the holder before are waited for: longer than
	// each of their statements waits for a lock.
	commitsAside = 15 * time.Second
)

// shardLock is the key of the advisory lock that goes with the lease, "rpshard1".
const shardLock = 0x7270736861726431

// HeldError says that another server dispatches.
type HeldError struct{ Holder string }

func (e *HeldError) Error() string { return "the shard is held by " + e.Holder }

// ErrShardLost says that this server may not dispatch any longer.
var ErrShardLost = errors.New("the shard's lease is lost")

// Shard is the right to dispatch, held by a connection and a lease: when the
// connection dies another server may take over at once, when it hangs when the
// lease has ended. Neither is trusted alone: every write carries the epoch.
type Shard struct {
	db     *DB
	conn   *pgx.Conn
	holder string // as others are told
	epoch  int64
	renew  time.Duration
	aside  time.Duration // how long commits of the holder before are waited for
}

// AcquireShard takes the shard and raises its epoch by one, which fences all
// writes of the holder before. The error is a *HeldError while another holds it.
func (db *DB) AcquireShard(ctx context.Context, holder string) (*Shard, error) {
	return db.acquireShard(ctx, &Shard{db: db, holder: holder, renew: leaseRenew, aside: commitsAside})
}

func (db *DB) acquireShard(ctx context.Context, s *Shard) (*Shard, error) {
	if err := s.connect(ctx, s.acquire); err != nil {
		return nil, err
	}
	return s, nil
}

// connect gives the shard a connection on which take succeeds.
func (s *Shard) connect(ctx context.Context, take func(context.Context) error) error {
	conn, err := s.db.dial(ctx, "rockpool shard", pgx.QueryExecModeExec, nil)
	if err != nil {
		return err
	}
	s.conn = conn
	if err := take(ctx); err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return err
	}
	return nil
}

func (s *Shard) acquire(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	err := s.raise(ctx)
	if sqlState(err) == "55P03" {
		// A machine that is gone in the midst of sending a batch leaves a backend that waits
		// for the rest of it with its locks, for no time that PostgreSQL bounds.
		s.db.log.Warn("a commit of the shard's former holder does not end: its connection is ended")
		if err = endWriters(ctx, s.conn, nil); err == nil {
			err = s.raise(ctx)
		}
	}
	return problem("take the shard", err)
}

// raise takes the next epoch. It waits for the commits under way of the holder before:
// they hold the row.
func (s *Shard) raise(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", strconv.FormatInt(s.aside.Milliseconds(), 10)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			UPDATE shards SET epoch = epoch + 1, holder = $1, expires_at = clock_timestamp() + $2
			WHERE id = 1 RETURNING epoch`, s.holder, leaseValid).Scan(&s.epoch)
	})
}

// lock takes the advisory lock, from a holder whose lease has run out if need be.
func (s *Shard) lock(ctx context.Context) error {
	locked, err := s.tryLock(ctx)
	if err == nil && !locked {
		err = s.evict(ctx)
	}
	return err
}

func (s *Shard) tryLock(ctx context.Context) (locked bool, err error) {
	err = s.conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(shardLock)).Scan(&locked)
	return locked, problem("lock the shard", err)
}

// evict ends the connection of a holder whose lease has run out, and takes the
// lock when it has gone.
func (s *Shard) evict(ctx context.Context) error {
	var holder string
	var expired bool
	err := s.conn.QueryRow(ctx, "SELECT holder, expires_at < clock_timestamp() FROM shards WHERE id = 1").Scan(&holder, &expired)
	if err != nil {
		return problem("read the shard's lease", err)
	}
	if !expired {
		return &HeldError{Holder: holder}
	}
	_, err = s.conn.Exec(ctx, `
		SELECT pg_terminate_backend(pid) FROM pg_locks
		WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND pid <> pg_backend_pid()
		  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		  AND classid::bigint = $1 AND objid::bigint = $2`, int64(shardLock>>32), int64(shardLock&0xffffffff))
	if err != nil {
		return problem("end the connection of the shard's former holder", err)
	}
	ctx, cancel := context.WithTimeout(ctx, stepAside)
	defer cancel()
	if _, err := s.conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(shardLock)); err != nil {
		return &HeldError{Holder: holder}
	}
	return nil
}

// Epoch is this ownership's number.
func (s *Shard) Epoch() int64 { return s.epoch }

// reclaimPause is between two tries to reach a database that is away.
const reclaimPause = 200 * time.Millisecond

// Run renews the lease until ctx ends (nil) or the shard is lost (ErrShardLost).
// A connection that died, which it notices at once, is not the end: with the
// database away nobody else dispatches either. The shard goes on under its epoch
// when the database is back, unless another server was faster.
func (s *Shard) Run(ctx context.Context) error {
	for {
		err := s.hold(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrFenced):
			return fmt.Errorf("%w: %w", ErrShardLost, err)
		}
		s.db.log.Warn("the shard's connection is gone; it is made anew", "error", err)
		if err := s.reclaim(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("%w: %w", ErrShardLost, err)
		}
	}
}

// hold renews the lease until it can't.
func (s *Shard) hold(ctx context.Context) error {
	for {
		if err := s.extend(ctx); err != nil {
			return err
		}
		// Between renewals it listens, because a read sees the connection die.
		wait, cancel := context.WithTimeout(ctx, s.renew)
		_, err := s.conn.WaitForNotification(wait)
		ended := wait.Err() != nil
		cancel()
		if err != nil && !ended {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// reclaim comes back with lock and lease under the epoch that it had, or with
// the reason why that is not its own any more.
func (s *Shard) reclaim(ctx context.Context) error {
	for {
		err := s.connect(ctx, func(ctx context.Context) error {
			if err := s.extend(ctx); err != nil { // whose is it? before waiting for the lock
				return err
			}
			return s.lock(ctx)
		})
		var held *HeldError // by our own old connection, which the server has not missed yet
		if err == nil || errors.Is(err, ErrFenced) {
			return err
		}
		if !errors.As(err, &held) {
			s.db.log.Debug("the shard can't be reached yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reclaimPause):
		}
	}
}

func (s *Shard) extend(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaseValid-leaseRenew)
	defer cancel()
	tag, err := s.conn.Exec(ctx, "UPDATE shards SET expires_at = clock_timestamp() + $2 WHERE id = 1 AND epoch = $1", s.epoch, leaseValid)
	if err != nil {
		return err
	}
	if tag.RowsAffected() != 1 {
		return ErrFenced
	}
	return nil
}

// Release gives the shard up, so that a standby need not wait. Call it after Run
// has returned.
func (s *Shard) Release(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var err error
	if !s.conn.IsClosed() {
		_, err = s.conn.Exec(ctx, "UPDATE shards SET expires_at = clock_timestamp() WHERE id = 1 AND epoch = $1", s.epoch)
	}
	return errors.Join(problem("release the shard", err), s.conn.Close(ctx))
}

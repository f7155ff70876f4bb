package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The lease of the shard, by the database's clock.
const (
	leaseValid = 15 * time.Second
	leaseRenew = 5 * time.Second
	// stepAside is how long a holder whose lease ended may take to go.
	stepAside = 5 * time.Second
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
	conn  *pgx.Conn
	epoch int64
	renew time.Duration
}

// AcquireShard takes the shard and raises its epoch by one, which fences all
// writes of the holder before. The error is a *HeldError while another holds it.
func (db *DB) AcquireShard(ctx context.Context, holder string) (*Shard, error) {
	conn, err := db.dial(ctx, "rockpool shard", pgx.QueryExecModeExec, nil)
	if err != nil {
		return nil, err
	}
	s := &Shard{conn: conn, renew: leaseRenew}
	if err := s.acquire(ctx, holder); err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

func (s *Shard) acquire(ctx context.Context, holder string) error {
	locked, err := s.tryLock(ctx)
	if err == nil && !locked {
		err = s.evict(ctx)
	}
	if err != nil {
		return err
	}
	// Waits for the commits under way of the holder before: they hold the row.
	err = s.conn.QueryRow(ctx, `
		UPDATE shards SET epoch = epoch + 1, holder = $1, expires_at = clock_timestamp() + $2
		WHERE id = 1 RETURNING epoch`, holder, leaseValid).Scan(&s.epoch)
	return problem("take the shard", err)
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

// Run renews the lease until ctx ends (nil) or the shard is lost (ErrShardLost):
// because the connection died, which it notices at once, or a newer epoch stands.
func (s *Shard) Run(ctx context.Context) error {
	for {
		if err := s.extend(ctx); err != nil {
			return lostUnless(ctx, err)
		}
		// Between renewals it listens, because a read sees the connection die.
		wait, cancel := context.WithTimeout(ctx, s.renew)
		_, err := s.conn.WaitForNotification(wait)
		ended := wait.Err() != nil
		cancel()
		if err != nil && !ended {
			return lostUnless(ctx, err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

func lostUnless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrShardLost, err)
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

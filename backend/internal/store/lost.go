package store

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// A writer's connection that is given up is lost on this side only: PostgreSQL may still
// be at work on what it was sent, and commit it later. So before the fleet is read anew
// its backend is ended, and what it has not committed never will be.

var errStillAtWork = errors.New("the backend of a lost connection is still at work")

// lose takes note of the backend of a connection that was given up. It may also wait for
// the rest of a batch, with the locks of what it has.
func (db *DB) lose(pid int32) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if !slices.Contains(db.lost, pid) {
		db.lost = append(db.lost, pid)
	}
}

// endLost ends those backends.
func (db *DB) endLost(ctx context.Context) error {
	db.mu.Lock()
	lost := db.lost
	db.mu.Unlock()
	if len(lost) == 0 {
		return nil
	}
	if err := endWriters(ctx, db.pool, lost); err != nil {
		return problem("end a lost connection", err)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.lost = slices.DeleteFunc(db.lost, func(pid int32) bool { return slices.Contains(lost, pid) })
	return nil
}

// endWriters ends the backends of writers' connections, of those alone if some are named.
func endWriters(ctx context.Context, conn interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, pids []int32) error {
	var working bool
	err := conn.QueryRow(ctx, `
		SELECT coalesce(bool_or(NOT pg_terminate_backend(pid, 5000)), false) FROM pg_stat_activity
		WHERE ($1::int4[] IS NULL OR pid = ANY ($1)) AND application_name = $2 AND datname = current_database()`,
		pids, writerName).Scan(&working)
	if err == nil && working {
		err = errStillAtWork
	}
	return err
}

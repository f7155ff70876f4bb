// Package store keeps the fleet in PostgreSQL, which is the truth; memory is a
// cache of it. The administrative tables go through bun, one file per aggregate;
// the few hot statements go through pgx (writer.go). Every administrative write
// takes its audit entry into its own transaction.
//
// What a caller may tell people is a *fleet.Error: not_found for a missing row and
// for another owner's, conflict and its kin, unavailable while the database is
// away. SQL is never logged: it would carry what tokens hash to.
package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"rockpool/backend/internal/core/fleet"
)

// DB is the open database. Its methods may be called from any goroutine.
type DB struct {
	pool *pgxpool.Pool
	bun  *bun.DB // over pool
	log  *slog.Logger
	at   func(time.Time) fleet.Time

	bearers *bearers

	mu      sync.Mutex
	writers []*Writer
	lost    []int32 // backends of writers' connections that were given up: lost.go
}

// Options of Open; zero values mean slog.Default and 8 connections. The writer's
// and the shard's connections come on top of MaxConns.
type Options struct {
	Logger   *slog.Logger
	MaxConns int32
}

const defaultConns = 8

// Open connects as the server's role. The database must be migrated.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the database's URL: %w", err)
	}
	settings(cfg.ConnConfig, "rockpool")
	cfg.MaxConns = o.MaxConns
	if cfg.MaxConns <= 0 {
		cfg.MaxConns = defaultConns
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db := &DB{pool: pool, log: o.Logger, bearers: newBearers(), at: func(wall time.Time) fleet.Time { return fleet.Time(wall.UnixMilli()) }}
	if db.log == nil {
		db.log = slog.Default()
	}
	std := stdlib.OpenDBFromPool(pool)
	std.SetMaxIdleConns(0) // pool keeps the idle ones
	db.bun = bun.NewDB(std, pgdialect.New(), bun.WithDiscardUnknownColumns())
	if err := db.Ping(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// settings are those of every connection. Times travel as UTC.
func settings(c *pgx.ConnConfig, name string) {
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.RuntimeParams["application_name"] = name
	c.RuntimeParams["timezone"] = "UTC"
	c.RuntimeParams["jit"] = "off" // compiling costs more than any statement here
	// A plan that is kept must not be of the time when today's partition was empty:
	// reading all of that was cheap then.
	c.RuntimeParams["enable_seqscan"] = "off"
}

// dial opens a connection outside the pool, with settings on top.
func (db *DB) dial(ctx context.Context, name string, mode pgx.QueryExecMode, params map[string]string) (*pgx.Conn, error) {
	cfg := db.pool.Config().ConnConfig
	settings(cfg, name)
	cfg.DefaultQueryExecMode = mode
	for k, v := range params {
		cfg.RuntimeParams[k] = v
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, problem("connect", err)
	}
	return conn, nil
}

// queryHot runs one of the statements that every request needs. Unlike the others
// it is prepared once a connection: parsing and planning would cost more than the
// work itself. Its text must be constant.
func (db *DB) queryHot(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return db.pool.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
}

// SetClock makes the times that the deciding code reads (of open jobs, holds and
// alarms) those of its own clock: at tells it of a wall time. Until then they are
// milliseconds since 1970. Call it before the DB has other users.
func (db *DB) SetClock(at func(time.Time) fleet.Time) { db.at = at }

// when is the core's time of a nullable wall time; 0 means never there.
func (db *DB) when(t *time.Time) fleet.Time {
	if t == nil {
		return 0
	}
	return db.at(*t)
}

// Close gives back all connections, the writers' too.
func (db *DB) Close() {
	db.mu.Lock()
	writers := db.writers
	db.writers = nil
	db.mu.Unlock()
	for _, w := range writers {
		w.Close()
	}
	db.bun.Close()
	db.pool.Close()
}

// Ping asks the database for a sign of life.
func (db *DB) Ping(ctx context.Context) error {
	return problem("reach the database", db.pool.Ping(ctx))
}

// Durability reports whether a commit that was answered survives a crash.
func (db *DB) Durability(ctx context.Context) (fsync, syncCommit bool, err error) {
	err = db.pool.QueryRow(ctx, `SELECT current_setting('fsync') = 'on', current_setting('synchronous_commit') <> 'off'`).
		Scan(&fsync, &syncCommit)
	return fsync, syncCommit, problem("read the durability settings", err)
}

// OwnsAudit reports whether the server's role could alter audit entries.
func (db *DB) OwnsAudit(ctx context.Context) (bool, error) {
	var owns bool
	err := db.pool.QueryRow(ctx, `
		SELECT pg_has_role(relowner, 'USAGE') OR has_table_privilege(oid, 'UPDATE, DELETE, TRUNCATE')
		FROM pg_class WHERE oid = 'audit_entries'::regclass`).Scan(&owns)
	return owns, problem("read the rights on the audit entries", err)
}

// inTx runs fn in a transaction of its own.
func (db *DB) inTx(ctx context.Context, what string, fn func(ctx context.Context, tx bun.Tx) error) error {
	return problem(what, db.bun.RunInTx(ctx, &sql.TxOptions{}, fn))
}

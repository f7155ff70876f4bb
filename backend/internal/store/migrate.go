package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/migrate"

	"rockpool/migrations"
)

// Migrate brings the database up to this release and gives the server's role its
// rights, which it does anew each time. It runs as the owner of everything. Any
// number of processes may call it at once: one works, the others wait for it.
// serverRole is created (LOGIN, nothing more) when missing; empty, or the owner
// itself: there is one role, and nothing to grant.
func Migrate(ctx context.Context, adminURL, serverRole string) error {
	return underLock(ctx, adminURL, func(conn *pgx.Conn, m *migrate.Migrator) error {
		if err := m.Init(ctx); err != nil {
			return fmt.Errorf("prepare migrations: %w", err)
		}
		if _, err := m.Migrate(ctx); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		return grant(ctx, conn, serverRole)
	})
}

// MigrateDown takes back what the last Migrate that changed something did, with
// the data in it.
func MigrateDown(ctx context.Context, adminURL string) error {
	return underLock(ctx, adminURL, func(_ *pgx.Conn, m *migrate.Migrator) error {
		if _, err := m.Rollback(ctx); err != nil {
			return fmt.Errorf("migrate down: %w", err)
		}
		return nil
	})
}

// migrationLock is the key of the advisory lock, "rockpool" in bytes. bun's own
// lock is a row, which stays locked for good after a crash.
const migrationLock = 0x726f636b706f6f6c

func underLock(ctx context.Context, url string, fn func(*pgx.Conn, *migrate.Migrator) error) (err error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("read the database's admin URL: %w", err)
	}
	settings(cfg, "rockpool migrations")
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // a file is several statements
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return problem("connect to migrate", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }() // unlocks
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return problem("wait for other migrations", err)
	}
	std := stdlib.OpenDB(*cfg)
	defer func() { err = errors.Join(err, std.Close()) }()
	m, err := migrator(std)
	if err != nil {
		return err
	}
	return fn(conn, m)
}

func migrator(std *sql.DB) (*migrate.Migrator, error) {
	all := migrate.NewMigrations()
	if err := all.Discover(migrations.FS); err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return migrate.NewMigrator(bun.NewDB(std, pgdialect.New()), all, migrate.WithMarkAppliedOnSuccess(true)), nil
}

// grant gives the server's role all rows of all tables, except that it can only
// read the audit chain, which audit_append extends on its behalf.
func grant(ctx context.Context, conn *pgx.Conn, role string) error {
	if role == "" || role == conn.Config().User {
		return nil
	}
	if err := ensureRole(ctx, conn, role); err != nil {
		return err
	}
	to := pgx.Identifier{role}.Sanitize()
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		tables, err := serverTables(ctx, tx)
		if err != nil {
			return fmt.Errorf("list the tables: %w", err)
		}
		statements := []string{
			"REVOKE CREATE ON SCHEMA public FROM PUBLIC",
			"GRANT USAGE ON SCHEMA public TO " + to,
			"REVOKE ALL ON audit_entries, audit_head FROM PUBLIC, " + to,
			"GRANT SELECT ON audit_entries, audit_head TO " + to,
			"GRANT EXECUTE ON FUNCTION audit_append(text, text, text, text, text, json, json, text) TO " + to,
			"GRANT EXECUTE ON FUNCTION ensure_partitions(date, date), drop_partitions(date) TO " + to,
		}
		for _, table := range tables {
			statements = append(statements, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+pgx.Identifier{table}.Sanitize()+" TO "+to)
		}
		for _, s := range statements {
			if _, err := tx.Exec(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
}

// ensureRole creates a role that the operator has not; two databases of one
// cluster may do so at once.
func ensureRole(ctx context.Context, conn *pgx.Conn, role string) error {
	var there bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $1)", role).Scan(&there)
	if err != nil {
		return fmt.Errorf("look for role %s: %w", role, err)
	}
	if there {
		return nil
	}
	_, err = conn.Exec(ctx, "CREATE ROLE "+pgx.Identifier{role}.Sanitize()+" LOGIN")
	if err != nil && !isUnique(err) && sqlState(err) != "42710" {
		return fmt.Errorf("create role %s, or create it by hand: %w", role, err)
	}
	return nil
}

// serverTables are those whose rows the server writes. Of partitions it names those
// of jobs, and the others need no rights of their own; neither do bun's own tables.
func serverTables(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `
		SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND (NOT relispartition OR relname LIKE 'jobs\_%')
		  AND relowner = (SELECT relowner FROM pg_class WHERE oid = 'public.jobs'::regclass)
		  AND relname NOT LIKE 'audit\_%' AND relname NOT LIKE 'bun\_%'
		ORDER BY relname`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

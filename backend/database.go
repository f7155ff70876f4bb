package backend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"rockpool/backend/internal/embedpg"
	"rockpool/backend/internal/store"
)

// database is the open store and, unless the configuration names another, the
// private PostgreSQL under it.
type database struct {
	*store.DB
	private *embedpg.Server
}

// openDatabase starts or reaches PostgreSQL, migrates it, and checks that it keeps
// what it commits.
func openDatabase(ctx context.Context, cfg Config, log *slog.Logger) (*database, error) {
	d := &database{}
	url, adminURL, serverRole := cfg.Database.URL, cfg.Database.AdminURL, ""
	if url == "" {
		private, err := embedpg.Start(ctx, embedpg.Config{
			DataDir: filepath.Join(cfg.DataDir, "postgres"), BinDir: cfg.Postgres.BinDir, Logger: log,
		})
		if err != nil {
			return nil, fmt.Errorf("private PostgreSQL: %w", err)
		}
		d.private = private
		url, adminURL, serverRole = private.URL(embedpg.ServerRole), private.AdminURL(), embedpg.ServerRole
	}
	if adminURL == "" {
		adminURL = url
	}
	if err := d.open(ctx, cfg, url, adminURL, serverRole, log); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *database) open(ctx context.Context, cfg Config, url, adminURL, serverRole string, log *slog.Logger) error {
	if err := store.Migrate(ctx, adminURL, serverRole); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	db, err := store.Open(ctx, url, store.Options{Logger: log})
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	d.DB = db
	return d.checkPromises(ctx, cfg, log)
}

// checkPromises refuses a database that may forget what it has committed, and
// warns when the server could alter its own audit entries.
func (d *database) checkPromises(ctx context.Context, cfg Config, log *slog.Logger) error {
	fsync, syncCommit, err := d.Durability(ctx)
	if err != nil {
		return fmt.Errorf("check the database's durability: %w", err)
	}
	if !fsync || !syncCommit {
		if !cfg.Database.Unsafe {
			return fmt.Errorf("the database has fsync=%v and synchronous_commit=%v: answered work could be lost; turn both on, or set database.unsafe", fsync, syncCommit)
		}
		log.Warn("the database may forget what it has committed", "fsync", fsync, "synchronous_commit", syncCommit)
	}
	owns, err := d.OwnsAudit(ctx)
	if err != nil {
		return fmt.Errorf("check the owner of the audit entries: %w", err)
	}
	if owns {
		log.Warn("the server's database role owns the audit entries and could alter them; set database.admin_url to the owner and database.url to another role")
	}
	return nil
}

// close gives back the connections and stops the private PostgreSQL.
func (d *database) close() error {
	if d.DB != nil {
		d.DB.Close()
	}
	if d.private == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return d.private.Close(ctx)
}

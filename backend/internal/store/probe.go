package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Probe makes commits that mean nothing: the least that a durable request costs on
// a database. The load generator measures the server beside it.
type Probe struct{ pool *pgxpool.Pool }

// OpenProbe connects as the database's owner and makes a table of its own.
func OpenProbe(ctx context.Context, url string) (*Probe, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, problem("read the database's URL", err)
	}
	settings(cfg.ConnConfig, "rockpool-probe")
	cfg.MaxConns = 4
	// So that counting open jobs finds those that have ended no second time: only a walk
	// along the index marks them.
	cfg.ConnConfig.RuntimeParams["enable_bitmapscan"] = "off"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, problem("open the database for the probe", err)
	}
	_, err = pool.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS probe;
		CREATE TABLE IF NOT EXISTS probe.documents (id uuid PRIMARY KEY, document json NOT NULL, at timestamptz NOT NULL DEFAULT now())`)
	if err != nil {
		pool.Close()
		return nil, problem("make the probe's table", err)
	}
	return &Probe{pool: pool}, nil
}

// Commit stores one document in one transaction.
func (p *Probe) Commit(ctx context.Context, document []byte) error {
	id, err := uuid.NewV7()
	if err != nil {
		return problem("make an id", err)
	}
	_, err = p.pool.Exec(ctx, `INSERT INTO probe.documents (id, document) VALUES ($1, $2)`, id.String(), string(document))
	return problem("commit the probe's row", err)
}

// Close ends the probe's connections.
func (p *Probe) Close() { p.pool.Close() }

package load

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// probe does the bare database work of a job's life on the same PostgreSQL: one
// insert and one update to done, in batches of size jobs, each a transaction.
type probe struct {
	conn *pgx.Conn
	size int
}

func newProbe(ctx context.Context, url string, size int) (*probe, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS probe;
		CREATE TABLE IF NOT EXISTS probe.jobs (id uuid PRIMARY KEY, app text NOT NULL, spec json NOT NULL, state text NOT NULL, node text, done_at timestamptz) WITH (fillfactor = 80)`)
	if err != nil {
		return nil, fmt.Errorf("make the probe's table: %w", err)
	}
	return &probe{conn: conn, size: size}, nil
}

func (p *probe) close(ctx context.Context) error {
	_, err := p.conn.Exec(ctx, `DROP SCHEMA probe CASCADE`)
	if closeErr := p.conn.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

// run takes jobs through their life, a batch at a time.
func (p *probe) run(ctx context.Context, jobs int) error {
	keys := make([][16]byte, p.size)
	apps, specs, nodes := make([]string, p.size), make([]string, p.size), make([]string, p.size)
	for i := range keys {
		apps[i], nodes[i] = "load", "load-0"
		specs[i] = `{"role":"worker","runner":"noop","demands":{"slots":1},"priority":50,"maxAttempts":3}`
	}
	for range jobs / p.size {
		for i := range keys {
			rand.Read(keys[i][:])
		}
		if _, err := p.conn.Exec(ctx, `INSERT INTO probe.jobs (id, app, spec, state, node)
			SELECT i, a, s::json, 'offered', n FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) u(i, a, s, n)`, keys, apps, specs, nodes); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		if _, err := p.conn.Exec(ctx, `UPDATE probe.jobs SET state = 'succeeded', done_at = now()
			FROM unnest($1::uuid[]) u(i) WHERE id = u.i AND state = 'offered'`, keys); err != nil {
			return fmt.Errorf("update: %w", err)
		}
	}
	return nil
}

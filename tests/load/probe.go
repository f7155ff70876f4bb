package load

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// probe does the bare database work of a job's life on the same PostgreSQL, with
// rows of the same shape and indexes: one insert and one update to done, in
// batches of size jobs, each a transaction.
//
// It is what nobody could leave out, and so has it easier than the product in all
// else: a batch is always full; only what differs between jobs is sent, the rest
// is constant in the SQL; its table is no partition; nothing checks a shard, a
// node's room, a state that is not what it seemed; nobody asks by REST, identifies
// a credential or reads a job back. Its CPU time is its connection's, the other
// processes' of PostgreSQL while it runs, and this process's.
type probe struct {
	conn *pgx.Conn
	size int
}

func newProbe(ctx context.Context, url string, size int) (*probe, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS probe; DROP TABLE IF EXISTS probe.jobs; CREATE TABLE probe.jobs (LIKE public.jobs INCLUDING ALL) WITH (fillfactor = 80)`)
	if err != nil {
		return nil, fmt.Errorf("make the probe's table: %w", err)
	}
	return &probe{conn: conn, size: size}, nil
}

func (p *probe) close(ctx context.Context) error {
	_, err := p.conn.Exec(ctx, `DROP TABLE probe.jobs`)
	if closeErr := p.conn.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

const (
	probeInsert = `INSERT INTO probe.jobs (id, state, cause, detail, attempt, counted, outcome, node_id, pool_id, fallback, decision,
			assigned_at, cancel_by, app_id, owner_id, submitter_id, submitted_at, spec)
		SELECT i, 'offered', '', '', 1, 0, 'open', 'load-0', 'pool-2', false, d, now(), '', 'load', 2, 2, now(), s
		FROM unnest($1::uuid[], $2::json[], $3::json[]) u(i, d, s)`
	probeUpdate = `UPDATE probe.jobs SET state = 'succeeded', outcome = 'ended', counted = 1, exit_code = 0, result_digest = u.digest,
			started_at = now(), ended_at = now()
		FROM unnest($1::uuid[], $2::bytea[]) u(i, digest) WHERE id = u.i AND state = 'offered' AND attempt = 1`
	probeSpec     = `{"role":"worker","runner":"noop","demands":{"slots":1},"priority":50,"maxAttempts":3,"onNodeLost":"requeue","whenExhausted":"wait"}`
	probeDecision = `{"outcome":"placed","at":1796022188831000,"rule":"owner_pool","pools":[{"pool":"pool-2","nodes":10,"candidates":10}],"node":"load-0","remainingSlots":60,"epoch":1,"tieBreak":true}`
)

// run takes jobs through their life, a batch at a time.
func (p *probe) run(ctx context.Context, jobs int) error {
	keys, digests := make([][16]byte, p.size), make([][]byte, p.size)
	decisions, specs := make([]string, p.size), make([]string, p.size)
	for i := range keys {
		decisions[i], specs[i], digests[i] = probeDecision, probeSpec, make([]byte, 32)
	}
	for left := jobs; left > 0; left -= p.size {
		for i := range keys {
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			keys[i] = id
		}
		if _, err := p.conn.Exec(ctx, probeInsert, keys, decisions, specs); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		if _, err := p.conn.Exec(ctx, probeUpdate, keys, digests); err != nil {
			return fmt.Errorf("update: %w", err)
		}
	}
	return nil
}

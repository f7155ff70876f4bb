package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Ledger is what a database says became of its jobs, read in one transaction.
type Ledger struct {
	States     map[string]int64 `json:"states"`     // jobs by state
	Ended      int64            `json:"ended"`      // jobs with an end
	Resultless int64            `json:"resultless"` // of these, without the one accepted result of a node
	Superseded int64            `json:"superseded"` // attempts that were not the last of their jobs
	Reserved   int64            `json:"reserved"`   // slots and units of other resources that nodes have reserved
	Bytes      int64            `json:"bytes"`      // of the whole database
}

// Open counts jobs that have not ended. It reads the index of these alone.
func (p *Probe) Open(ctx context.Context) (n int64, err error) {
	err = p.pool.QueryRow(ctx, `SELECT count(*) FROM jobs WHERE ended_at IS NULL`).Scan(&n)
	return n, problem("count open jobs", err)
}

// Ledger reads all jobs.
func (p *Probe) Ledger(ctx context.Context) (l Ledger, err error) {
	l.States = map[string]int64{}
	err = pgx.BeginTxFunc(ctx, p.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT state, count(*), count(ended_at),
			count(*) FILTER (WHERE ended_at IS NOT NULL AND NOT (outcome = 'ended' AND result_digest IS NOT NULL)) FROM jobs GROUP BY state`)
		if err != nil {
			return err
		}
		var state string
		var jobs, ended, resultless int64
		_, err = pgx.ForEachRow(rows, []any{&state, &jobs, &ended, &resultless}, func() error {
			l.States[state] = jobs
			l.Ended += ended
			l.Resultless += resultless
			return nil
		})
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM attempts), pg_database_size(current_database()),
			(SELECT coalesce(sum(reserved_slots), 0) FROM nodes) + (SELECT coalesce(sum(reserved), 0) FROM node_resources)`).
			Scan(&l.Superseded, &l.Bytes, &l.Reserved)
	})
	return l, problem("read what became of the jobs", err)
}

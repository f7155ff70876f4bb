package store

import (
	"context"
	"fmt"
	"math/big"

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
	// IDs sums the last eight bytes of the jobs' ids, which are random, and wraps: two
	// sets of as many jobs with the same sum are the same.
	IDs uint64 `json:"-"`
}

// Open counts jobs that have not ended. It reads the index of these alone.
func (p *Probe) Open(ctx context.Context) (n int64, err error) {
	err = p.pool.QueryRow(ctx, `SELECT count(*) FROM jobs WHERE ended_at IS NULL`, pgx.QueryExecModeCacheStatement).Scan(&n)
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
		var sum string
		err = tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM attempts), pg_database_size(current_database()),
			(SELECT coalesce(sum(reserved_slots), 0) FROM nodes) + (SELECT coalesce(sum(reserved), 0) FROM node_resources),
			(SELECT coalesce(sum(('x' || right(encode(uuid_send(id), 'hex'), 16))::bit(64)::bigint), 0)::text FROM jobs)`).
			Scan(&l.Superseded, &l.Bytes, &l.Reserved, &sum)
		if err != nil {
			return err
		}
		l.IDs, err = wrapped(sum)
		return err
	})
	return l, problem("read what became of the jobs", err)
}

// wrapped is a sum modulo 2^64.
func wrapped(sum string) (uint64, error) {
	n, ok := new(big.Int).SetString(sum, 10)
	if !ok {
		return 0, fmt.Errorf("the sum of the ids is %q", sum)
	}
	return n.Mod(n, new(big.Int).Lsh(big.NewInt(1), 64)).Uint64(), nil
}

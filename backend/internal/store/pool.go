package store

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// selectPools reads whole pools; scanPool knows its columns.
const selectPools = "SELECT id, name, kind, state, queue_wait_ms, free_slots, not_ready_pct, version FROM pools "

func scanPool(row pgx.CollectableRow) (p fleet.Pool, err error) {
	t := &p.Thresholds
	err = row.Scan(&p.ID, &p.Name, &p.Kind, &p.State, &t.QueueWaitMs, &t.FreeSlots, &t.NotReadyPct, &p.Version)
	return p, err
}

// Pool reads one pool.
func (db *DB) Pool(ctx context.Context, id string) (fleet.Pool, error) {
	rows, err := db.pool.Query(ctx, selectPools+"WHERE id = $1", id)
	if err != nil {
		return fleet.Pool{}, problem("pool "+id, err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanPool)
	return p, problem("pool "+id, err)
}

// Pools lists the pools by id; an owner's is the one that came with the user.
func (db *DB) Pools(ctx context.Context, scope record.Scope) ([]fleet.Pool, error) {
	q := &query{}
	where := ""
	if !scope.All() {
		where = "WHERE " + q.scoped(scope, "CASE WHEN kind = 'user' THEN substr(id, 6)::bigint END", "id")
	}
	rows, err := db.pool.Query(ctx, selectPools+where+" ORDER BY id", q.args...)
	if err != nil {
		return nil, problem("list pools", err)
	}
	pools, err := pgx.CollectRows(rows, scanPool)
	return pools, problem("list pools", err)
}

// CreatePool makes a named pool; an empty name is the id, an empty state active.
// An id that is there is a conflict, one that is a user's by its form (pool-7) or
// no name is unprocessable.
func (db *DB) CreatePool(ctx context.Context, actor record.Actor, pool fleet.Pool, reason string) (fleet.Pool, error) {
	if err := checkPoolID(pool.ID); err != nil {
		return fleet.Pool{}, err
	}
	if pool.Name == "" {
		pool.Name = pool.ID
	}
	if pool.State == "" {
		pool.State = fleet.PoolActive
	}
	pool.Kind, pool.Version = fleet.KindNamed, 1
	err := db.inTx(ctx, "create pool "+pool.ID, func(ctx context.Context, tx bun.Tx) error {
		t := pool.Thresholds
		_, err := tx.NewRaw(`INSERT INTO pools (id, name, kind, state, queue_wait_ms, free_slots, not_ready_pct) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			pool.ID, pool.Name, pool.Kind, pool.State, t.QueueWaitMs, t.FreeSlots, t.NotReadyPct).Exec(ctx)
		if err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "pool_created", object: "pool:" + pool.ID, after: poolState(&pool), reason: reason})
	})
	if err != nil {
		return fleet.Pool{}, err
	}
	return pool, nil
}

func checkPoolID(id string) error {
	if err := ids.CheckName(id); err != nil {
		return fleet.Errorf(fleet.CodeUnprocessable, "the pool's id: "+err.Error())
	}
	if id == fleet.PoolDefault || id == fleet.PoolUnassigned {
		return fleet.Errorf(fleet.CodeConflict, "pool "+id+" is there already: it is built in")
	}
	if n, isUsers := strings.CutPrefix(id, "pool-"); isUsers && strings.Trim(n, "0123456789") == "" {
		return fleet.Errorf(fleet.CodeUnprocessable, "pools called "+id+" come with their users: choose another id")
	}
	return nil
}

// ChangePool gives a pool another name, state or thresholds, which edit sets; an
// error of edit is given back. default and unassigned can't be changed: a
// conflict. ifVersion is as in MoveNode. What changes nothing leaves no trace.
func (db *DB) ChangePool(ctx context.Context, actor record.Actor, id string, edit func(*fleet.Pool) error, reason string, ifVersion *int64) (fleet.Pool, error) {
	var pool fleet.Pool
	err := db.inTx(ctx, "change pool "+id, func(ctx context.Context, tx bun.Tx) error {
		before, err := lockPool(ctx, tx, id, ifVersion, "FOR NO KEY UPDATE")
		if err != nil {
			return err
		}
		pool = before
		if err := edit(&pool); err != nil {
			return err
		}
		pool.ID, pool.Kind, pool.Version = before.ID, before.Kind, before.Version
		if pool == before {
			return nil
		}
		pool.Version++
		t := pool.Thresholds
		_, err = tx.NewRaw("UPDATE pools SET name = ?, state = ?, queue_wait_ms = ?, free_slots = ?, not_ready_pct = ?, version = ? WHERE id = ?",
			pool.Name, pool.State, t.QueueWaitMs, t.FreeSlots, t.NotReadyPct, pool.Version, id).Exec(ctx)
		if err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{
			action: "pool_changed", object: "pool:" + id, reason: reason, before: poolState(&before), after: poolState(&pool),
		})
	})
	if err != nil {
		return fleet.Pool{}, err
	}
	return pool, nil
}

// lockPool reads a pool that may be changed and keeps it until the transaction
// ends; how is the lock.
func lockPool(ctx context.Context, tx bun.Tx, id string, ifVersion *int64, how string) (p fleet.Pool, err error) {
	t := &p.Thresholds
	err = tx.NewRaw(selectPools+"WHERE id = ? "+how, id).
		Scan(ctx, &p.ID, &p.Name, &p.Kind, &p.State, &t.QueueWaitMs, &t.FreeSlots, &t.NotReadyPct, &p.Version)
	switch {
	case err != nil:
		return p, problem("pool "+id, err)
	case p.Kind == fleet.KindDefault, p.Kind == fleet.KindUnassigned:
		return p, fleet.Errorf(fleet.CodeConflict, "pool "+id+" is built in: it can't be changed or deleted")
	}
	return p, checkVersion("pool", p.Version, ifVersion)
}

// DeletePool deletes a named pool that nothing refers to any more; otherwise a
// conflict names what does. Nothing comes to refer to it meanwhile: whoever would
// locks the pool as well.
func (db *DB) DeletePool(ctx context.Context, actor record.Actor, id, reason string, ifVersion *int64) error {
	return db.inTx(ctx, "delete pool "+id, func(ctx context.Context, tx bun.Tx) error {
		pool, err := lockPool(ctx, tx, id, ifVersion, "FOR UPDATE")
		if err != nil {
			return err
		}
		if pool.Kind == fleet.KindUser {
			return fleet.Errorf(fleet.CodeConflict, "pool "+id+" is its user's: it can't be deleted")
		}
		if err := refuseReferred(ctx, tx, id); err != nil {
			return err
		}
		if _, err := tx.NewRaw("DELETE FROM pools WHERE id = ?", id).Exec(ctx); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "pool_deleted", object: "pool:" + id, reason: reason, before: poolState(&pool)})
	})
}

// mostNamed is how many of what refers to a pool are named in a refusal.
const mostNamed = 5

// refuseReferred is a conflict while nodes, bindings or grants name the pool.
func refuseReferred(ctx context.Context, tx bun.Tx, pool string) error {
	var referring []string
	for _, by := range []struct{ what, sql string }{
		{"nodes", "SELECT id FROM nodes WHERE pool_id = ?0 ORDER BY id"},
		{"bindings of apps", `SELECT app_id || CASE WHEN role <> '' THEN ' (' || role || ')' ELSE '' END
			FROM app_pool_bindings WHERE ?0 = ANY (pool_ids) ORDER BY app_id, role`},
		{"grants of users", "SELECT u.name FROM user_roles r JOIN users u ON u.id = r.user_id WHERE r.pool_id = ?0 GROUP BY u.name ORDER BY u.name"},
	} {
		var names []string
		var total int
		err := tx.NewRaw("SELECT coalesce(array_agg(name) FILTER (WHERE n <= ?1), '{}'), count(*) FROM (SELECT name, row_number() OVER () AS n FROM ("+
			by.sql+") AS named(name)) AS numbered", pool, mostNamed).Scan(ctx, pgdialect.Array(&names), &total)
		if err != nil {
			return err
		}
		if total > 0 {
			referring = append(referring, by.what+": "+someOf(names, total))
		}
	}
	if len(referring) == 0 {
		return nil
	}
	return fleet.Errorf(fleet.CodeConflict, "pool "+pool+" is in use by "+strings.Join(referring, "; "))
}

// someOf names some of so many.
func someOf(names []string, total int) string {
	text := strings.Join(names, ", ")
	if more := total - len(names); more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// poolState is what an audit entry keeps of a pool.
func poolState(p *fleet.Pool) any {
	t := p.Thresholds
	return map[string]any{
		"name": p.Name, "state": p.State, "queueWaitMs": t.QueueWaitMs, "freeSlots": t.FreeSlots, "notReadyPct": t.NotReadyPct,
	}
}

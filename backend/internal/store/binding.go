package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

type bindingRow struct {
	bun.BaseModel `bun:"table:app_pool_bindings,alias:b"`

	App           string   `bun:"app_id,pk"`
	Role          string   `bun:"role,pk"`
	Pools         []string `bun:"pool_ids,array"`
	AllowFallback bool     `bun:"allow_fallback"`
}

func (r *bindingRow) binding() fleet.Binding {
	return fleet.Binding{Role: r.Role, Pools: r.Pools, AllowFallback: r.AllowFallback}
}

// Bindings lists an app's bindings by role; none: the owner's pool.
func (db *DB) Bindings(ctx context.Context, app string) ([]fleet.Binding, error) {
	bindings, err := bindingsOf(ctx, db.bun, app)
	return bindings, problem("list bindings", err)
}

func bindingsOf(ctx context.Context, db bun.IDB, app string) ([]fleet.Binding, error) {
	var rows []bindingRow
	if err := db.NewSelect().Model(&rows).Where("b.app_id = ?", app).Order("b.role").Scan(ctx); err != nil {
		return nil, err
	}
	bindings := make([]fleet.Binding, len(rows))
	for i := range rows {
		bindings[i] = rows[i].binding()
	}
	return bindings, nil
}

// BindingsOf lists the bindings of several apps by app, each app's by role.
func (db *DB) BindingsOf(ctx context.Context, apps []string) (map[string][]fleet.Binding, error) {
	var rows []bindingRow
	err := db.bun.NewSelect().Model(&rows).Where("b.app_id = ANY (?)", pgdialect.Array(apps)).Order("b.app_id", "b.role").Scan(ctx)
	if err != nil {
		return nil, problem("list bindings", err)
	}
	bindings := make(map[string][]fleet.Binding, len(apps))
	for i := range rows {
		bindings[rows[i].App] = append(bindings[rows[i].App], rows[i].binding())
	}
	return bindings, nil
}

// maxBindingPools is the most pools of one binding.
const maxBindingPools = 8

// PutBinding sets an app's binding for its role, or takes it away when it has no
// pools, and gives the app with all its bindings and its new version. ifVersion is
// the app's version that the caller saw; nil: any. What changes nothing leaves no
// trace. Unprocessable: more than 8 pools, one twice, unassigned, a pool or a role
// that is not there.
func (db *DB) PutBinding(ctx context.Context, actor record.Actor, app string, b fleet.Binding, reason string, ifVersion *int64) (fleet.App, int64, error) {
	a := fleet.App{ID: app}
	var version int64
	err := db.inTx(ctx, "bind app "+app, func(ctx context.Context, tx bun.Tx) error {
		var err error
		if version, err = lockApp(ctx, tx, &a, ifVersion); err != nil {
			return err
		}
		changed, err := writeBinding(ctx, tx, actor, app, b, reason)
		if err != nil {
			return err
		}
		if changed {
			version++
			if _, err := tx.NewRaw("UPDATE apps SET version = ? WHERE id = ?", version, app).Exec(ctx); err != nil {
				return err
			}
		}
		a.Bindings, err = bindingsOf(ctx, tx, app)
		return err
	})
	if err != nil {
		return fleet.App{}, 0, err
	}
	a.Version = version
	return a, version, nil
}

// writeBinding needs the app's row locked.
func writeBinding(ctx context.Context, tx bun.Tx, actor record.Actor, app string, b fleet.Binding, reason string) (changed bool, err error) {
	var before bindingRow
	err = tx.NewSelect().Model(&before).Where("b.app_id = ? AND b.role = ?", app, b.Role).Scan(ctx)
	stood := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	entry := change{action: "binding_set", object: "app:" + app, reason: reason, after: bindingState(b)}
	if stood {
		entry.before = bindingState(before.binding())
	}
	switch {
	case len(b.Pools) == 0 && !stood:
		return false, nil
	case len(b.Pools) == 0:
		entry.action, entry.after = "binding_deleted", nil
		_, err = tx.NewRaw("DELETE FROM app_pool_bindings WHERE app_id = ? AND role = ?", app, b.Role).Exec(ctx)
	default:
		if err := checkBinding(ctx, tx, b); err != nil {
			return false, err
		}
		if stood && slices.Equal(before.Pools, b.Pools) && before.AllowFallback == b.AllowFallback {
			return false, nil
		}
		_, err = tx.NewRaw(`INSERT INTO app_pool_bindings (app_id, role, pool_ids, allow_fallback) VALUES (?, ?, ?, ?)
			ON CONFLICT (app_id, role) DO UPDATE SET pool_ids = excluded.pool_ids, allow_fallback = excluded.allow_fallback`,
			app, b.Role, pgdialect.Array(b.Pools), b.AllowFallback).Exec(ctx)
	}
	if err != nil {
		return false, err
	}
	return true, audit(ctx, tx, actor, entry)
}

// checkBinding keeps the pools from being deleted until the transaction ends.
func checkBinding(ctx context.Context, tx bun.Tx, b fleet.Binding) error {
	if len(b.Pools) > maxBindingPools {
		return fleet.Errorf(fleet.CodeUnprocessable, "a binding has 1 to 8 pools")
	}
	for i, pool := range b.Pools {
		if slices.Contains(b.Pools[:i], pool) {
			return fleet.Errorf(fleet.CodeUnprocessable, "pool "+pool+" is named twice")
		}
		if pool == fleet.PoolUnassigned {
			return fleet.Errorf(fleet.CodeUnprocessable, "nothing can be bound to "+pool+": its nodes are out of all scheduling")
		}
	}
	if b.Role != "" {
		if err := checkRoles(ctx, tx, b.Role); err != nil {
			return err
		}
	}
	return checkPools(ctx, tx, b.Pools)
}

// checkPools says unprocessable for a pool that is not there. The others can't be
// deleted until the transaction ends.
func checkPools(ctx context.Context, tx bun.Tx, pools []string) error {
	var there []string
	err := tx.NewRaw("SELECT id FROM pools WHERE id = ANY (?) ORDER BY id FOR KEY SHARE", pgdialect.Array(pools)).Scan(ctx, &there)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		if !slices.Contains(there, pool) {
			return fleet.Errorf(fleet.CodeUnprocessable, "there is no pool "+pool)
		}
	}
	return nil
}

// bindingState is what an audit entry keeps of a binding.
func bindingState(b fleet.Binding) any {
	return map[string]any{"role": b.Role, "pools": b.Pools, "allowFallbackToDefault": b.AllowFallback}
}

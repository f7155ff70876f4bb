package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

type roleRow struct {
	bun.BaseModel `bun:"table:roles,alias:r"`

	Name    string `bun:"name,pk"`
	BuiltIn bool   `bun:"built_in"`
}

// Roles lists the roles that nodes and work may have, by name.
func (db *DB) Roles(ctx context.Context) ([]record.Role, error) {
	var rows []roleRow
	if err := db.bun.NewSelect().Model(&rows).Order("r.name").Scan(ctx); err != nil {
		return nil, problem("list roles", err)
	}
	roles := make([]record.Role, len(rows))
	for i, r := range rows {
		roles[i] = record.Role{Name: r.Name, BuiltIn: r.BuiltIn}
	}
	return roles, nil
}

// CreateRole makes a role that nodes, licenses and bindings may name from then on.
// One that is there is a conflict, what can't be a name is unprocessable.
func (db *DB) CreateRole(ctx context.Context, actor record.Actor, name, reason string) (record.Role, error) {
	if err := ids.CheckName(name); err != nil {
		return record.Role{}, fleet.Errorf(fleet.CodeUnprocessable, "the role's name: "+err.Error())
	}
	err := db.inTx(ctx, "create role "+name, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw("INSERT INTO roles (name) VALUES (?)", name).Exec(ctx); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "role_created", object: "role:" + name, reason: reason})
	})
	if err != nil {
		return record.Role{}, err
	}
	return record.Role{Name: name}, nil
}

// checkRoles says unprocessable for a role that is not there; none is ever deleted.
func checkRoles(ctx context.Context, tx bun.Tx, roles ...string) error {
	var there []string
	if err := tx.NewRaw("SELECT name FROM roles WHERE name = ANY (?)", pgdialect.Array(roles)).Scan(ctx, &there); err != nil {
		return err
	}
	for _, role := range roles {
		if !slices.Contains(there, role) {
			return fleet.Errorf(fleet.CodeUnprocessable, "there is no role "+role+": a superadmin creates it first")
		}
	}
	return nil
}

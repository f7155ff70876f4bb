package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// Roles that have a meaning here: of the first at least one enabled user keeps
// hold, the others may be granted for single pools.
const (
	roleSuperadmin = "superadmin"
	roleOperator   = "operator"
	roleViewer     = "viewer"
)

// everyPool is the pool of a grant for the whole fleet.
const everyPool = "*"

type userRow struct {
	bun.BaseModel `bun:"table:users,alias:u"`

	ID        int64     `bun:"id,pk,autoincrement"`
	Name      string    `bun:"name"`
	Disabled  bool      `bun:"disabled"`
	CreatedAt time.Time `bun:"created_at,nullzero"`
	Roles     []string  `bun:"roles,array,scanonly"`
	Grants    []string  `bun:"grants,array,scanonly"`
}

func (r *userRow) record() record.User {
	return record.User{ID: r.ID, Name: r.Name, Roles: r.Roles, Grants: readGrants(r.Grants), Disabled: r.Disabled, CreatedAt: r.CreatedAt.UTC()}
}

// rolesOfUser and grantsOfUser are of the row u: the fleet-wide roles, and those
// for single pools, which readGrants reads.
const (
	rolesOfUser  = `ARRAY(SELECT r.role FROM user_roles AS r WHERE r.user_id = u.id AND r.pool_id = '*' ORDER BY r.role)`
	grantsOfUser = `ARRAY(SELECT r.role || ' ' || r.pool_id FROM user_roles AS r WHERE r.user_id = u.id AND r.pool_id <> '*' ORDER BY r.role, r.pool_id)`
)

func readGrants(texts []string) []record.Grant {
	grants := make([]record.Grant, len(texts))
	for i, text := range texts {
		grants[i].Role, grants[i].Pool, _ = strings.Cut(text, " ")
	}
	return grants
}

// selectUsers has each user's roles and grants, sorted.
func selectUsers(db bun.IDB, rows any) *bun.SelectQuery {
	return db.NewSelect().Model(rows).Column("u.id", "u.name", "u.disabled", "u.created_at").
		ColumnExpr(rolesOfUser + " AS roles").ColumnExpr(grantsOfUser + " AS grants")
}

// nameOf is the name of the person that a column with a subject of the audit, u:<id>,
// stands for; null: another subject, or nobody any more.
func nameOf(column string) string {
	return "(SELECT u.name FROM users AS u WHERE u.id = CASE WHEN " + column + " ~ '^u:[0-9]{1,18}$' THEN substr(" + column + ", 3)::bigint END)"
}

func userByID(ctx context.Context, db bun.IDB, id int64) (record.User, error) {
	var row userRow
	if err := selectUsers(db, &row).Where("u.id = ?", id).Scan(ctx); err != nil {
		return record.User{}, problem("user "+strconv.FormatInt(id, 10), err)
	}
	return row.record(), nil
}

// User reads one account.
func (db *DB) User(ctx context.Context, id int64) (record.User, error) {
	return userByID(ctx, db.bun, id)
}

// Users lists the accounts by id.
func (db *DB) Users(ctx context.Context, page record.Page) ([]record.User, error) {
	after, err := numberAfter(page)
	if err != nil {
		return nil, err
	}
	var rows []userRow
	if err := selectUsers(db.bun, &rows).Where("u.id > ?", after).Order("u.id").Limit(limit(page)).Scan(ctx); err != nil {
		return nil, problem("list users", err)
	}
	users := make([]record.User, len(rows))
	for i := range rows {
		users[i] = rows[i].record()
	}
	return users, nil
}

// CreateUser makes an account and its pool, pool-<id>. A name that is there is a
// conflict. An empty password hash leaves the account without a password.
func (db *DB) CreateUser(ctx context.Context, actor record.Actor, user record.User, passwordHash string) (record.User, error) {
	var made record.User
	err := db.inTx(ctx, "create user "+user.Name, func(ctx context.Context, tx bun.Tx) (err error) {
		made, err = createUser(ctx, tx, user, passwordHash)
		if err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "user_created", object: userObject(made.ID), after: userState(made)})
	})
	return made, err
}

func createUser(ctx context.Context, tx bun.Tx, user record.User, passwordHash string) (record.User, error) {
	row := userRow{Name: user.Name, Disabled: user.Disabled}
	if _, err := tx.NewInsert().Model(&row).Column("name", "disabled").Returning("id, created_at").Exec(ctx); err != nil {
		return record.User{}, err
	}
	pool := fleet.OwnerPool(row.ID)
	if _, err := tx.NewRaw("INSERT INTO pools (id, name, kind) VALUES (?, ?, 'user')", pool, pool).Exec(ctx); err != nil {
		return record.User{}, fmt.Errorf("create %s: %w", pool, err)
	}
	if err := replaceRoles(ctx, tx, row.ID, user.Roles, user.Grants); err != nil {
		return record.User{}, err
	}
	if passwordHash != "" {
		if err := putPassword(ctx, tx, row.ID, passwordHash); err != nil {
			return record.User{}, err
		}
	}
	return userByID(ctx, tx, row.ID)
}

// replaceRoles keeps the pools of grants from being deleted until the transaction
// ends; one that is not there is unprocessable.
func replaceRoles(ctx context.Context, tx bun.Tx, user int64, roles []string, grants []record.Grant) error {
	pools := make([]string, len(grants))
	for i, g := range grants {
		if g.Role != roleOperator && g.Role != roleViewer {
			return fleet.Errorf(fleet.CodeUnprocessable, "the role "+g.Role+" can't be granted for a single pool")
		}
		pools[i] = g.Pool
	}
	if err := checkPools(ctx, tx, pools); err != nil {
		return err
	}
	if _, err := tx.NewRaw("DELETE FROM user_roles WHERE user_id = ?", user).Exec(ctx); err != nil {
		return err
	}
	all := slices.Clone(grants)
	for _, role := range roles {
		all = append(all, record.Grant{Role: role, Pool: everyPool})
	}
	for _, g := range all {
		_, err := tx.NewRaw("INSERT INTO user_roles (user_id, role, pool_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", user, g.Role, g.Pool).Exec(ctx)
		if err != nil {
			return fmt.Errorf("role %s: %w", g.Role, err)
		}
	}
	return nil
}

// SetUserRoles replaces a user's fleet-wide roles and grants for single pools, and
// ends the user's console sessions: who has other rights signs in anew. Taking the
// role from the last superadmin is a conflict, a grant for a pool that is not there
// unprocessable.
func (db *DB) SetUserRoles(ctx context.Context, actor record.Actor, id int64, roles []string, grants []record.Grant, reason string) (record.User, error) {
	return db.changeUser(ctx, actor, id, "user_roles_set", reason, func(ctx context.Context, tx bun.Tx, _ record.User) (bool, error) {
		return slices.Contains(roles, roleSuperadmin), replaceRoles(ctx, tx, id, roles, grants)
	})
}

// DisableUser takes an account out of use: its tokens are good for nothing.
// Disabling the last superadmin is a conflict.
func (db *DB) DisableUser(ctx context.Context, actor record.Actor, id int64, reason string) (record.User, error) {
	return db.changeUser(ctx, actor, id, "user_disabled", reason, func(ctx context.Context, tx bun.Tx, _ record.User) (bool, error) {
		_, err := tx.NewRaw("UPDATE users SET disabled = true WHERE id = ?", id).Exec(ctx)
		return false, err
	})
}

// changeUser runs one change of an account; write reports whether the user still
// is an enabled superadmin afterwards.
func (db *DB) changeUser(ctx context.Context, actor record.Actor, id int64, action, reason string,
	write func(context.Context, bun.Tx, record.User) (bool, error)) (record.User, error) {
	defer db.bearers.changed()
	var after record.User
	err := db.inTx(ctx, "change user "+strconv.FormatInt(id, 10), func(ctx context.Context, tx bun.Tx) error {
		supers, err := lockSuperadmins(ctx, tx)
		if err != nil {
			return err
		}
		before, err := userByID(ctx, tx, id)
		if err != nil {
			return err
		}
		stays, err := write(ctx, tx, before)
		if err != nil {
			return err
		}
		if !stays && slices.Equal(supers, []int64{id}) {
			return fleet.Errorf(fleet.CodeConflict, "this is the last superadmin: make another one first")
		}
		if after, err = userByID(ctx, tx, id); err != nil {
			return err
		}
		if err := endConsoleSessions(ctx, tx, id); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: action, object: userObject(id), before: userState(before), after: userState(after), reason: reason})
	})
	return after, err
}

// lockSuperadmins gives the enabled superadmins and keeps them so until the
// transaction ends: of two that demote each other, the second sees what the
// first did.
func lockSuperadmins(ctx context.Context, tx bun.Tx) (users []int64, err error) {
	err = tx.NewRaw(`SELECT u.id FROM user_roles r JOIN users u ON u.id = r.user_id
		WHERE r.role = 'superadmin' AND r.pool_id = '*' AND NOT u.disabled ORDER BY u.id FOR UPDATE`).Scan(ctx, &users)
	return users, err
}

// SuperadminExists reports whether anyone can administer the fleet.
func (db *DB) SuperadminExists(ctx context.Context) (exists bool, err error) {
	err = db.bun.NewRaw(`SELECT EXISTS (SELECT 1 FROM user_roles r JOIN users u ON u.id = r.user_id
		WHERE r.role = 'superadmin' AND r.pool_id = '*' AND NOT u.disabled)`).Scan(ctx, &exists)
	return exists, problem("look for a superadmin", err)
}

func userObject(id int64) string { return "user:" + strconv.FormatInt(id, 10) }

// userState is what an audit entry keeps of an account.
func userState(u record.User) any {
	var grants []string
	for _, g := range u.Grants {
		grants = append(grants, g.Role+" "+g.Pool)
	}
	return struct {
		Name     string   `json:"name"`
		Roles    []string `json:"roles"`
		Grants   []string `json:"grants,omitempty"` // role and pool
		Disabled bool     `json:"disabled"`
	}{u.Name, u.Roles, grants, u.Disabled}
}

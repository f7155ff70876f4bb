package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"rockpool/backend/internal/record"
)

type licenseRow struct {
	bun.BaseModel `bun:"table:licenses,alias:l"`

	ID        string     `bun:"id,pk"`
	User      int64      `bun:"user_id"`
	Roles     []string   `bun:"roles,array"`
	Nodes     int64      `bun:"nodes"`
	MaxSlots  int64      `bun:"max_slots"`
	CodeSum   []byte     `bun:"code_sum"`
	ExpiresAt *time.Time `bun:"expires_at"`
	RevokedAt *time.Time `bun:"revoked_at"`
	CreatedAt time.Time  `bun:"created_at,nullzero"`
	Used      int64      `bun:"used,scanonly"`
}

func (r *licenseRow) record() record.License {
	return record.License{
		ID: r.ID, User: r.User, Roles: r.Roles, Nodes: r.Nodes, Used: r.Used, MaxSlots: r.MaxSlots,
		ExpiresAt: utc(r.ExpiresAt), RevokedAt: utc(r.RevokedAt), CreatedAt: r.CreatedAt.UTC(),
	}
}

// seatsTaken counts the nodes of a license that have not left; a revoked node
// has left.
const seatsTaken = `(SELECT count(*) FROM nodes AS n WHERE n.license_id = l.id AND n.left_at IS NULL)`

func selectLicenses(db bun.IDB, rows any) *bun.SelectQuery {
	return db.NewSelect().Model(rows).ExcludeColumn("code_sum").ColumnExpr(seatsTaken + " AS used")
}

// CreateLicense keeps a new license; of its code only the SHA-256. An empty id
// is made up. A role that is not there is unprocessable.
func (db *DB) CreateLicense(ctx context.Context, actor record.Actor, license record.License, codeSum [32]byte) (record.License, error) {
	if license.ID == "" {
		id, err := newID()
		if err != nil {
			return record.License{}, err
		}
		license.ID = id
	}
	row := licenseRow{
		ID: license.ID, User: license.User, Roles: license.Roles, Nodes: license.Nodes, MaxSlots: license.MaxSlots,
		CodeSum: codeSum[:], ExpiresAt: license.ExpiresAt,
	}
	err := db.inTx(ctx, "create a license", func(ctx context.Context, tx bun.Tx) error {
		if err := checkRoles(ctx, tx, license.Roles...); err != nil {
			return err
		}
		_, err := tx.NewInsert().Model(&row).ExcludeColumn("created_at", "revoked_at").Returning("created_at, expires_at").Exec(ctx)
		if err != nil {
			return err
		}
		after := map[string]any{"user": license.User, "roles": license.Roles, "nodes": license.Nodes, "maxSlots": license.MaxSlots}
		return audit(ctx, tx, actor, change{action: "license_created", object: "license:" + license.ID, after: after})
	})
	return row.record(), err
}

// License reads one license with the seats taken.
func (db *DB) License(ctx context.Context, id string) (record.License, error) {
	var row licenseRow
	if err := selectLicenses(db.bun, &row).Where("l.id = ?", id).Scan(ctx); err != nil {
		return record.License{}, problem("license "+id, err)
	}
	return row.record(), nil
}

// LicenseBySum finds the license whose code has that SHA-256, also an expired or
// revoked one: the caller says so.
func (db *DB) LicenseBySum(ctx context.Context, sum [32]byte) (record.License, error) {
	var row licenseRow
	if err := selectLicenses(db.bun, &row).Where("l.code_sum = ?", sum[:]).Scan(ctx); err != nil {
		return record.License{}, problem("license", err)
	}
	return row.record(), nil
}

// Licenses lists licenses, oldest first; user nil: everybody's.
func (db *DB) Licenses(ctx context.Context, user *int64, page record.Page) ([]record.License, error) {
	var rows []licenseRow
	q := selectLicenses(db.bun, &rows).Where("l.id > ?", page.After).Order("l.id").Limit(limit(page))
	if user != nil {
		q = q.Where("l.user_id = ?", *user)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, problem("list licenses", err)
	}
	licenses := make([]record.License, len(rows))
	for i := range rows {
		licenses[i] = rows[i].record()
	}
	return licenses, nil
}

// RevokeLicense lets no more nodes join by it. A second time changes nothing.
// The nodes that came by it are the caller's business.
func (db *DB) RevokeLicense(ctx context.Context, actor record.Actor, id, reason string) (record.License, error) {
	var row licenseRow
	err := db.inTx(ctx, "revoke license "+id, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw("UPDATE licenses SET revoked_at = coalesce(revoked_at, now()) WHERE id = ?", id).Exec(ctx)
		if err := oneRow(res, err, notFound("license "+id)); err != nil {
			return err
		}
		if err := selectLicenses(tx, &row).Where("l.id = ?", id).Scan(ctx); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "license_revoked", object: "license:" + id, reason: reason})
	})
	return row.record(), err
}

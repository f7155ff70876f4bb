package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

type appRow struct {
	bun.BaseModel `bun:"table:apps,alias:a"`

	ID        string    `bun:"id,pk"`
	Owner     *int64    `bun:"owner_id"`
	CreatedAt time.Time `bun:"created_at,nullzero"`
	Version   int64     `bun:"version,nullzero"`

	Weight        int32 `bun:"weight,nullzero"`
	MaxOpenJobs   int64 `bun:"max_open_jobs"`
	MaxPlacements int64 `bun:"max_placements"`
	MaxSlots      int64 `bun:"max_slots"`
}

func (r *appRow) record() record.App {
	return record.App{ID: r.ID, Owner: orZero(r.Owner), CreatedAt: r.CreatedAt.UTC(), Version: r.Version, Share: fleet.Share{
		Weight: r.Weight, MaxOpenJobs: r.MaxOpenJobs, MaxPlacements: r.MaxPlacements, MaxSlots: r.MaxSlots,
	}}
}

// orZero reads a nullable id: 0 is nobody.
func orZero(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}

func orNull(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

// CreateApp makes an app with the share of one that nobody gave another. An id that is there is a conflict.
func (db *DB) CreateApp(ctx context.Context, actor record.Actor, app record.App) (record.App, error) {
	row := appRow{ID: app.ID, Owner: orNull(app.Owner)}
	err := db.inTx(ctx, "create app "+app.ID, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewInsert().Model(&row).Column("id", "owner_id").Returning("created_at, version, weight").Exec(ctx)
		if err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "app_created", object: "app:" + app.ID, after: map[string]any{"owner": app.Owner}})
	})
	return row.record(), err
}

const selectApp = "SELECT a.id, coalesce(a.owner_id, 0), a.created_at, a.version, " + shareColumns + " FROM apps a WHERE a.id = $1"

// App reads one app.
func (db *DB) App(ctx context.Context, id string) (record.App, error) {
	rows, err := db.queryHot(ctx, selectApp, id)
	if err != nil {
		return record.App{}, problem("app "+id, err)
	}
	app, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (a record.App, err error) {
		err = row.Scan(append([]any{&a.ID, &a.Owner, &a.CreatedAt, &a.Version}, shareFields(&a.Share)...)...)
		a.CreatedAt = a.CreatedAt.UTC()
		return a, err
	})
	return app, problem("app "+id, err)
}

// Apps lists apps by id; owner nil: everybody's.
func (db *DB) Apps(ctx context.Context, owner *int64, page record.Page) ([]record.App, error) {
	var rows []appRow
	q := db.bun.NewSelect().Model(&rows).Where("a.id > ?", page.After).Order("a.id").Limit(limit(page))
	if owner != nil {
		q = q.Where("a.owner_id = ?", *owner)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, problem("list apps", err)
	}
	apps := make([]record.App, len(rows))
	for i := range rows {
		apps[i] = rows[i].record()
	}
	return apps, nil
}

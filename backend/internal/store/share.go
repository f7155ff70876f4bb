package store

import (
	"context"

	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// shareColumns are an app's share; shareFields are where they go.
const shareColumns = "a.weight, a.max_open_jobs, a.max_placements, a.max_slots"

func shareFields(s *fleet.Share) []any {
	return []any{&s.Weight, &s.MaxOpenJobs, &s.MaxPlacements, &s.MaxSlots}
}

// lockApp reads owner and share of the app with a.ID, and gives its version. Nobody
// else changes it until the transaction ends.
func lockApp(ctx context.Context, tx bun.Tx, a *fleet.App, ifVersion *int64) (version int64, err error) {
	err = tx.NewRaw("SELECT coalesce(a.owner_id, 0), a.version, "+shareColumns+" FROM apps a WHERE a.id = ? FOR NO KEY UPDATE", a.ID).
		Scan(ctx, append([]any{&a.Owner, &version}, shareFields(&a.Share)...)...)
	if err != nil {
		return 0, problem("app "+a.ID, err)
	}
	return version, checkVersion("app", version, ifVersion)
}

// SetShare gives an app another share, and gives the app with its bindings and its
// new version. ifVersion is the app's version that the caller saw; nil: any. What
// changes nothing leaves no trace. Unprocessable: a weight that is not 1 to 1,000,
// a bound below 0.
func (db *DB) SetShare(ctx context.Context, actor record.Actor, app string, share fleet.Share, reason string, ifVersion *int64) (fleet.App, int64, error) {
	if share.Weight < 1 || share.Weight > fleet.MaxWeight {
		return fleet.App{}, 0, fleet.Errorf(fleet.CodeUnprocessable, "a weight is 1 to 1,000")
	}
	if min(share.MaxOpenJobs, share.MaxPlacements, share.MaxSlots) < 0 {
		return fleet.App{}, 0, fleet.Errorf(fleet.CodeUnprocessable, "a bound is 0, for none, or more")
	}
	a := fleet.App{ID: app}
	var version int64
	err := db.inTx(ctx, "set the share of app "+app, func(ctx context.Context, tx bun.Tx) error {
		var err error
		if version, err = lockApp(ctx, tx, &a, ifVersion); err != nil {
			return err
		}
		if a.Bindings, err = bindingsOf(ctx, tx, app); err != nil || a.Share == share {
			return err
		}
		before := a.Share
		a.Share = share
		version++
		_, err = tx.NewRaw("UPDATE apps SET weight = ?, max_open_jobs = ?, max_placements = ?, max_slots = ?, version = ? WHERE id = ?",
			share.Weight, share.MaxOpenJobs, share.MaxPlacements, share.MaxSlots, version, app).Exec(ctx)
		if err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{
			action: "share_set", object: "app:" + app, reason: reason, before: shareState(before), after: shareState(share),
		})
	})
	if err != nil {
		return fleet.App{}, 0, err
	}
	a.Version = version
	return a, version, nil
}

// shareState is what an audit entry keeps of a share.
func shareState(s fleet.Share) any {
	return map[string]any{"weight": s.Weight, "maxOpenJobs": s.MaxOpenJobs, "maxPlacements": s.MaxPlacements, "maxSlots": s.MaxSlots}
}

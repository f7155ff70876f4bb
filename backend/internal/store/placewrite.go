package store

import (
	"encoding/json"

	"rockpool/backend/internal/core"
	"rockpool/shared/ids"
)

// A placement moves on only while it lasts.
const updatePlacementsSQL = `
	UPDATE placements AS p SET state = u.state, expires_at = u.expires, ended_at = u.ended
	FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[]) AS u(id, state, expires, ended)
	WHERE p.id = u.id AND p.id = ANY ($1) AND p.ended_at IS NULL
	RETURNING p.id`

// One that lasts has its key for itself: of two the second is not written.
const insertPlacementsSQL = `
	INSERT INTO placements (id, state, expires_at, ended_at, app_id, owner_id, submitter_id, role, key, fallback, spec, decision, created_at)
	SELECT u.id, u.state, u.expires, u.ended, u.app, u.owner, u.submitter, u.role, u.key, u.fallback, u.spec, u.decision, u.created
	FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::int8[], $7::int8[], $8::text[],
	            $9::text[], $10::bool[], $11::text[], $12::text[], $13::timestamptz[])
	  AS u(id, state, expires, ended, app, owner, submitter, role, key, fallback, spec, decision, created)
	ON CONFLICT DO NOTHING
	RETURNING id`

// placementColumns are the parameters of insertPlacementsSQL; the first four are
// those of updatePlacementsSQL.
type placementColumns struct {
	id, state, expires, ended                                           array
	app, owner, submitter, role, key, fallback, spec, decision, created array
}

func (c *placementColumns) add(w *Writer, id ids.JobID, r *core.PlacementRow) {
	c.id.uuid(id)
	c.state.text(r.State.String())
	c.expires.time(w.at(r.ExpiresAt))
	w.stamp(&c.ended, r.EndedAt)
}

func (c *placementColumns) addNew(w *Writer, p *core.PlacementWrite) {
	c.add(w, p.Spec.ID, &p.Row)
	c.app.text(p.Spec.App)
	c.owner.int8(p.Spec.Owner)
	c.submitter.int8(p.Spec.Submitter)
	c.role.text(p.Spec.Role)
	c.key.text(p.Spec.Key)
	c.fallback.bool(p.Row.Fallback)
	spec, _ := json.Marshal(p.Spec) // texts and numbers always have a JSON form
	c.spec.bytes(spec)
	w.decision(&c.decision, p.Row.Decision)
	c.created.time(w.at(p.Row.CreatedAt))
}

// queuePlacements writes the ends before the new ones, so that a key is free for
// the next placement within one batch.
func (r *round) queuePlacements() {
	var old, fresh placementColumns
	var moved, made []ids.JobID
	var keyed []newKey
	var added []*core.PlacementWrite
	for i := range r.e.Placements {
		p := &r.e.Placements[i]
		switch {
		case r.out.job(p.Spec.ID):
		case !p.New:
			old.add(r.w, p.Spec.ID, &p.Row)
			moved = append(moved, p.Spec.ID)
		default:
			fresh.addNew(r.w, p)
			made, added = append(made, p.Spec.ID), append(added, p)
			if p.IdempotencyKey != "" {
				keyed = append(keyed, newKey{p.Spec.Submitter, p.IdempotencyKey, p.RequestDigest[:], p.Spec.ID})
			}
		}
	}
	if len(moved) > 0 {
		r.batch.Queue(updatePlacementsSQL, &old.id, &old.state, &old.expires, &old.ended).Query(r.refuseMissing(moved, core.RefusedStale))
	}
	if len(made) == 0 {
		return
	}
	r.queueKeys(placementKeys, keyed)
	c := &fresh
	r.batch.Queue(insertPlacementsSQL, &c.id, &c.state, &c.expires, &c.ended, &c.app, &c.owner, &c.submitter, &c.role, &c.key, &c.fallback,
		&c.spec, &c.decision, &c.created).Query(r.refuseMissing(made, core.RefusedStale))
	r.queuePlacedOn(added)
}

// The placement may have been refused: its nodes are left out with it.
const placementNodesSQL = `
	INSERT INTO placement_nodes (placement_id, place, node_id, pool_id)
	SELECT u.placement, u.place, u.node, u.pool
	FROM unnest($1::uuid[], $2::int4[], $3::text[], $4::text[]) AS u(placement, place, node, pool)
	WHERE EXISTS (SELECT FROM placements p WHERE p.id = u.placement AND p.id = ANY ($1))
	ON CONFLICT DO NOTHING`

func (r *round) queuePlacedOn(placements []*core.PlacementWrite) {
	var id, place, node, pool array
	for _, p := range placements {
		for i, on := range p.Row.Nodes {
			id.uuid(p.Spec.ID)
			place.int4(int32(i))
			node.text(on.Node)
			pool.text(on.Pool)
		}
	}
	if id.n > 0 {
		r.batch.Queue(placementNodesSQL, &id, &place, &node, &pool)
	}
}

package store

import (
	"slices"

	"rockpool/backend/internal/core"
)

// Holds that are not an operator's: the deciding code puts them there and lifts
// them. A trigger keeps nodes.held, so that the assignments of the same batch meet
// the hold already.
const putHoldsSQL = `
	INSERT INTO node_holds AS h (node_id, kind, owner, actor, reason, until, deadline)
	SELECT n.id, u.kind, u.owner, u.actor, u.reason, u.until, u.deadline
	FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[])
	  AS u(node, kind, owner, actor, reason, until, deadline) JOIN nodes n ON n.id = u.node
	WHERE n.id = ANY ($1)
	ON CONFLICT (node_id, kind, owner) DO UPDATE SET
		actor = excluded.actor, reason = excluded.reason, until = excluded.until, deadline = excluded.deadline, created_at = now()`

const liftHoldsSQL = `
	DELETE FROM node_holds AS h USING unnest($1::text[], $2::text[], $3::text[]) AS u(node, kind, owner)
	WHERE h.node_id = ANY ($1) AND h.node_id = u.node AND h.kind = u.kind AND h.owner = u.owner`

func (r *round) queueHolds() {
	var put, lift [7]array
	for _, h := range lastHolds(r.e.Holds) {
		to := &put
		if h.Lift {
			to = &lift
		}
		to[0].text(h.Node)
		to[1].text(string(h.Hold.Kind))
		to[2].text(string(h.Hold.Owner))
		to[3].text(storable(h.Hold.Actor))
		to[4].text(storable(h.Hold.Reason))
		r.w.stamp(&to[5], h.Hold.Until)
		r.w.stamp(&to[6], h.Hold.Deadline)
	}
	if lift[0].n > 0 {
		r.batch.Queue(liftHoldsSQL, &lift[0], &lift[1], &lift[2])
	}
	if put[0].n > 0 {
		r.batch.Queue(putHoldsSQL, &put[0], &put[1], &put[2], &put[3], &put[4], &put[5], &put[6])
	}
}

// lastHolds drops what a later write of the same batch overtakes.
func lastHolds(writes []core.HoldWrite) []core.HoldWrite {
	type key struct{ node, kind, owner string }
	seen := make(map[key]bool, len(writes))
	var last []core.HoldWrite
	for _, h := range slices.Backward(writes) {
		if k := (key{h.Node, string(h.Hold.Kind), string(h.Hold.Owner)}); !seen[k] {
			seen[k] = true
			last = append(last, h)
		}
	}
	return last
}

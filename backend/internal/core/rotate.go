package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/identity"
)

// A rotation gives a node another secret: it is asked for after each welcome until
// a session was opened with the new one, and then the old one is good for nothing.
// What people want of it, and what the node put, comes with the record.

// turnSecret goes on with a rotation while a session is open.
func (d *Dispatch) turnSecret(now fleet.Time, n *node, out *Effects) {
	if !n.rotates() {
		d.askRotation(n, out)
		return
	}
	next := n.known.secret
	n.known.turned = next
	d.endRotation(n, next, out)
	if h, held := n.quarantine(); held { // who has the secret now is the one that was chosen
		d.dropHold(now, n, h, out)
	}
	out.Audits = append(out.Audits, AuditNote{Action: AuditSecretRotated, Node: n.rec.ID})
}

// rotates reports that the open session came with the secret of the rotation that
// is under way.
func (n *node) rotates() bool {
	next := n.rec.Identity.NextSecret
	return next != fleet.Sum{} && n.known.secret == next
}

// askRotation asks the open session for the rotation that is under way. In
// quarantine only the chosen claimant is asked.
func (d *Dispatch) askRotation(n *node, out *Effects) {
	id := &n.rec.Identity
	holder, _ := id.Holder()
	if id.Rotation == "" || !n.open || n.pending != nil || n.quarantined() && (id.Keep == "" || id.Keep != holder.ID) {
		return
	}
	out.Sends = append(out.Sends, Send{Kind: SendRotate, Node: n.rec.ID, Epoch: n.epoch, Rotate: id.Rotation})
}

// endRotation ends the one that is under way; secret is the node's from now on, or
// zero: it keeps the one that it has.
func (d *Dispatch) endRotation(n *node, secret fleet.Sum, out *Effects) {
	id := &n.rec.Identity
	if id.Rotation == "" {
		return
	}
	over := id.Rotation
	n.known.rotated = over
	id.Rotation, id.NextSecret, id.Keep = "", fleet.Sum{}, ""
	w := d.writeIdentity(n, out)
	w.Over, w.Secret = over, secret
}

// stale reports a secret that was looked up before another one took its place.
func (n *node) stale(secret fleet.Sum) bool {
	turned, next := n.known.turned, n.rec.Identity.NextSecret
	return turned != fleet.Sum{} && secret != turned && (next == fleet.Sum{} || secret != next)
}

// mergedIdentity is the identity after news of the record: of the chain memory
// knows better, and of a rotation that has ended here. Who registered anew begins
// anew.
func (n *node) mergedIdentity(rec *fleet.NodeRecord) fleet.Identity {
	if n.rec.Left && !rec.Left {
		n.forgetKnown()
		return rec.Identity
	}
	id := identity.Merged(rec.Identity, n.rec.Identity)
	if id.Rotation != "" && id.Rotation == n.known.rotated {
		id.Keep, id.Rotation, id.NextSecret = "", "", fleet.Sum{}
	}
	return id
}

// recallIdentity lets the database's word on rotations count after a Load: the end of
// one may not have reached it.
func (n *node) recallIdentity(old *fleet.NodeRecord) {
	if old.Left && !n.rec.Left {
		n.forgetKnown()
	}
	if id := &n.rec.Identity; id.Rotation != "" && id.Rotation == n.known.rotated {
		n.known.rotated, n.known.turned = "", fleet.Sum{}
	}
}

// heedIdentity does what news of the record asks for: who was not chosen loses the
// session, and a new rotation is told.
func (d *Dispatch) heedIdentity(now fleet.Time, n *node, was *fleet.Identity, out *Effects) {
	id := &n.rec.Identity
	if holder, _ := id.Holder(); id.Keep != was.Keep && id.Keep != "" && id.Keep != holder.ID {
		d.cutOff(now, n, out)
	}
	if id.Rotation != was.Rotation {
		d.askRotation(n, out)
	}
}

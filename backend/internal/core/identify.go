package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/backend/internal/core/identity"
	"rockpool/backend/internal/core/lease"
)

// DuplicateWait is how long who was refused as a duplicate, or was closed because
// of one, keeps away: so the two can't take turns more often than it is said here.
const DuplicateWait = fleet.Time(60_000)

// quarantineReason stands on the hold.
const quarantineReason = "two processes have this node's identity"

// maxEarlier bounds the processes of a node that are remembered.
const maxEarlier = 8

// knownOf is what this process learned of who a node is; it outlives a Load.
type knownOf struct {
	confirmed bool               // a value was confirmed to this process
	newest    identity.Presented // of the newest hello that was taken; empty: none was
	earlier   []string           // boot ids of sessions before that one
	secret    fleet.Sum          // of the newest session
	turned    fleet.Sum          // the node's, since a rotation ended here; zero: none did
	rotated   string             // that rotation, or one that was given up
}

func (n *node) forgetKnown() { *n.known, n.awaits = knownOf{}, false }

// entryAt is where in which batch the newest write of something stands.
type entryAt struct {
	batch uint64
	at    int
}

func presentedOf(ev *HelloEvent) identity.Presented {
	return identity.Presented{
		ID: ev.Claimant, Chain: ev.Chain, MachineID: ev.Report.MachineID, BootID: ev.Report.BootID, Address: ev.Report.RemoteAddr,
		AgentVersion: ev.Report.AgentVersion, LastEpoch: ev.LastEpoch,
	}
}

// identify lets the node's own hello pass, and holds the node when it is somebody
// else's. last is an epoch that the node has had beyond the database's, or 0.
func (d *Dispatch) identify(now fleet.Time, n *node, ev *HelloEvent, out *Effects) (last int64, refused *fleet.Error) {
	if n.stale(ev.Secret) {
		return 0, fleet.Errorf(fleet.CodeUnauthenticated, "the node has another secret now")
	}
	p := presentedOf(ev)
	seen := identity.Seen{
		Epoch: max(n.epoch, n.rec.Epoch), Open: n.open, BootID: n.rec.BootID, MachineID: n.rec.MachineID,
		Earlier: n.known.earlier, Confirmed: n.known.confirmed, Held: n.quarantined(),
	}
	if n.known.newest.BootID != "" {
		seen.BootID, seen.MachineID = n.known.newest.BootID, n.known.newest.MachineID
	}
	verdict, budget := identity.Judge(&n.rec.Identity, &p, &seen), &n.hellos
	if verdict == identity.Duplicate {
		budget = &n.strays
	}
	if refused := budget.take(now); refused != nil {
		return 0, refused
	}
	switch verdict {
	case identity.Duplicate:
		d.duplicate(now, n, &p, out)
		return 0, &fleet.Error{
			Code: fleet.CodeDuplicateIdentity, RetryAfter: DuplicateWait,
			Detail: "another process has this node's identity: an operator decides which one is the node (rockpool node repair)",
		}
	case identity.Restored:
		last = ev.LastEpoch
		d.alarmRestored(now, n, last, out)
	}
	if before := seen.BootID; before != "" && before != p.BootID {
		earlier := append(slices.Clone(n.known.earlier), before)
		n.known.earlier = earlier[max(0, len(earlier)-maxEarlier):]
	}
	d.openIdentity(now, n, ev, out)
	n.known.newest, n.known.secret = p, ev.Secret
	return last, nil
}

// openIdentity notes what the session's welcome will bring.
func (d *Dispatch) openIdentity(now fleet.Time, n *node, ev *HelloEvent, out *Effects) {
	p, held := presentedOf(ev), n.quarantined()
	n.awaits = ev.ChainNext != fleet.Sum{}
	if !n.awaits && ev.Chain == (fleet.Sum{}) && !held {
		return // a node that knows nothing of it
	}
	n.rec.Identity = identity.Opened(n.rec.Identity, &p, ev.ChainNext, now, held)
	d.writeIdentity(n, out)
}

// confirm takes the session's first heartbeat: the node has stored what its
// welcome brought.
func (d *Dispatch) confirm(n *node, out *Effects) {
	if !n.awaits {
		return
	}
	n.awaits = false
	id, changed := identity.Confirm(n.rec.Identity)
	if changed {
		n.known.confirmed = true
		n.rec.Identity = id
		d.writeIdentity(n, out)
	}
}

// duplicate refuses a hello that is not the node's own. With the first one the
// session that stands ends too, whichever of the two it belongs to, the node gets
// no more work, and neither can deny the other's for as long as it takes to be lost.
func (d *Dispatch) duplicate(now fleet.Time, n *node, p *identity.Presented, out *Effects) {
	first := !n.quarantined()
	var holder *identity.Presented
	if newest := &n.known.newest; first && newest.BootID != "" && newest.BootID != p.BootID {
		holder = newest
	}
	n.rec.Identity = identity.Refused(n.rec.Identity, p, holder, now)
	if first {
		d.endRotation(n, fleet.Sum{}, out)
		d.cutOff(now, n, out)
		n.doubt = now + d.cfg.Lost
		d.putHold(now, n, fleet.Hold{Kind: fleet.HoldQuarantine, Owner: fleet.OwnerAuto, Reason: quarantineReason}, out)
	}
	d.writeIdentity(n, out)
	d.alarmDuplicate(now, n, out)
	d.seen(n)
}

// cutOff closes the node's session because of a duplicate.
func (d *Dispatch) cutOff(now fleet.Time, n *node, out *Effects) {
	d.close(n, fleet.CodeDuplicateIdentity, CloseDuplicate, out)
	n.lease.On(lease.Broken, now, d.leases())
	d.seen(n)
	d.reblock(n)
	d.watch(now, n)
}

// quarantine gives the hold that a duplicate brought.
func (n *node) quarantine() (fleet.Hold, bool) {
	return hold.Find(n.rec.Holds, fleet.HoldQuarantine, fleet.OwnerAuto)
}

func (n *node) quarantined() bool {
	_, held := n.quarantine()
	return held
}

// quarantineOver forgets who came, once the hold is lifted: the node's word counts again.
func (d *Dispatch) quarantineOver(now fleet.Time, n *node, out *Effects) {
	d.nodeAlarmOver(now, fleet.AlarmDuplicate, n, out)
	n.known.earlier, n.doubt = nil, 0
	d.endRotation(n, fleet.Sum{}, out)
	n.rec.Identity = identity.Cleared(n.rec.Identity)
	d.writeIdentity(n, out)
}

// writeIdentity brings the batch up to the node's identity: one entry a node.
func (d *Dispatch) writeIdentity(n *node, out *Effects) *IdentityWrite {
	if gen := d.number(out); n.identity.batch != gen {
		n.identity = entryAt{batch: gen, at: len(out.Identities)}
		out.Identities = append(out.Identities, IdentityWrite{Node: n.rec.ID})
	}
	w := &out.Identities[n.identity.at]
	w.Identity = n.rec.Identity
	return w
}

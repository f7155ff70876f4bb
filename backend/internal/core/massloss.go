package core

import "rockpool/backend/internal/core/fleet"

// When most of a pool falls silent at once, it is seldom the nodes: a network has
// broken, or somebody cut us off. To run all of their work again elsewhere would be
// the greater damage. While a mass loss stands no lease of the pool's nodes runs
// out; it stands as long as its alarm.

const (
	massNodes  = 10                  // a smaller pool has no mass
	massWithin = fleet.Time(60_000)  // so close together most of the nodes fell silent
	massSpan   = fleet.Time(600_000) // longer than this it never stands
)

// fall notes when the node's lease became suspect by what the node did or did not
// do.
func (n *node) fall(now fleet.Time) {
	if n.lease.State == fleet.LeaseSuspect {
		n.fell = now
	}
}

// fallWithRestart notes, when this process begins, all nodes that are to come back:
// those of them that don't have fallen together. Who was lost before is none of them.
func (d *Dispatch) fallWithRestart(now fleet.Time) {
	for _, n := range d.order {
		if n.alarm(fleet.AlarmNodeLost) == nil {
			n.fall(now)
		}
	}
}

// gone reports a node that has fallen, after the last mass loss of its pool was
// over, and has been silent for as long as makes a ready one suspect.
func (d *Dispatch) gone(now fleet.Time, n *node) bool {
	return n.lease.State == fleet.LeaseSuspect && n.fell > n.gauge.massOver && n.lease.Seen+d.cfg.Suspect <= now
}

// lookAtMass begins mass losses and ends them, after the nodes were counted.
func (d *Dispatch) lookAtMass(now fleet.Time, out *Effects) {
	d.look.counted = now
	for _, g := range d.gauges {
		if g.massUntil == 0 && g.nodes >= massNodes && 2*g.gone > g.nodes && !d.settling(now) && 2*d.goneTogether(now, g) > g.nodes {
			g.massUntil = now + massSpan
			d.overstep(now, g, ofMass, 1, out)
		}
		if g.massUntil == 0 {
			continue
		}
		if g.massUntil <= now || 2*g.notReady <= g.nodes {
			d.endMass(now, g, out)
			continue
		}
		d.look.nodesBy = min(d.look.nodesBy, g.massUntil)
	}
}

// settling reports that nodes may still be on their way back after this process
// began or stood still: their silence is no news.
func (d *Dispatch) settling(now fleet.Time) bool { return now < d.settled() }

// settled is when that ends; 0: nothing to wait for.
func (d *Dispatch) settled() fleet.Time {
	if d.excused == 0 {
		return d.look.calm
	}
	return max(d.look.calm, d.excused+d.cfg.Lost)
}

// goneTogether counts the pool's nodes that fell within a minute of the one that
// fell last.
func (d *Dispatch) goneTogether(now fleet.Time, g *gauge) (count int32) {
	for _, n := range d.order {
		if n.gauge == g && d.gone(now, n) && n.fell >= g.newestFall-massWithin {
			count++
		}
	}
	return count
}

// endMass lets the leases of the pool's nodes run out again.
func (d *Dispatch) endMass(now fleet.Time, g *gauge, out *Effects) {
	g.massUntil, g.massOver = 0, now
	d.calm(now, g, ofMass, out)
	for _, n := range d.order {
		if n.gauge == g {
			d.watch(now, n)
		}
	}
}

// spared reports that a suspect node's lease, whose time is over, does not run out:
// the database is away, or the node's pool has a mass loss.
func (d *Dispatch) spared(now fleet.Time, n *node, out *Effects) bool {
	if n.lease.State != fleet.LeaseSuspect || n.lease.Due(d.leases()) > now {
		return false
	}
	if d.freeze.lasts() {
		return true
	}
	if d.look.counted < max(n.lease.Seen+d.cfg.Suspect, d.settled()) {
		d.countNodes(now, out)
	}
	return n.gauge.massUntil != 0
}

// ReleasePool ends a pool's mass loss on a person's word; false: none stands.
func (d *Dispatch) ReleasePool(now fleet.Time, pool string, by Actor, reason string, out *Effects) bool {
	g := d.findGauge(pool)
	if g == nil || g.massUntil == 0 {
		return false
	}
	d.endMass(now, g, out)
	out.Audits = append(out.Audits, AuditNote{Action: AuditMassLossReleased, Pool: pool, Detail: reason, By: &by})
	d.settle(now, out)
	return true
}

// recallMass lets a mass loss stand whose alarm was read back.
func (g *gauge) recallMass(now fleet.Time, raised fleet.Time) {
	g.massUntil = max(1, min(raised, now)+massSpan)
}

// massSince is when the pool's mass loss began; 0: none stands.
func (d *Dispatch) massSince(pool string) fleet.Time {
	if g := d.findGauge(pool); g != nil && g.massUntil != 0 && g.alarms[ofMass] != nil {
		return g.alarms[ofMass].RaisedAt
	}
	return 0
}

// findGauge is the pool's; nil: it has none.
func (d *Dispatch) findGauge(pool string) *gauge {
	at, known := d.gaugeAt(pool)
	if !known {
		return nil
	}
	return d.gauges[at]
}

package core

import (
	"slices"
	"strconv"
	"strings"

	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// calmLooks is how many looks in a row must find no work late, or enough slots
// free, before that alarm ends: a pool near its limit would raise it anew every few
// seconds.
const calmLooks = 5

// gauge is a pool's thresholds with what the newest look found.
type gauge struct {
	pool   string
	limits fleet.Thresholds

	waiting  int64 // jobs that wait for it first
	late     int64 // of them, longer than the threshold
	before   int64 // late at the look before
	lately   int64 // of those, since the look before
	nodes    int32 // that have not left
	notReady int32
	silent   int32 // of those, for so long that a ready one would be suspect
	counted  int32 // silent ones that the alarm has counted

	gone       int32      // nodes that fell and stayed silent
	newestFall fleet.Time // of these
	massUntil  fleet.Time // when the mass loss ends by itself; 0: none stands
	massOver   fleet.Time // when the last one ended

	alarms [len(gaugeKinds)]*alarm.Case // nil: it does not last
	easy   [len(gaugeKinds)]int         // looks in a row that found all well
}

const (
	ofWait = iota
	ofSlots
	ofNodes
	ofMass
)

var gaugeKinds = [...]fleet.AlarmKind{
	ofWait: fleet.AlarmQueueWait, ofSlots: fleet.AlarmFreeSlots, ofNodes: fleet.AlarmNodesNotReady, ofMass: fleet.AlarmMassLoss,
}

// gaugeOf gives the pool's; of one that nobody put, with the usual thresholds.
func (d *Dispatch) gaugeOf(pool string) *gauge {
	at, known := d.gaugeAt(pool)
	if !known {
		d.gauges = slices.Insert(d.gauges, at, &gauge{pool: pool, limits: fleet.DefaultThresholds()})
	}
	return d.gauges[at]
}

// gaugeAt is where the pool's stands, or would.
func (d *Dispatch) gaugeAt(pool string) (at int, known bool) {
	return slices.BinarySearchFunc(d.gauges, pool, func(g *gauge, id string) int { return strings.Compare(g.pool, id) })
}

// setLimits takes over a pool's thresholds.
func (d *Dispatch) setLimits(p *fleet.Pool) {
	g := d.gaugeOf(p.ID)
	if g.limits != p.Thresholds {
		g.limits = p.Thresholds
		for _, c := range d.cohorts {
			if c.gauge == g {
				c.line.Rewind()
			}
		}
	}
	d.look.nodes, d.look.hopes = true, true
}

// lookAtNodes counts, by pool, the nodes that are not ready, and gives when one
// more will have been silent for long; Never: none.
func (d *Dispatch) lookAtNodes(now fleet.Time) (next fleet.Time) {
	for _, g := range d.gauges {
		g.nodes, g.notReady, g.silent, g.gone, g.newestFall = 0, 0, 0, 0, 0
	}
	next = fleet.Never
	for _, n := range d.order {
		if n.rec.Left || n.lease.State == fleet.LeaseLeft {
			continue
		}
		n.gauge.nodes++
		if n.lease.State == fleet.LeaseReady {
			continue
		}
		n.gauge.notReady++
		if long := n.lease.Seen + d.cfg.Suspect; long <= now {
			n.gauge.silent++
		} else {
			next = min(next, long)
		}
		if d.gone(now, n) {
			n.gauge.gone++
			n.gauge.newestFall = max(n.gauge.newestFall, n.fell)
		}
	}
	return next
}

// lookAtPools compares every pool with its thresholds.
func (d *Dispatch) lookAtPools(now fleet.Time, out *Effects) {
	for _, g := range d.gauges {
		if g.pool == fleet.PoolUnassigned {
			continue
		}
		d.gaugeQueue(now, g, out)
		d.gaugeSlots(now, g, out)
		d.gaugeNodes(now, g, out)
		d.look.pools = d.look.pools || g.alarms[ofWait] != nil || g.alarms[ofSlots] != nil
	}
}

func (d *Dispatch) gaugeQueue(now fleet.Time, g *gauge, out *Effects) {
	if g.late > 0 {
		d.overstep(now, g, ofWait, g.lately, out)
		return
	}
	d.ease(now, g, ofWait, out)
}

func (d *Dispatch) gaugeSlots(now fleet.Time, g *gauge, out *Effects) {
	if g.waiting > 0 && d.index.Pool(g.pool).FreeSlots() <= g.limits.FreeSlots {
		again := int64(0)
		if g.easy[ofSlots] > 0 {
			again = 1
		}
		d.overstep(now, g, ofSlots, again, out)
		return
	}
	d.ease(now, g, ofSlots, out)
}

// ease ends the pool's alarm of the kind when it has been well for a while.
func (d *Dispatch) ease(now fleet.Time, g *gauge, kind int, out *Effects) {
	if g.easy[kind]++; g.easy[kind] >= calmLooks {
		d.calm(now, g, kind, out)
	}
}

// gaugeNodes tells of nodes that have been silent for as long as makes a ready
// one suspect, and ends when enough are ready again: a connection that breaks for
// seconds raises nothing, and neither does a restart. A mass loss says all of it.
func (d *Dispatch) gaugeNodes(now fleet.Time, g *gauge, out *Effects) {
	switch {
	case g.massUntil != 0:
		d.calm(now, g, ofNodes, out)
	case g.over(g.silent) && now >= d.look.calm:
		d.overstep(now, g, ofNodes, int64(g.silent-g.counted), out)
		g.counted = g.silent
	case !g.over(g.notReady):
		d.calm(now, g, ofNodes, out)
	}
	g.counted = min(g.counted, g.silent)
}

// over reports that so many of the nodes are too large a share.
func (g *gauge) over(nodes int32) bool {
	return g.nodes > 0 && int64(nodes)*100 > int64(g.limits.NotReadyPct)*int64(g.nodes)
}

// overstep raises the pool's alarm of the kind, or counts what is new of it.
func (d *Dispatch) overstep(now fleet.Time, g *gauge, kind int, more int64, out *Effects) {
	g.easy[kind] = 0
	if c := g.alarms[kind]; c != nil {
		if more > 0 {
			d.alarms.Again(now, c, more)
		}
		return
	}
	g.alarms[kind] = d.newAlarm(now, fleet.Fingerprint{Kind: gaugeKinds[kind], Pool: g.pool}, max(1, more), out)
	d.writeAlarm(now, g.alarms[kind], out)
}

// calm ends the pool's alarm of the kind, if it lasts.
func (d *Dispatch) calm(now fleet.Time, g *gauge, kind int, out *Effects) {
	if c := g.alarms[kind]; c != nil {
		g.alarms[kind] = nil
		if kind == ofNodes {
			g.counted = 0
		}
		d.endAlarm(now, c, out)
	}
}

// describe brings the alarm's words and its list of work up to now.
func (g *gauge) describe(d *Dispatch, now fleet.Time, a *fleet.Alarm) {
	switch a.Kind {
	case fleet.AlarmQueueWait:
		a.WaitingNow, a.Waiting = g.late, d.longest(g)
		a.Detail = fleet.Count(g.late, "job") + " past the threshold of " + fleet.Span(fleet.Time(g.limits.QueueWaitMs))
		if len(a.Waiting) > 0 {
			a.Detail += ", the oldest waits " + fleet.Span(now-d.jobs[a.Waiting[0]].waits.Since)
		}
	case fleet.AlarmFreeSlots:
		a.WaitingNow = g.waiting
		a.Detail = fleet.Count(d.index.Pool(g.pool).FreeSlots(), "slot") + " free, " + fleet.Count(g.waiting, "job") + " waiting"
	case fleet.AlarmMassLoss:
		a.Detail = strconv.Itoa(int(g.notReady)) + " of " + fleet.Count(int64(g.nodes), "node") + " fell silent at once; their work is kept for them for " +
			fleet.Span(massSpan) + " at most"
	case fleet.AlarmNodesNotReady:
		a.Detail = strconv.Itoa(int(g.notReady)) + " of " + fleet.Count(int64(g.nodes), "node") + " not ready"
	}
}

// longest lists the work that has waited longest for the pool, too long already.
func (d *Dispatch) longest(g *gauge) (list []ids.JobID) {
	var heads []*alarm.Waiter
	for _, c := range d.cohorts {
		if c.gauge == g && c.line.Late() > 0 {
			heads = append(heads, c.line.First())
		}
	}
	most := min(g.late, fleet.MaxAlarmWaiting)
	for int64(len(list)) < most && len(heads) > 0 {
		oldest := 0
		for i, w := range heads {
			if w.Since < heads[oldest].Since {
				oldest = i
			}
		}
		list = append(list, heads[oldest].Job)
		if heads[oldest] = heads[oldest].Next(); heads[oldest] == nil {
			heads = slices.Delete(heads, oldest, oldest+1)
		}
	}
	return list
}

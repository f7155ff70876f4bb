package core

import (
	"slices"

	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/lease"
	"rockpool/backend/internal/core/schedule"
	"rockpool/shared/ids"
)

// Config holds the times of the deciding code, all in milliseconds, and its bounds.
type Config struct {
	Heartbeat    fleet.Time // interval that nodes are told
	Suspect      fleet.Time // without a frame
	Lost         fleet.Time // without a frame
	OfferTimeout fleet.Time // for the answer to an offer
	CancelSlack  fleet.Time // after a cancel's grace
	DefaultGrace fleet.Time // of a cancel that names none
	AvoidFor     fleet.Time // a job keeps away from a node that did not take it
	TransferTime fleet.Time // that an attempt's inputs may take, and again its outputs
	ReserveAfter fleet.Time // large work that is stuck for so long gets a node reserved; 0: never

	QueueLimit int64 // jobs of one app that may wait for one pool first; 0: any number
}

// refusedFor is how long a job keeps away from a node whose assignment the
// database refused: by then the node's news has arrived.
const refusedFor = fleet.Time(1000)

// stall is how late a Tick may be before silence is put down to this process
// and not to the nodes.
const stall = fleet.Time(2000)

// Dispatch decides for all pools of the process. It is not for concurrent use:
// one loop gives it one event at a time.
//
// Every event method takes the time first and appends what it wants done to
// out, last; see Effects for how batches are committed.
type Dispatch struct {
	cfg   Config
	shard int64 // epoch of the shard, stands in decisions

	pools   map[string]*fleet.Pool
	poolIDs []string // of pools, sorted
	apps    map[string]*fleet.App
	appIDs  []string         // of apps, sorted
	bound   map[string]int32 // bindings that name the pool
	nodes   map[string]*node
	places  []*node            // in the order in which they became known
	jobs    map[ids.JobID]*job // open ones, and ended ones until that is committed
	idle    []*job             // records of ended ones, for new ones
	order   []*node            // by id

	placements map[ids.JobID]*holding // those that last, and ended ones until that is committed
	placed     []*holding             // that last, by id
	byKey      map[placementKey]*holding
	ended      ends
	uses       map[string]*use // by app

	owners map[int64]int32 // nodes that count as a user's own

	index  *schedule.Index
	queue  *schedule.Queue
	paused int // jobs that are queued and stand in no line
	routes map[routeKey]*route
	route  *route // that was looked for last, or nil
	timers timers
	alarms alarm.Book
	look   look

	cohortsByKey map[cohortKey]*cohort
	cohorts      []*cohort // of which work waits or an alarm lasts
	emptied      []*cohort // of which nothing waits any more since the event began
	gauges       []*gauge  // by pool
	waited       schedule.Waited

	reserves []*reserve

	freed   []*node   // have room or are eligible since the event began
	woken   []string  // pools for which more may have changed
	eased   []string  // apps that have given slots back or may have more
	small   []smaller // work that was placed while others wait
	scratch fleet.Decision
	waiting *fleet.Decision // the newest of keptWaiting
	picked  []*node         // by the last decision
	missing []*job

	batches uint64 // numbers Effects
	arrived uint64 // numbers jobs
	serial  uint64 // numbers reports of what a node runs
	rev     uint64
	loaded  uint64     // the revision of the newest Load
	excused fleet.Time // when nodes' silence was put down to this process last; 0: never
	freeze  Freeze     // the newest
	resume  *resume
}

// New makes an empty Dispatch; Load gives it a fleet.
func New(cfg Config) *Dispatch {
	d := &Dispatch{cfg: cfg, timers: newTimers()}
	d.clear()
	return d
}

func (d *Dispatch) clear() {
	d.pools, d.apps = map[string]*fleet.Pool{}, map[string]*fleet.App{}
	d.nodes, d.jobs = map[string]*node{}, map[ids.JobID]*job{}
	d.poolIDs, d.order, d.places, d.owners = nil, nil, nil, map[int64]int32{}
	d.appIDs, d.bound = nil, map[string]int32{}
	d.index, d.queue, d.paused = schedule.NewIndex(), schedule.NewQueue(), 0
	d.routes, d.route = map[routeKey]*route{}, nil
	d.freed, d.woken = nil, nil
	d.placements, d.placed, d.byKey = map[ids.JobID]*holding{}, nil, map[placementKey]*holding{}
	d.uses, d.ended = map[string]*use{}, ends{}
	d.reserves, d.eased, d.small = nil, nil, nil
	d.timers.reset()
	d.look = look{at: fleet.Never, nodesBy: fleet.Never}
	d.cohortsByKey, d.cohorts, d.emptied, d.gauges = map[cohortKey]*cohort{}, nil, nil, nil
}

func (d *Dispatch) leases() lease.Times {
	return lease.Times{Suspect: d.cfg.Suspect, Lost: d.cfg.Lost}
}

// Rev rises with every change that a view would show.
func (d *Dispatch) Rev() uint64 { return d.rev }

// Next is when Tick is due; fleet.Never: there is nothing to wait for.
func (d *Dispatch) Next() fleet.Time {
	if d.resume != nil {
		return d.resume.at
	}
	return d.timers.first()
}

// Tick does what is due. A Tick that comes much too late means that this
// process stood still: all deadlines move by as much and every node gets its
// full grace, since its frames may be waiting to be read.
func (d *Dispatch) Tick(now fleet.Time, out *Effects) {
	if d.resume != nil {
		d.goOn(now, out)
	}
	if late := now - d.timers.first(); late > stall {
		d.excuse(now, late, out)
	}
	for d.timers.first() <= now {
		t := d.timers.pop()
		switch t.kind {
		case leaseDue:
			d.leaseDue(now, t, out)
		case lookDue:
			d.lookDue(now, t, out)
		case holdDue:
			d.holdDue(now, t, out)
		case ttlDue:
			d.ttlDue(now, t, out)
		case restoredDue:
			d.restoredDue(now, out)
		default:
			if j := d.jobs[t.job]; j != nil {
				d.jobDue(now, t, j, out)
			}
		}
	}
	d.settle(now, out)
}

func (d *Dispatch) jobDue(now fleet.Time, t timer, j *job, out *Effects) {
	switch t.kind {
	case offerDue:
		d.offerUnanswered(now, j, t.attempt, out)
	case cancelDue:
		d.cancelUnanswered(now, j, t.attempt, out)
	case avoidDue:
		d.avoidOver(now, j, out)
	case wakeDue:
		d.wake(now, j, out)
	case expireDue:
		d.expire(now, t, j, out)
	}
}

// excuse forgets the silence of a time in which nobody listened.
func (d *Dispatch) excuse(now, late fleet.Time, out *Effects) {
	d.excused = now
	if !d.freeze.lasts() {
		d.frozen(now, now-late, now+d.cfg.Lost, FrozenByStandstill)
	}
	late += d.cfg.OfferTimeout
	d.timers.delay(late)
	if d.look.at != fleet.Never {
		d.look.at += late
	}
	d.look.calm += late
	for _, n := range d.order {
		if n.timer != fleet.Never {
			n.timer += late
		}
		n.holdTimer = fleet.Never // what a person or a rule set by the clock stays
		d.passHolds(now, n, out)
		n.lease.On(lease.Excused, now, d.leases())
		d.watch(now, n)
	}
	d.sparePlacements(now, late)
}

// PutPool tells of a new or changed pool, after the store has it.
func (d *Dispatch) PutPool(now fleet.Time, p fleet.Pool, out *Effects) {
	if old := d.pools[p.ID]; old != nil && p.Version < old.Version {
		return // news of two changes may come in another order than they were made
	}
	d.rev++
	d.setPool(p)
	d.wakePool(p.ID)
	d.settle(now, out)
}

// RemovePool forgets a pool that no node and no binding refers to. A canary job
// that still waits for it waits for a pool without nodes.
func (d *Dispatch) RemovePool(id string) {
	d.rev++
	delete(d.pools, id)
	d.poolIDs = slices.DeleteFunc(d.poolIDs, func(other string) bool { return other == id })
	d.index.Drop(id)
	d.unroute()
}

func (d *Dispatch) setPool(p fleet.Pool) {
	if at, known := slices.BinarySearch(d.poolIDs, p.ID); !known {
		d.poolIDs = slices.Insert(d.poolIDs, at, p.ID)
	}
	d.pools[p.ID] = &p
	d.index.Pool(p.ID).State = p.State
	d.review(d.reserveIn(p.ID))
	d.setLimits(&p)
}

// PutApp tells of a new or changed app or its bindings, after the store has it.
func (d *Dispatch) PutApp(now fleet.Time, a fleet.App, out *Effects) {
	if old := d.apps[a.ID]; old != nil && a.Version < old.Version {
		return
	}
	d.rev++
	d.setApp(&a)
	d.relax(a.ID)
	d.reroute(now, func(spec *fleet.JobSpec) bool { return spec.App == a.ID })
	d.settle(now, out)
}

func (d *Dispatch) setApp(a *fleet.App) {
	if before := d.apps[a.ID]; before != nil {
		d.countBound(before, -1)
	} else {
		at, _ := slices.BinarySearch(d.appIDs, a.ID)
		d.appIDs = slices.Insert(d.appIDs, at, a.ID)
	}
	d.apps[a.ID] = a
	d.countBound(a, 1)
}

// countBound keeps count of the bindings that name a pool.
func (d *Dispatch) countBound(a *fleet.App, by int32) {
	for i := range a.Bindings {
		for _, id := range a.Bindings[i].Pools {
			if d.bound[id] += by; d.bound[id] == 0 {
				delete(d.bound, id)
			}
		}
	}
}

// canary reports a pool that work comes to by its name alone: a named one that
// no binding refers to.
func (d *Dispatch) canary(p *fleet.Pool) bool { return p.Kind == fleet.KindNamed && d.bound[p.ID] == 0 }

package core

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// world is a fleet around one Dispatch: a driver with one batch in flight, a
// store that checks like the real one, and agents. Everything that happens in
// it is chosen by pick, so that rapid or a seed can play any history.
type world struct {
	d    *Dispatch
	now  fleet.Time
	pick func(name string, n int) int
	fail func(format string, args ...any)

	pending  *Effects
	inFlight *Effects
	store    *modelStore
	agents   []*agent
	admin    []func() // store's changes that the core has not heard of
	chains   int      // values that were given
	copies   bool     // states were copied
	specs    int
	jobs     []*fleet.JobSpec
	acks     map[ids.JobID]int // verdict stored
	trace    []string          // when recording
	record   bool
	offered  map[Attempt]int64 // by which epoch each went out last
	calm     bool              // faults are over
	quotas   bool              // apps may get bounds
	checks   int               // of alarms, so far
	judged   map[Attempt]bool
	grants   int // placements that were granted
	resolves int // held jobs that a person has decided about
	viewed   viewed
}

var testConfig = Config{
	Heartbeat: 10_000, Suspect: 25_000, Lost: 90_000, OfferTimeout: 5_000,
	CancelSlack: 30_000, DefaultGrace: 10_000, AvoidFor: 30_000, ReserveAfter: 10_000, TransferTime: 20_000,
}

func newWorld(pick func(string, int) int, fail func(string, ...any)) *world {
	w := &world{
		d: New(testConfig), now: 1000, pick: pick, fail: fail, pending: &Effects{},
		store: newModelStore(fail), acks: map[ids.JobID]int{}, offered: map[Attempt]int64{}, judged: map[Attempt]bool{},
	}
	return w
}

// worldRoles are two that are built in and one that a superadmin added.
var worldRoles = []string{"worker", "edge", "probe"}

// found sets the fleet up in the store and loads it.
func (w *world) found(nodes int) {
	s := w.store
	s.pools = []fleet.Pool{
		{ID: fleet.PoolDefault, Kind: fleet.KindDefault}, {ID: fleet.PoolUnassigned, Kind: fleet.KindUnassigned},
		{ID: "pool-1", Kind: fleet.KindUser}, {ID: "pool-2", Kind: fleet.KindUser}, {ID: "pool-3", Kind: fleet.KindUser},
		{ID: "canary", Kind: fleet.KindNamed},
	}
	for i := range s.pools {
		s.pools[i].State, s.pools[i].Thresholds = fleet.PoolActive, fleet.DefaultThresholds()
	}
	s.apps = []fleet.App{
		{ID: "a1", Owner: 1}, {ID: "a2", Owner: 2}, {ID: "a0"},
		{ID: "bound", Owner: 3, Bindings: []fleet.Binding{{Pools: []string{"pool-1", "pool-2"}, AllowFallback: true}}},
	}
	for i := range nodes {
		pools := []string{"pool-1", "pool-1", "pool-2", fleet.PoolDefault}
		rec := fleet.NodeRecord{
			ID: fmt.Sprintf("n%02d", i), Owner: int64(i % 3), Pool: pools[i%len(pools)], Role: worldRoles[i/2%len(worldRoles)], Version: 1,
			Capacity: fleet.Vector{Slots: int64(1 + i%3)}, Runners: []string{"noop"},
		}
		s.nodes[rec.ID] = &modelNode{rec: rec}
		w.agents = append(w.agents, &agent{id: rec.ID, slots: rec.Capacity.Slots, backend: []string{"cpu", "cuda"}[i%2]})
	}
	w.d.Load(w.now, s.snapshot())
	w.after()
}

// after is what the driver does when an event was applied: send, tick, reload.
func (w *world) after() {
	for round := 0; ; round++ {
		if round > 10_000 {
			w.fail("the core never comes to rest: next %d at %d", w.d.Next(), w.now)
		}
		w.deliver()
		if w.pending.Reload {
			w.reload()
			continue
		}
		if w.d.Next() > w.now {
			break
		}
		w.d.Tick(w.now, w.pending)
	}
	w.check()
}

func (w *world) deliver() {
	for _, s := range w.pending.Sends {
		w.note("send", s)
		w.judgeSend(&s)
		for _, a := range w.agents {
			if a.id == s.Node && a.open && a.epoch == s.Epoch {
				a.mail = append(a.mail, s)
			}
		}
	}
	w.pending.Sends = w.pending.Sends[:0]
	recalls := w.pending.Recalls
	w.pending.Recalls = nil
	for _, r := range recalls {
		w.d.Recalled(w.now, r, w.store.recall(r), w.pending)
	}
	if len(recalls) > 0 {
		w.deliver()
	}
}

// nextChain is a value of the chain that no welcome has brought before.
func (w *world) nextChain() fleet.Sum {
	w.chains++
	return sha256.Sum256([]byte(strconv.Itoa(w.chains)))
}

func (w *world) note(kind string, v any) {
	if w.record {
		text, err := json.Marshal(v)
		if err != nil {
			w.fail("record: %v", err)
		}
		w.trace = append(w.trace, fmt.Sprintf("%d %s %s", w.now, kind, text))
	}
}

// judgeSend checks what may be said, and when.
func (w *world) judgeSend(s *Send) {
	row := w.store.jobs[s.Job]
	switch s.Kind {
	case SendOffer:
		n := w.d.nodes[s.Node]
		if row == nil || row.row.State != fleet.JobOffered || row.row.Attempt != s.Attempt || row.row.Node != s.Node {
			w.fail("offer of an assignment that is not committed: %+v, row %+v", s, row)
		}
		if !n.ready() || len(n.rec.Holds) > 0 || n.rec.Pool != row.row.Pool {
			w.fail("offer to a node that may not get work: %+v", n.rec)
		}
		w.offered[Attempt{Job: s.Job, Attempt: s.Attempt}] = s.Epoch
	case SendStart:
		if row == nil || row.row.State != fleet.JobOffered || row.row.Attempt != s.Attempt || row.row.Node != s.Node {
			w.fail("start of an attempt that the database does not have: %+v, row %+v", s, row)
		}
	case SendWelcome:
		if got := w.store.nodes[s.Node].rec.Epoch; got != s.Epoch {
			w.fail("welcome to epoch %d, the database has %d", s.Epoch, got)
		}
	case SendResultAck:
		if s.Verdict != VerdictStored {
			return
		}
		w.acks[s.Job]++
		if w.acks[s.Job] > 1 {
			w.fail("two results of %s acknowledged as stored", s.Job)
		}
		if row == nil || !row.hasResult {
			w.fail("acknowledged a result that is not stored: %+v", s)
		}
	}
}

// tick lets time pass, with a Tick whenever the core asks for one.
func (w *world) pass(ms fleet.Time) {
	end := w.now + ms
	for w.now < end {
		w.now = min(end, max(w.now, w.d.Next()))
		w.after()
	}
}

// start hands the gathered batch to the store, if it is idle.
func (w *world) start() {
	if w.inFlight == nil && w.pending.Durable() {
		w.inFlight, w.pending = w.pending, &Effects{}
		w.note("commit", w.inFlight)
	}
}

// finish ends the transaction under way: 0 committed, 1 failed, 2 nobody knows
// (and it was committed).
func (w *world) finish(outcome int) {
	b := w.inFlight
	if b == nil {
		return
	}
	w.inFlight = nil
	if outcome == 1 {
		w.reload()
		w.after()
		return
	}
	refused := w.store.commit(b)
	if outcome == 2 {
		w.reload()
	} else {
		w.d.Committed(w.now, b, refused, w.pending)
	}
	w.after()
}

// reload is the driver's: what gathered is dropped, the one in flight ends.
func (w *world) reload() {
	w.pending = &Effects{}
	if w.inFlight != nil {
		w.store.commit(w.inFlight)
		w.inFlight = nil
	}
	w.d.Load(w.now, w.store.snapshot())
}

func (w *world) agent(id string) *agent {
	for _, a := range w.agents {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (w *world) submit(spec *fleet.JobSpec, key string) { w.submitAt(spec, key, 0) }

func (w *world) submitAt(spec *fleet.JobSpec, key string, notBefore fleet.Time) {
	w.jobs = append(w.jobs, spec)
	w.d.Submit(w.now, JobInsert{Spec: spec, IdempotencyKey: key, NotBefore: notBefore}, w.pending)
	w.after()
}

// spec makes a job's spec under the next id.
func (w *world) spec(app string, slots int64) *fleet.JobSpec {
	w.specs++
	n := w.specs
	var id ids.JobID
	id[0], id[14], id[15] = 1, byte(n>>8), byte(n)
	return &fleet.JobSpec{
		ID: id, App: app, Role: "worker", Runner: "noop", Priority: fleet.DefaultPriority, MaxAttempts: 3,
		Demands: fleet.Vector{Slots: slots}, OnNodeLost: fleet.OnLostRequeue, WhenExhausted: fleet.WhenExhaustedWait,
		RetryBackoffMs: fleet.NoBackoff,
	}
}

func (w *world) hash() uint64 {
	h := fnv.New64a()
	for _, line := range w.trace {
		h.Write([]byte(line))
	}
	return h.Sum64()
}

package sim

import (
	"fmt"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/due"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/nodecore"
)

// World is one run of a scenario.
type World struct {
	sc     *Scenario
	seed   uint64
	now    Time
	times  core.Config
	agenda *due.Agenda[event]
	hash   trace

	events uint64
	failed *Failure // the first

	srv     server
	store   *store
	told    told
	nodes   []*node
	wants   nodecore.Effects // of the node to which something happens
	named   map[string]*node
	chains  uint64 // values that were given, and secrets
	keys    int64
	speaker *node  // whose message the server heard last
	jobs    []*job // by number; ids carry the number
	orders  []*order
	grants  []*grant // by number, likewise
	room    struct {
		jobs   slab[job]
		orders slab[order]
		told   slab[toldNode]
		nodes  slab[node]
		rows   slab[row]
	}
	net   network
	clock wall

	chance  struct{ demand, faults, store, order, reads stream }
	counts  counts
	script  []Step // the scenario's steps and those that the seed made
	dropped map[int]bool
	base    []int64 // of the expectations, at their Since
	found   []int64
	undo    []func()
	oracle  oracle
	notes   []string
}

// wall is the backend's wall clock: the virtual time plus what it was set by.
type wall struct{ offset Time }

// Failure is a rule that did not hold, or an expectation.
type Failure struct {
	Rule  string `json:"rule"` // W1 … W12, or expect
	Event uint64 `json:"event"`
	At    Time   `json:"atMs"`
	Text  string `json:"text"`
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s at event %d (%s): %s", f.Rule, f.Event, Span(f.At), f.Text)
}

// coreTimes are the defaults of a server, with this heartbeat.
func coreTimes(heartbeat Time) core.Config {
	if heartbeat == 0 {
		heartbeat = 10 * second
	}
	return core.Config{
		Heartbeat: heartbeat, Suspect: heartbeat * 5 / 2, Lost: 9 * heartbeat, OfferTimeout: 5 * second,
		CancelSlack: 30 * second, DefaultGrace: 10 * second, AvoidFor: 30 * second,
		ReserveAfter: 10 * second, QueueLimit: 100_000,
	}
}

// fullCheckEvery is how many events pass between two looks at everything, more for
// a large fleet: what is looked at grows with it.
const fullCheckEvery = 4096

func (w *World) fullCheckDue() bool {
	return w.events%uint64(max(fullCheckEvery, 100*len(w.nodes))) == 0
}

// newWorld builds the scenario's world; the lines of the script in drop are left
// out.
func newWorld(sc *Scenario, seed uint64, drop map[int]bool) *World {
	w := &World{sc: sc, seed: seed, hash: newTrace(), agenda: due.NewAgenda[event](), times: coreTimes(Time(sc.Heartbeat)), named: map[string]*node{}, dropped: drop}
	w.chance.demand = newStream(seed, "demand", "")
	w.chance.faults = newStream(seed, "faults", "")
	w.chance.store = newStream(seed, "store", "")
	w.chance.order = newStream(seed, "order", "")
	w.chance.reads = newStream(seed, "reads", "")
	w.net.init(w)
	w.store = newStore(w)
	w.told.init()
	w.settle()
	w.srv.begin(w)
	w.srv.load(0)
	w.plan()
	return w
}

// settle founds pools, apps and nodes in the store.
func (w *World) settle() {
	s := w.store
	s.addPool(fleet.Pool{ID: fleet.PoolDefault, Kind: fleet.KindDefault, State: fleet.PoolActive, Thresholds: fleet.DefaultThresholds()})
	s.addPool(fleet.Pool{ID: fleet.PoolUnassigned, Kind: fleet.KindUnassigned, State: fleet.PoolActive, Thresholds: fleet.DefaultThresholds()})
	for _, p := range w.sc.Pools {
		s.addPool(p.record())
	}
	for _, a := range w.sc.Apps {
		s.addOwner(a.Owner)
		app := fleet.App{ID: a.ID, Owner: a.Owner}
		if len(a.Pools) > 0 {
			app.Bindings = []fleet.Binding{{Pools: a.Pools, AllowFallback: a.Fallback}}
		}
		s.apps = append(s.apps, app)
	}
	for i := range w.sc.Nodes {
		group := &w.sc.Nodes[i]
		s.addOwner(group.Owner)
		for k := range max(1, group.Count) {
			w.addNode(group, k)
		}
	}
	for i := range w.sc.Churn {
		w.beginChurn(&w.sc.Churn[i])
	}
}

func (p *Pool) record() fleet.Pool {
	rec := fleet.Pool{ID: p.ID, Name: p.ID, Kind: fleet.KindNamed, State: p.State, Thresholds: fleet.DefaultThresholds()}
	if rec.State == "" {
		rec.State = fleet.PoolActive
	}
	if p.QueueWait > 0 {
		rec.Thresholds.QueueWaitMs = int64(p.QueueWait)
	}
	if p.NotReadyPct > 0 {
		rec.Thresholds.NotReadyPct = p.NotReadyPct
	}
	return rec
}

// plan plans the script, the demand and the timed expectations.
func (w *World) plan() {
	w.script = append(append([]Step(nil), w.sc.Steps...), w.drawFaults()...)
	for i := range w.script {
		if !w.dropped[i] {
			w.agenda.Add(Time(w.script[i].T), event{kind: evStep, n: int64(i)})
		}
	}
	for i := range w.sc.Demand {
		w.beginDemand(i)
	}
	w.base, w.found = make([]int64, len(w.sc.Expect)), make([]int64, len(w.sc.Expect))
	for i, e := range w.sc.Expect {
		if e.Since > 0 {
			w.agenda.Add(Time(e.Since), event{kind: evCheck, n: int64(i)})
		}
		if e.At > 0 {
			w.agenda.Add(Time(e.At), event{kind: evCheck, n: int64(i), node: 1})
		}
	}
}

// run lets everything happen until the scenario's end or the first failure.
func (w *World) run() {
	end := Time(w.sc.Duration)
	for w.failed == nil {
		at := w.agenda.First()
		if due := w.srv.due(); due < at {
			if due > end {
				break
			}
			w.now = max(w.now, due)
			w.begun(evServer, -1, 0)
			w.srv.tick()
			continue
		}
		if at > end {
			break
		}
		_, e := w.agenda.Pop()
		w.now = at
		w.happen(&e)
	}
	if w.failed == nil {
		w.now = end
		w.checkAll()
		w.checkExpectations()
	}
}

// begun counts an event and adds it to the trace.
func (w *World) begun(kind eventKind, node int32, n int64) {
	w.events++
	w.hash.word(uint64(w.now)<<8 | uint64(kind))
	w.hash.word(uint64(uint32(node)) | uint64(n)<<32)
	if w.fullCheckDue() {
		w.checkAll()
		w.readQuietly()
	}
}

// happen hands an event to whom it concerns.
func (w *World) happen(e *event) {
	switch e.kind {
	case evNodeTick:
		w.nodes[e.node].timer()
		return
	case evUp:
		w.begun(e.kind, e.node, int64(e.msg.kind))
		w.srv.arrive(e.msg.conn, e.msg)
		return
	case evDown:
		w.begun(e.kind, e.node, int64(e.msg.send.Kind))
		w.nodes[e.node].receive(e.msg.conn, e.msg)
		return
	}
	w.begun(e.kind, e.node, e.n)
	if e.msg != nil {
		w.happenTo(e, e.msg.conn, e.msg.do)
		w.net.release(e.msg)
		return
	}
	switch e.kind {
	case evFinish:
		w.nodes[e.node].finish(e.n)
	case evStored:
		w.nodes[e.node].stored(e.n)
	case evTested:
		w.nodes[e.node].tested(e.n)
	case evBoot:
		w.nodes[e.node].boot(e.n)
	case evApplied:
		w.srv.applied(e.n)
	case evCommitted:
		w.srv.committed(e.n)
	case evLoaded:
		w.srv.loaded(e.n)
	case evDemand:
		w.demand(int(e.n))
	case evSubmit:
		w.submit(int(e.n))
	case evStep:
		w.step(int(e.n))
	case evCheck:
		w.checkPoint(int(e.n), e.node == 1)
	}
}

// happenTo hands on what concerns a connection, or a function.
func (w *World) happenTo(e *event, c *conn, do func()) {
	switch e.kind {
	case evDialed:
		w.nodes[e.node].dialed(c, e.n)
	case evClientGone:
		w.nodes[e.node].closed(c, Time(e.n))
	case evServerGone:
		w.srv.gone(c)
	case evPing:
		w.net.pinged(c, e.n)
	case evRecalled, evTold, evUndo, evServer, evChurn:
		do()
	}
}

// fail notes the first rule that did not hold.
func (w *World) fail(rule, format string, args ...any) {
	if w.failed == nil {
		w.failed = &Failure{Rule: rule, Event: w.events, At: w.now, Text: fmt.Sprintf(format, args...)}
	}
}

// after lets something happen later.
func (w *World) after(span Time, kind eventKind, do func()) {
	w.agenda.Add(w.now+span, event{kind: kind, node: -1, msg: w.net.doing(do)})
}

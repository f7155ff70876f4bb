package core

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
)

// agent is a node's process as far as the core can see it.
type agent struct {
	id      string
	slots   int64
	backend string
	boot    int
	epoch   int64
	place   int32
	open    bool
	ready   bool // had its welcome
	mail    []Send
	work    []task
	spool   []handIn
	begun   map[Attempt]bool // started ever, over all boots

	machine  string
	chain    fleet.Sum // what its disk has
	gets     fleet.Sum // what the welcome under way brings
	secret   fleet.Sum
	rotation string // that it was asked for
	refused  fleet.Code
}

type task struct {
	Attempt
	started, canceled bool
}

type handIn struct {
	Attempt
	res *fleet.Result
}

func (w *world) connect(a *agent) {
	if a.open {
		return
	}
	hello := HelloEvent{Node: a.id, Report: &fleet.NodeReport{
		BootID: fmt.Sprint(a.boot), Capacity: fleet.Vector{Slots: a.slots}, Runners: []string{"noop"}, Backend: a.backend,
		MachineID: a.machine, RemoteAddr: "192.0.2." + fmt.Sprint(a.boot),
	}, Running: a.running(), Spooled: int64(len(a.spool)), Secret: a.secret, Chain: a.chain, ChainNext: w.nextChain(), LastEpoch: a.epoch}
	hello.Claimant = fmt.Sprintf("%d-%x", a.boot, a.chain[:2])
	opened, refused := w.d.Hello(w.now, hello, w.pending)
	if a.refused = ""; refused != nil {
		a.refused = refused.Code
	} else {
		a.epoch, a.place, a.open, a.ready, a.mail, a.gets = opened.Epoch, opened.Place, true, false, nil, hello.ChainNext
	}
	w.after()
}

func (a *agent) session() Session { return Session{Node: a.id, Epoch: a.epoch, Place: a.place} }

func (a *agent) running() []Running {
	var list []Running
	for _, t := range a.work {
		r := Running{Job: t.Job, Attempt: t.Attempt.Attempt}
		if t.started {
			r.Phase, r.Percent = PhaseRunning, 50
		}
		list = append(list, r)
	}
	return list
}

func (w *world) disconnect(a *agent) {
	if !a.open {
		return
	}
	a.open, a.ready, a.mail = false, false, nil
	w.d.SessionClosed(w.now, a.session(), w.pending)
	w.after()
}

// restart ends the process: what ran is lost, or its end is in the spool.
func (w *world) restart(a *agent) {
	for _, t := range a.work {
		if t.started && w.pick("spool the end", 2) == 0 {
			a.spool = append(a.spool, handIn{t.Attempt, &fleet.Result{Status: fleet.ResultFailed, Cause: fleet.CauseAgentRestarted}})
		}
	}
	a.work = nil
	a.boot++
	w.disconnect(a)
}

// read lets the agent handle its oldest message.
func (w *world) read(a *agent) {
	if len(a.mail) == 0 {
		return
	}
	s := a.mail[0]
	a.mail = a.mail[1:]
	at := Attempt{Job: s.Job, Attempt: s.Attempt}
	switch s.Kind {
	case SendWelcome:
		a.ready, a.chain = true, a.gets
		a.drop(s.Welcome.Void)
		w.handIn(a)
	case SendOffer:
		w.answer(a, at)
	case SendProbe:
		if !w.calm && w.pick("answer the probe", 3) == 0 {
			return
		}
		w.d.Decline(w.now, a.session(), at, "runner", w.pending)
		w.after()
	case SendStart:
		w.begin(a, at)
		w.d.Progress(w.now, a.session(), at, 10, w.pending)
		w.after()
	case SendVoid:
		a.drop([]Attempt{at})
	case SendCancel:
		a.stop(at)
	case SendHeartbeatAck:
		if !s.Ack.OK {
			w.disconnect(a)
			return
		}
		a.drop(s.Ack.Void)
		for _, c := range s.Ack.Cancel {
			c.GraceMs = 0
			a.stop(c)
		}
	case SendResultAck:
		a.spool = slices.DeleteFunc(a.spool, func(h handIn) bool { return h.Attempt == at })
	case SendError:
		a.spool = slices.DeleteFunc(a.spool, func(h handIn) bool { return h.Attempt == at })
	case SendRotate:
		a.rotation = s.Rotate
	case SendClose:
		w.disconnect(a)
	}
}

func (w *world) answer(a *agent, at Attempt) {
	switch choice := w.pick("answer", 10); {
	case !w.calm && choice == 0: // lost on the way
	case int64(len(a.work)) >= a.slots || !w.calm && choice == 1:
		w.d.Decline(w.now, a.session(), at, "no", w.pending)
		w.after()
	default:
		a.work = append(a.work, task{Attempt: at})
		w.d.Accept(w.now, a.session(), at, w.pending)
		w.after()
	}
}

func (w *world) begin(a *agent, at Attempt) {
	for i := range a.work {
		t := &a.work[i]
		if t.Attempt != at || t.started {
			continue
		}
		t.started = true
		if a.begun == nil {
			a.begun = map[Attempt]bool{}
		}
		if a.begun[at] {
			w.fail("%v started twice on %s", at, a.id)
		}
		a.begun[at] = true
	}
}

func (a *agent) drop(list []Attempt) {
	a.work = slices.DeleteFunc(a.work, func(t task) bool { return slices.Contains(list, t.Attempt) })
}

func (a *agent) stop(at Attempt) {
	at.GraceMs = 0
	for i := range a.work {
		if a.work[i].Attempt == at {
			a.work[i].canceled = true
		}
	}
}

// work ends the agent's oldest task that can end.
func (w *world) work(a *agent) {
	for i, t := range a.work {
		if !t.started && !t.canceled {
			continue
		}
		res := &fleet.Result{Status: fleet.ResultSucceeded}
		switch choice := w.pick("result", 8); {
		case t.canceled:
			res.Status = fleet.ResultCanceled
		case choice == 0 && !w.calm:
			res.Status, res.Cause = fleet.ResultFailed, fleet.CauseStartFailed
		case choice == 1:
			res.Status, res.Cause = fleet.ResultFailed, fleet.CauseExitCode
		case choice == 2:
			res.Status = fleet.ResultTimedOut
		}
		res.Digest[0], res.Digest[1] = byte(t.Attempt.Attempt), t.Job[15]
		a.work = slices.Delete(a.work, i, i+1)
		a.spool = append(a.spool, handIn{t.Attempt, res})
		w.handIn(a)
		return
	}
}

// handIn sends all that is in the spool.
func (w *world) handIn(a *agent) {
	if !a.ready {
		return
	}
	for _, h := range slices.Clone(a.spool) {
		w.d.Result(w.now, a.session(), h.Attempt, h.res, w.pending)
		w.after()
	}
}

func (w *world) heartbeat(a *agent) {
	if !a.open || !a.ready {
		return
	}
	healthy := w.calm || w.pick("healthy", 8) > 0
	w.d.Heartbeat(w.now, a.session(), HeartbeatEvent{
		Accepting: true, Healthy: healthy, Running: a.running(), Spooled: int64(len(a.spool)),
	}, w.pending)
	w.after()
}

// change alters the store now; the core hears of it later.
func (w *world) change() {
	s := w.store
	switch w.pick("change", 8) {
	case 0, 1:
		n := s.nodes[w.agents[w.pick("node", len(w.agents))].id]
		n.rec.Pool = s.pools[w.pick("pool", len(s.pools))].ID
		w.hear(n)
	case 2, 6, 7:
		n := s.nodes[w.busy().id]
		w.holdAny(n)
		w.hear(n)
		w.listen()
	case 3:
		a := &s.apps[w.pick("app", len(s.apps))]
		a.Bindings = nil
		if w.pick("bind", 2) == 0 {
			a.Bindings = []fleet.Binding{{
				Pools:         []string{s.pools[w.pick("pool", len(s.pools))].ID, s.pools[w.pick("pool", len(s.pools))].ID},
				AllowFallback: w.pick("fallback", 2) == 0,
			}}
		}
		a.Share = fleet.Share{Weight: int32(100 * (1 + w.pick("weight", 3)))}
		if w.quotas && w.pick("quota", 3) == 0 {
			a.Share.MaxSlots = int64(1 + w.pick("most", 3))
		}
		a.Version++
		app := *a
		w.admin = append(w.admin, func() { w.d.PutApp(w.now, app, w.pending) })
	case 4:
		p := &s.pools[w.pick("pool", len(s.pools))]
		p.State = []fleet.PoolState{fleet.PoolActive, fleet.PoolDrains, fleet.PoolIsClosed}[w.pick("state", 3)]
		p.Thresholds.QueueWaitMs = []int64{0, 5000, 60_000}[w.pick("wait", 3)]
		p.Version++
		pool := *p
		w.admin = append(w.admin, func() { w.d.PutPool(w.now, pool, w.pending) })
	case 5: // a node that left registers again
		for _, a := range w.agents {
			if n := s.nodes[a.id]; n.rec.Left {
				n.rec.Left, n.rec.Identity = false, fleet.Identity{} // it begins anew
				w.hear(n)
				return
			}
		}
	}
}

// busy is an agent that has work, if there is one.
func (w *world) busy() *agent {
	from := w.pick("node", len(w.agents))
	for i := range w.agents {
		if a := w.agents[(from+i)%len(w.agents)]; len(a.work) > 0 {
			return a
		}
	}
	return w.agents[from]
}

// holdAny lifts an operator's holds, or puts one: a drain mostly has a deadline,
// also one that has passed already.
func (w *world) holdAny(n *modelNode) {
	var holds []fleet.Hold
	if w.pick("hold", 3) > 0 {
		kinds := []fleet.HoldKind{fleet.HoldDrain, fleet.HoldDrain, fleet.HoldCordon, fleet.HoldQuarantine}
		h := fleet.Hold{Kind: kinds[w.pick("kind", len(kinds))], Owner: fleet.OwnerOperator}
		if span := []fleet.Time{0, -500, 1, 2000, 20_000}[w.pick("deadline", 5)]; span != 0 && h.Kind == fleet.HoldDrain {
			h.Deadline = w.now + span
		}
		if w.pick("until", 4) == 0 {
			h.Until = w.now + []fleet.Time{1, 15_000, 60_000}[w.pick("ends", 3)]
		}
		holds = append(holds, h)
	}
	n.rec.Holds = hold.Merged(holds, n.rec.Holds)
}

// liftAny lets a person lift a hold that the core put.
func (w *world) liftAny(a *agent) {
	for _, h := range w.d.nodes[a.id].rec.Holds {
		lifted := w.d.LiftHold(w.now, a.id, h.Kind, h.Owner, Actor{Subject: "u:1"}, "by hand", w.pending)
		if lifted != hold.OfCore(h) {
			w.fail("lifting %+v: %v", h, lifted)
		}
		w.after()
	}
}

func (w *world) hear(n *modelNode) {
	rec := n.written()
	w.admin = append(w.admin, func() { w.d.PutNode(w.now, rec, w.pending) })
}

// written makes the record the store's next.
func (n *modelNode) written() fleet.NodeRecord {
	n.rec.Version++
	rec := n.rec
	rec.Holds = slices.Clone(rec.Holds)
	return rec
}

// gone takes the node out of the store's fleet, and gives its record since.
func (w *world) gone(id string) fleet.NodeRecord {
	n := w.store.nodes[id]
	n.rec.Left = true
	return n.written()
}

// listen lets the core hear of the oldest change, and listenAny of any: the order
// in which it hears need not be that in which they were made.
func (w *world) listen() { w.listenTo(0) }

func (w *world) listenAny() { w.listenTo(w.pick("told", max(1, len(w.admin)))) }

func (w *world) listenTo(n int) {
	if len(w.admin) > 0 {
		tell := w.admin[n]
		w.admin = slices.Delete(w.admin, n, n+1)
		tell()
		w.after()
	}
}

// step lets one thing happen.
func (w *world) step() {
	a := w.agents[w.pick("agent", len(w.agents))]
	choice := w.pick("what", 100)
	if w.record {
		w.note("step", choice)
	}
	switch {
	case choice < 7:
		w.submitAny()
	case choice < 10:
		w.placeAny()
	case choice < 25:
		w.start()
	case choice < 45:
		w.finish([]int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}[w.pick("commit", 12)])
	case choice < 52:
		w.connect(a)
	case choice < 54:
		w.disconnect(a)
	case choice < 55:
		w.restart(a)
	case choice < 72:
		w.read(a)
	case choice < 80:
		w.work(a)
	case choice < 85:
		w.heartbeat(a)
	case choice < 91:
		w.pass([]fleet.Time{10, 400, 1500, 3000, 6000, 26_000, 31_000, 95_000}[w.pick("pass", 8)])
	case choice < 92:
		w.forge(a)
	case choice < 93:
		if len(w.jobs) > 0 {
			w.resolveAny(w.jobs[w.pick("job", len(w.jobs))])
		}
	case choice < 94:
		if len(w.jobs) > 0 {
			w.d.Cancel(w.now, w.jobs[w.pick("job", len(w.jobs))].ID, "u:1", 1000, w.pending)
			w.after()
		}
	case choice < 95:
		w.liftAny(a)
	case choice < 97:
		w.change()
	case choice < 98:
		w.listenAny()
	case choice < 99:
		w.people()
	default:
		w.depart(a)
	}
}

func (w *world) submitAny() {
	spec := w.spec(w.store.apps[w.pick("app", len(w.store.apps))].ID, int64(1+w.pick("slots", 2)))
	spec.Priority = int32(w.pick("priority", 3))
	spec.MaxAttempts = int32(1 + w.pick("attempts", 4))
	spec.OnNodeLost = []fleet.NodeLostPolicy{fleet.OnLostFail, fleet.OnLostHold, fleet.OnLostRequeue, fleet.OnLostRequeue}[w.pick("lost", 4)]
	if w.pick("exhausted", 4) == 0 {
		spec.WhenExhausted = fleet.WhenExhaustedFail
	}
	spec.Role = worldRoles[w.pick("role", len(worldRoles))]
	notBefore := w.timesAny(spec)
	switch w.pick("special", 16) {
	case 14:
		spec.Pool = "canary"
	case 15:
		spec.Backend = "cuda"
	}
	key := ""
	if w.pick("key", 4) == 0 {
		key = fmt.Sprint("key-", w.pick("which", 3))
	}
	w.submitAt(spec, key, notBefore)
}

// timesAny gives the job limits and pauses, often none.
func (w *world) timesAny(spec *fleet.JobSpec) (notBefore fleet.Time) {
	spec.RetryBackoffMs = []int64{fleet.NoBackoff, 0, 5000, 20_000}[w.pick("backoff", 4)]
	spec.AvoidFailedNode = w.pick("avoid", 4) == 0
	if w.pick("queue timeout", 4) == 0 {
		spec.QueueTimeoutMs = []int64{1, 2000, 40_000}[w.pick("span", 3)]
	}
	if w.pick("run timeout", 4) == 0 {
		spec.RunTimeoutMs = []int64{1, 10_000}[w.pick("span", 2)]
	}
	if w.pick("not before", 6) == 0 {
		notBefore = w.now + []fleet.Time{-5, 0, 1, 3000, 100_000}[w.pick("span", 5)]
	}
	return notBefore
}

// resolveAny lets a person decide about any job; only held ones care.
func (w *world) resolveAny(spec *fleet.JobSpec) {
	j := w.d.jobs[spec.ID]
	held := j != nil && j.row.State == fleet.JobQueued && j.row.Cause == fleet.CauseHeld
	action := []fleet.ResolveAction{fleet.ResolveRequeue, fleet.ResolveFail}[w.pick("resolve", 2)]
	_, resolved := w.d.Resolve(w.now, spec.ID, action, Actor{Subject: "u:1"}, w.pending)
	if resolved != held {
		w.fail("%s was held: %v, resolved: %v", spec.ID, held, resolved)
	}
	if resolved {
		w.resolves++
	}
	w.after()
}

// depart is a goodbye for good, or an operator's order.
func (w *world) depart(a *agent) {
	if a.open && a.ready && w.pick("stop", 2) == 0 {
		w.d.Goodbye(w.now, a.session(), GoodbyeStop, w.pending)
		w.after()
		if w.pick("gone", 2) == 0 {
			w.restart(a)
		}
		return
	}
	if a.open && a.ready && w.pick("leave", 2) == 0 {
		w.d.Goodbye(w.now, a.session(), GoodbyeLeft, w.pending)
		a.open, a.ready, a.mail, a.work = false, false, nil, nil
		w.after()
		return
	}
	if w.store.nodes[a.id].rec.Left {
		return
	}
	rec := w.gone(a.id)
	switch w.pick("revoke", 3) {
	case 0:
		w.admin = append(w.admin, func() { w.d.RevokeNode(w.now, rec, "lost its disk", w.pending) })
	case 1:
		w.admin = append(w.admin, func() { w.d.LeaveNode(w.now, rec, "sold", w.pending) })
	default:
		w.admin = append(w.admin, func() { w.d.PutNode(w.now, rec, w.pending) })
	}
}

// forge lets a node speak of an attempt that is not its own, or not any more.
func (w *world) forge(a *agent) {
	if len(w.jobs) == 0 || !a.ready {
		return
	}
	id := w.jobs[w.pick("job", len(w.jobs))].ID
	at := Attempt{Job: id, Attempt: int32(w.pick("attempt", 4))}
	j := w.d.jobs[id]
	if j != nil && j.row.Node == a.id && j.row.Attempt == at.Attempt {
		return
	}
	var before JobRow
	if j != nil {
		before = j.row
	}
	switch w.pick("forge", 4) {
	case 0:
		w.d.Result(w.now, a.session(), at, &fleet.Result{}, w.pending)
	case 1:
		w.d.Accept(w.now, a.session(), at, w.pending)
	case 2:
		w.d.Decline(w.now, a.session(), at, "", w.pending)
	case 3:
		w.d.Progress(w.now, a.session(), at, 99, w.pending)
	}
	// Any frame renews a lease, and so may place what waits; nothing else moves.
	if j != nil && before.State != fleet.JobQueued && j.row != before {
		w.fail("%s forged %v: %+v became %+v", a.id, at, before, j.row)
	}
	w.after()
}

// heal ends all faults and lets the world come to rest.
func (w *world) heal() {
	w.calm = true
	for w.inFlight != nil || w.pending.Durable() { // goodbyes that were said count
		w.start()
		w.finish(0)
	}
	for len(w.admin) > 0 {
		w.listen()
	}
	for i := range w.store.pools {
		w.store.pools[i].State = fleet.PoolActive
		w.d.PutPool(w.now, w.store.pools[i], w.pending)
		w.after()
	}
	for _, spec := range w.jobs {
		if spec.Pool != "" || spec.Backend != "" || spec.AvoidFailedNode { // nobody promises it a node
			w.d.Cancel(w.now, spec.ID, "u:1", 1000, w.pending)
			w.after()
		}
	}
	for i := range w.store.apps {
		a := &w.store.apps[i]
		a.Bindings, a.Share = []fleet.Binding{{Pools: []string{fleet.PoolDefault}}}, fleet.Share{}
		w.d.PutApp(w.now, *a, w.pending)
		w.after()
	}
	for i, a := range w.agents {
		a.slots = 2
		n := w.store.nodes[a.id]
		n.rec.Holds, n.rec.Left, n.rec.Identity = hold.Merged(nil, n.rec.Holds), false, fleet.Identity{}
		if i%2 == 0 {
			n.rec.Pool = fleet.PoolDefault
		}
		w.hear(n)
		w.listen()
		w.disconnect(a)
	}
	for range 300 {
		w.start()
		w.finish(0)
		for _, a := range w.agents {
			w.connect(a)
			w.liftAny(a)
			for len(a.mail) > 0 {
				w.read(a)
			}
			w.work(a)
			w.heartbeat(a)
		}
		for _, p := range w.d.Placements() {
			w.d.Release(w.now, p.Spec.ID, w.pending)
			w.after()
		}
		for _, spec := range w.jobs {
			if j := w.d.jobs[spec.ID]; j != nil && j.row.Cause == fleet.CauseHeld {
				w.resolveAny(spec)
			}
		}
		w.pass(1000)
		busy := slices.ContainsFunc(w.agents, func(a *agent) bool {
			held := len(w.d.nodes[a.id].rec.Holds) > 0 // a heartbeat may just have found it deaf
			return held || !a.ready || len(a.mail)+len(a.work)+len(a.spool) > 0
		})
		if !busy && w.d.Totals() == (Totals{}) && !w.pending.Durable() && w.inFlight == nil {
			break
		}
	}
	w.atRest()
	w.restAlarms()
}

func (w *world) atRest() {
	if lasting := w.store.grants.lasting(); len(lasting) > 0 {
		w.fail("placements last at rest: %+v", lasting)
	}
	if t := w.d.Totals(); t != (Totals{}) {
		for _, spec := range w.jobs {
			if j := w.d.jobs[spec.ID]; j != nil {
				w.fail("at rest %+v: %s is %v (%s), stage %d, decision %+v", t, spec.ID, j.row.State, j.row.Cause, j.stage, j.row.Decision)
			}
		}
	}
	for id, n := range w.store.nodes {
		if n.reserved != 0 {
			w.fail("%s leaks %d slots", id, n.reserved)
		}
		if len(n.rec.Holds)+len(w.d.nodes[id].rec.Holds) > 0 {
			w.fail("%s keeps holds %+v, stored %+v", id, w.d.nodes[id].rec.Holds, n.rec.Holds)
		}
	}
	for _, id := range w.store.order {
		j := w.store.jobs[id]
		if !j.row.State.Terminal() {
			w.fail("%s is %v at rest", id, j.row.State)
		}
		if least, most := w.store.counted(id); j.row.Counted < least || j.row.Counted > most {
			w.fail("%s: %d to %d attempts count, its row says %+v", id, least, most, j.row)
		}
	}
	for at, node := range w.store.assigned {
		if _, kept := w.store.attempts[at]; !kept && at.Attempt < w.store.jobs[at.Job].row.Attempt {
			w.fail("the superseded attempt %v on %s is not kept", at, node)
		}
	}
	for _, a := range w.agents {
		if len(a.spool) > 0 || len(a.work) > 0 {
			w.fail("%s keeps %+v and %+v", a.id, a.spool, a.work)
		}
	}
}

func TestHistory_InvariantsHoldAfterEveryEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }, t.Fatalf)
		w.found(6)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			w.step()
		}
		w.heal()
	})
}

func seeded(t *testing.T, seed uint64, steps int, record bool) *world {
	w := begun(t, seed, record)
	w.quotas = true
	for range steps {
		w.step()
	}
	w.heal()
	return w
}

// begun is a world in which the seed chooses what happens.
func begun(t *testing.T, seed uint64, record bool) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(func(_ string, n int) int { return r.IntN(n) }, func(format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
	})
	w.record = record
	w.found(8)
	return w
}

func TestHistory_LongSeeds(t *testing.T) {
	seeds := uint64(8)
	if os.Getenv("ROCKPOOL_TEST_SOAK") != "" {
		seeds = 200
	}
	autos, resolves, ends := 0, 0, map[fleet.JobState]int{}
	for seed := range seeds {
		w := seeded(t, seed, 1500, false)
		if len(w.store.order) < 50 {
			t.Fatalf("seed %d: only %d jobs", seed, len(w.store.order))
		}
		autos, resolves = autos+w.store.autos, resolves+w.resolves
		for _, j := range w.store.jobs {
			ends[j.row.State]++
		}
	}
	if autos == 0 || resolves == 0 {
		t.Fatalf("the histories show too little: %d automatic holds, %d resolved jobs", autos, resolves)
	}
	for _, state := range fleet.JobStates() {
		if state.Terminal() != (ends[state] > 0) {
			t.Errorf("%d jobs end %v", ends[state], state)
		}
	}
}

func TestHistory_SameHistorySameEffects(t *testing.T) {
	for seed := range uint64(5) {
		one, two := seeded(t, seed, 800, true), seeded(t, seed, 800, true)
		if one.hash() != two.hash() {
			for i := range one.trace {
				if one.trace[i] != two.trace[i] {
					t.Fatalf("seed %d differs at %d:\n%s\n%s", seed, i, one.trace[i], two.trace[i])
				}
			}
		}
	}
}

package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// database is a writer and a store by hand: it keeps what it is given, and tests
// hold its commits back or let them fail.
type database struct {
	mu      sync.Mutex
	base    core.Snapshot
	jobs    map[ids.JobID]core.OpenJob
	batches [][]ids.JobID // jobs of each committed batch, in order
	alarms  []fleet.Alarm // of the newest batch that has some
	fail    []error       // of the next commits; nil: commit
	away    bool          // LoadSnapshot fails

	placements map[ids.JobID]core.OpenPlacement
	refuse     map[ids.JobID]core.RefusedWhy // once each

	newest  *commit       // the newest that began
	hold    chan struct{} // a commit takes one before it goes on; nil: commits are free
	began   chan struct{} // one for each commit begun
	loads   chan struct{} // one for each load tried
	recalls map[ids.JobID]core.RecalledRow
}

// commit is a batch's place among those that began.
type commit struct {
	before *commit // that was not over when this one began
	over   chan struct{}
	err    error
}

// Begin keeps the order: a commit waits for the one before, and fails with it.
func (db *database) Begin(e *core.Effects) func(context.Context) ([]core.Refusal, error) {
	c := &commit{over: make(chan struct{})}
	if b := db.newest; b != nil {
		select {
		case <-b.over:
		default:
			c.before = b
		}
	}
	db.newest = c
	return func(context.Context) (refused []core.Refusal, err error) {
		defer func() {
			c.err = err
			close(c.over)
		}()
		return db.commit(c, e)
	}
}

func (db *database) commit(c *commit, e *core.Effects) ([]core.Refusal, error) {
	select {
	case db.began <- struct{}{}:
	default:
	}
	if db.hold != nil {
		<-db.hold
	}
	if c.before != nil {
		if <-c.before.over; c.before.err != nil {
			return nil, c.before.err
		}
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if len(db.fail) > 0 {
		err := db.fail[0]
		db.fail = db.fail[1:]
		if err != nil {
			return nil, err
		}
	}
	var named []ids.JobID
	var refused []core.Refusal
	for i := range e.Placements {
		w := &e.Placements[i]
		named = append(named, w.Spec.ID)
		if db.refuses(w.Spec.ID, &refused) {
			continue
		}
		db.placements[w.Spec.ID] = core.OpenPlacement{Spec: w.Spec, Row: w.Row}
	}
	for i := range e.Inserts {
		named = append(named, e.Inserts[i].Spec.ID)
		if db.refuses(e.Inserts[i].Spec.ID, &refused) {
			continue
		}
		db.keep(e.Inserts[i].Spec, e.Inserts[i].Row)
	}
	for i := range e.Updates {
		u := &e.Updates[i]
		named = append(named, u.Job)
		was, open := db.jobs[u.Job]
		if !open || was.Row.Attempt != u.FromAttempt || stored(was.Row.State) != stored(u.FromState) {
			refused = append(refused, core.Refusal{Job: u.Job, Why: core.RefusedStale})
			continue
		}
		db.keep(was.Spec, u.Row)
	}
	for _, s := range e.Sessions {
		n := &db.base.Nodes[0]
		n.Epoch, n.BootID, n.Capacity, n.Runners, n.Backend = s.Epoch, s.Report.BootID, s.Report.Capacity, s.Report.Runners, s.Report.Backend
	}
	for i, w := range e.Alarms {
		db.alarms = append(db.alarms[:i:i], w.Alarm)
	}
	db.batches = append(db.batches, named)
	return refused, nil
}

// stored is a state as the database has it: that a job runs is not written.
func stored(s fleet.JobState) fleet.JobState {
	if s == fleet.JobRunning {
		return fleet.JobOffered
	}
	return s
}

// refuses reports work that is to be refused, this once, and adds its refusal.
func (db *database) refuses(id ids.JobID, refused *[]core.Refusal) bool {
	why, refuse := db.refuse[id]
	if refuse {
		delete(db.refuse, id)
		*refused = append(*refused, core.Refusal{Job: id, Why: why})
	}
	return refuse
}

func (db *database) keep(spec *fleet.JobSpec, row core.JobRow) {
	if row.State.Terminal() {
		delete(db.jobs, spec.ID)
		return
	}
	db.jobs[spec.ID] = core.OpenJob{Spec: spec, Row: row}
}

func (db *database) LoadSnapshot(context.Context) (*core.Snapshot, error) {
	select {
	case db.loads <- struct{}{}:
	default:
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.away {
		return nil, errors.New("nobody listens")
	}
	snapshot := db.base
	snapshot.Nodes = slices.Clone(snapshot.Nodes)
	for _, j := range db.jobs {
		snapshot.Jobs = append(snapshot.Jobs, j)
	}
	for _, p := range db.placements {
		if !p.Row.State.Ended() {
			snapshot.Placements = append(snapshot.Placements, p)
		}
	}
	slices.SortFunc(snapshot.Jobs, func(a, b core.OpenJob) int { return a.Spec.ID.Compare(b.Spec.ID) })
	return &snapshot, nil
}

func (db *database) Recall(_ context.Context, asked []core.Recall) ([]core.RecalledRow, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	rows := make([]core.RecalledRow, len(asked))
	for i := range asked {
		rows[i] = db.recalls[asked[i].Job]
	}
	return rows, nil
}

// wire hands on what the loop delivers.
type wire struct{ sends chan core.Send }

func (w wire) Deliver(sends []core.Send) {
	for _, s := range sends {
		w.sends <- s
	}
}

const (
	testNode = "n1"
	testApp  = "app"
)

type world struct {
	*testing.T
	db      *database
	loop    *Loop
	session core.Session // of testNode
	wire    wire
	stop    context.CancelFunc
	free    func() // lets all commits go that holdCommits holds; nil: it holds none
	ran     chan error
	jobs    uint16
}

var errFenced = errors.New("fenced")

// newWorld runs a loop over one node of pool-1 with slots free slots, and an app
// of user 1. The node's session is open.
func newWorld(t *testing.T, slots int64) *world {
	t.Helper()
	db := &database{
		placements: map[ids.JobID]core.OpenPlacement{}, refuse: map[ids.JobID]core.RefusedWhy{},
		jobs: map[ids.JobID]core.OpenJob{}, began: make(chan struct{}, 100), loads: make(chan struct{}, 100),
		base: core.Snapshot{
			Epoch: 1,
			Pools: []fleet.Pool{
				{ID: fleet.PoolDefault, Kind: fleet.KindDefault, State: fleet.PoolActive},
				{ID: "pool-1", Kind: fleet.KindUser, State: fleet.PoolActive},
				{ID: fleet.PoolUnassigned, Kind: fleet.KindUnassigned, State: fleet.PoolActive},
			},
			Apps:  []fleet.App{{ID: testApp, Owner: 1}},
			Nodes: []fleet.NodeRecord{testRecord()},
		},
	}
	w := &world{T: t, db: db, wire: wire{sends: make(chan core.Send, 1000)}, ran: make(chan error, 1)}
	w.loop = New(Config{
		Core: core.Config{
			Heartbeat: 10_000, Suspect: 25_000, Lost: 90_000, OfferTimeout: 5_000, CancelSlack: 30_000, DefaultGrace: 10_000, AvoidFor: 30_000,
		},
		Clock: NewClock(), Logger: slog.New(slog.DiscardHandler),
		Fenced: func(err error) bool { return errors.Is(err, errFenced) },
	}, db, db, w.wire)
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() { w.ran <- w.loop.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if w.free != nil {
			w.free()
		}
		<-w.ran
	})
	<-w.loop.Ready()
	err := w.loop.Hello(context.Background(), core.HelloEvent{Node: testNode, Report: &fleet.NodeReport{
		BootID: "b", Backend: "cpu", Capacity: fleet.Vector{Slots: slots}, Runners: []string{"noop"},
	}}, func(opened core.Session) { w.session = opened })
	if err != nil {
		t.Fatal(err)
	}
	w.awaitSend(core.SendWelcome)
	return w
}

func testRecord() fleet.NodeRecord {
	return fleet.NodeRecord{ID: testNode, Owner: 1, Pool: "pool-1", Role: "worker", Version: 1}
}

// gone is its record since an operator took it out of the fleet.
func gone() fleet.NodeRecord {
	rec := testRecord()
	rec.Left, rec.Version = true, rec.Version+1
	return rec
}

func (w *world) job() core.JobInsert {
	w.jobs++
	return core.JobInsert{Spec: &fleet.JobSpec{
		ID: ids.JobID{14: byte(w.jobs >> 8), 15: byte(w.jobs)}, App: testApp, Owner: 1, Role: "worker", Runner: "noop", Demands: fleet.Vector{Slots: 1},
		MaxAttempts: 3, OnNodeLost: fleet.OnLostRequeue, WhenExhausted: fleet.WhenExhaustedWait,
	}}
}

// submit posts a job and gives its answer when there is one.
func (w *world) submit(job core.JobInsert) <-chan error {
	answered := make(chan error, 1)
	go func() {
		_, err := w.loop.Submit(context.Background(), []core.JobInsert{job})
		answered <- err
	}()
	return answered
}

func (w *world) awaitSend(kind core.SendKind) core.Send {
	w.Helper()
	deadline := time.After(patience)
	for {
		select {
		case s := <-w.wire.sends:
			if s.Kind == kind {
				return s
			}
		case <-deadline:
			w.Fatalf("no send of kind %d came", kind)
		}
	}
}

func (w *world) batchesOf(db *database) [][]ids.JobID {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Clone(db.batches)
}

// holdCommits makes each further commit wait for a word in db.hold.
func (w *world) holdCommits() {
	w.Helper()
	w.await("no commit under way", func(*core.Dispatch) bool {
		if len(w.loop.inFlight) > 0 || w.loop.pending.effects.Durable() {
			return false
		}
		for len(w.db.began) > 0 {
			<-w.db.began
		}
		w.db.hold = make(chan struct{})
		w.free = sync.OnceFunc(func() { close(w.db.hold) })
		return true
	})
}

// afterCommit shows that a call waits for the commit that holdCommits holds, and
// gives the answer that comes with it.
func afterCommit[T any](w *world, answered <-chan T) T {
	w.Helper()
	receive(w.T, "the commit", w.db.began)
	select {
	case a := <-answered:
		w.Fatalf("answered before the commit: %v", a)
	default:
	}
	w.db.hold <- struct{}{}
	return receive(w.T, "the answer", answered)
}

// inLoop looks at the loop's own state, from within it.
func (w *world) inLoop(look func(d *core.Dispatch)) {
	looked := make(chan struct{})
	w.loop.post(context.Background(), event{liveness: true, apply: func(d *core.Dispatch, _ fleet.Time, _ *core.Effects) {
		look(d)
		close(looked)
	}})
	<-looked
}

// await asks within the loop until the answer is yes.
func (w *world) await(what string, ask func(d *core.Dispatch) bool) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for done := false; !done; {
		w.inLoop(func(d *core.Dispatch) { done = ask(d) })
		if !done && time.Now().After(deadline) {
			w.Fatalf("%s did not come true", what)
		}
	}
}

// awaitQueued waits until so many jobs gather behind the running commit.
func (w *world) awaitQueued(jobs int) {
	w.Helper()
	w.await("jobs gathering", func(*core.Dispatch) bool { return len(w.loop.pending.effects.Inserts) == jobs })
}

func (w *world) awaitDeciding() {
	w.Helper()
	w.await("deciding again", func(*core.Dispatch) bool { return !w.loop.inDoubt })
}

func (w *world) waiters() (n int) {
	w.inLoop(func(*core.Dispatch) { n = len(w.loop.terminal) })
	return n
}

// stateOf submits a job and gives the state that was committed.
func (w *world) stateOf(job core.JobInsert) fleet.JobState {
	w.Helper()
	answers, err := w.loop.Submit(context.Background(), []core.JobInsert{job})
	if err != nil {
		w.Fatal(err)
	}
	return answers[0].Row.State
}

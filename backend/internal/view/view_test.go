package view

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/view/viewtest"
	"rockpool/shared/wire"
)

func TestView_UrgentFieldsGoOutAtOnceTheRestFourTimesASecond(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Put(viewtest.Node("a", 7), viewtest.Node("b", 7))
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicNodes, wire.Filter{})
		defer sub.End()
		pass(time.Second)
		for range 100 { // a change each 10 ms for a second
			stage.Change("a", func(n *core.NodeView) { n.LoadMilli++ })
			pass(10 * time.Millisecond)
		}
		if n := len(d.seen()); n < 3 || n > 5 {
			t.Errorf("%d deltas of 100 changes in a second, want 4", n)
		}
		pass(time.Second)
		for name, change := range map[string]func(n *core.NodeView){
			"lease": func(n *core.NodeView) { n.Lease = fleet.LeaseSuspect },
			"pool":  func(n *core.NodeView) { n.Record.Pool = fleet.PoolUnassigned },
			"holds": func(n *core.NodeView) { n.Record.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: "operator"}} },
		} {
			before := len(d.seen())
			stage.Change("b", change)
			pass(tick + time.Millisecond)
			if len(d.seen()) != before+1 {
				t.Errorf("%s: %d deltas after one tick", name, len(d.seen())-before)
			}
		}
		if row := d.nodes["b"]; row.Lease != "suspect" || row.Pool != "unassigned" || len(row.Holds) != 1 {
			t.Errorf("b is %+v", row)
		}
	})
}

func TestView_CostsNothingWithoutConsoles(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		before := stage.Looks()
		pass(time.Minute)
		if n := stage.Looks() - before; n > 6 {
			t.Errorf("%d looks in a minute without a console", n)
		}
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicJobs, wire.Filter{})
		if !stage.Watching() {
			t.Error("jobs are subscribed, and their steps not wanted")
		}
		sub.End()
		if stage.Watching() {
			t.Error("nobody is there, and jobs' steps are still wanted")
		}
		before = stage.Looks()
		pass(time.Minute)
		if n := stage.Looks() - before; n > 7 {
			t.Errorf("%d looks in a minute after the last console", n)
		}
	})
}

// Nodes are kept while somebody looks; who comes next sees them as they are then.
func TestView_KeepsNoNodesWithoutConsoles(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Put(viewtest.Node("a", 7))
		for range 2 {
			d := newDesk(t)
			sub, _ := d.subscribe(v, everybody, wire.TopicNodes, wire.Filter{})
			if len(d.nodes) != 1 {
				t.Errorf("a console sees %d nodes", len(d.nodes))
			}
			pass(historyEvery)
			if len(v.state.nodes) != 1 {
				t.Error("the nodes are forgotten under a console")
			}
			sub.End()
			pass(historyEvery)
			if len(v.state.nodes) != 0 {
				t.Errorf("%d nodes are kept for nobody", len(v.state.nodes))
			}
		}
	})
}

func TestView_SnapshotComesInPartsAndDeltasFollow(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		const many = 1200
		var nodes []core.NodeView
		for i := range many {
			nodes = append(nodes, viewtest.Node(fmt.Sprintf("n%04d", i), 7))
		}
		stage.Put(nodes...)
		d, e := newDesk(t), newDesk(t)
		sub, parts := d.subscribe(v, everybody, wire.TopicNodes, wire.Filter{})
		defer sub.End()
		if parts < 3 || len(d.nodes) != many {
			t.Errorf("%d rows in %d parts", len(d.nodes), parts)
		}
		other, _ := e.subscribe(v, Viewer{Nodes: &record.Scope{}}, wire.TopicNodes, wire.Filter{})
		defer other.End()
		for i := range nodes {
			stage.Change(nodes[i].Record.ID, func(n *core.NodeView) { n.Spooled = int64(i) })
		}
		pass(time.Second)
		for i := range nodes {
			if d.nodes[nodes[i].Record.ID].Spooled != int64(i) {
				t.Fatalf("row %d is %+v", i, d.nodes[nodes[i].Record.ID])
			}
		}
		if len(d.encoded) != len(e.encoded) || len(d.encoded) == 0 {
			t.Errorf("%d deltas for one, %d for the other", len(d.encoded), len(e.encoded))
		}
		if allocs := len(v.feeds); allocs != 1 {
			t.Errorf("%d feeds for two consoles that see the same", allocs)
		}
	})
}

func TestView_FiltersFollowTheRows(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Put(viewtest.Node("a", 7), viewtest.Node("b", 7), viewtest.Node("c", 8))
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicNodes, wire.Filter{Pool: "pool-7", State: "ready"})
		defer sub.End()
		if len(d.nodes) != 2 {
			t.Errorf("%d rows pass", len(d.nodes))
		}
		stage.Change("a", func(n *core.NodeView) { n.Lease = fleet.LeaseLost })
		stage.Change("c", func(n *core.NodeView) { n.Record.Pool = "pool-7" })
		pass(time.Second)
		if _, there := d.nodes["a"]; there || len(d.nodes) != 2 {
			t.Errorf("rows are %v", d.nodes)
		}
	})
}

func TestView_UsersSeeTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Put(viewtest.Node("hers", 7), viewtest.Node("his", 8))
		stage.PutJob(record.Job{Spec: fleet.JobSpec{ID: viewtest.JobID(1), App: "hers", Owner: 7}})
		stage.PutJob(record.Job{Spec: fleet.JobSpec{ID: viewtest.JobID(2), App: "his", Owner: 8}})
		d := newDesk(t)
		for _, topic := range []string{wire.TopicNodes, wire.TopicPools, wire.TopicJobs, wire.TopicFleet} {
			sub, _ := d.subscribe(v, ann, topic, wire.Filter{})
			defer sub.End()
		}
		if len(d.nodes) != 1 || len(d.jobs) != 1 || d.pools["pool-8"].ID != "" || d.pools["pool-7"].ID == "" || d.fleet.SlotsTotal != 4 {
			t.Errorf("ann sees %v, %v, %v, %v", d.nodes, d.jobs, d.pools, d.fleet)
		}
		for _, topic := range []string{wire.TopicNode + "his", wire.TopicNode + "nobody", wire.TopicJob + viewtest.JobID(2).String()} {
			_, _, err := v.Subscribe(t.Context(), &ann, topic, wire.Filter{}, d)
			if known, ok := err.(*fleet.Error); !ok || known.Code != fleet.CodeNotFound {
				t.Errorf("%s: %v", topic, err)
			}
		}
		_, _, err := v.Subscribe(t.Context(), &Viewer{}, wire.TopicNodes, wire.Filter{}, d)
		if known, ok := err.(*fleet.Error); !ok || known.Code != fleet.CodeForbidden {
			t.Errorf("without a right: %v", err)
		}
		stage.Change("his", func(n *core.NodeView) { n.Lease = fleet.LeaseLost })
		stage.Commit(core.JobNews{Job: viewtest.JobID(3), Spec: &fleet.JobSpec{ID: viewtest.JobID(3), Owner: 8}})
		pass(time.Second)
		if len(d.nodes) != 1 || len(d.jobs) != 1 {
			t.Errorf("what is his reached ann: %v, %v", d.nodes, d.jobs)
		}
		// A node that she gives away is gone from her page.
		stage.Change("hers", func(n *core.NodeView) { n.Record.Owner = 8 })
		pass(time.Second)
		if len(d.nodes) != 0 {
			t.Errorf("she still sees %v", d.nodes)
		}
	})
}

func TestInv_I21_EveryJobEndsOnceForEachConsole(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		const many = 60
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicJobs, wire.Filter{})
		defer sub.End()
		for i := 1; i <= many; i++ {
			id := viewtest.JobID(i)
			stage.Commit(core.JobNews{Job: id, Spec: &fleet.JobSpec{ID: id, App: "cam", Owner: 7}, Row: core.JobRow{State: fleet.JobOffered, Attempt: 1, Node: "a"}})
			stage.Live(core.JobView{ID: id, State: fleet.JobRunning, Attempt: 1, Node: "a", Percent: int32(i)})
			pass(30 * time.Millisecond)
			if i%2 == 0 { // memory knows of the end before the database has it
				stage.Live(core.JobView{ID: id, State: fleet.JobSucceeded, Attempt: 1, Node: "a"})
				pass(300 * time.Millisecond)
			}
			stage.Commit(core.JobNews{Job: id, Row: core.JobRow{State: fleet.JobSucceeded, Attempt: 1, Node: "a", EndedAt: stage.Now()}})
			pass(tick + time.Millisecond)
			if d.jobs[id.String()].State != "succeeded" {
				t.Fatalf("job %d is %s a tick after its end", i, d.jobs[id.String()].State)
			}
		}
		for id, ends := range d.ends {
			if ends != 1 {
				t.Errorf("%s ended %d times", id, ends)
			}
		}
		if len(d.ends) != many {
			t.Errorf("%d ends of %d jobs", len(d.ends), many)
		}
	})
}

func TestView_JobsAreTheNewest(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicJobs, wire.Filter{})
		defer sub.End()
		for i := 1; i <= newestJobs+50; i++ {
			id := viewtest.JobID(i)
			stage.Commit(core.JobNews{Job: id, Spec: &fleet.JobSpec{ID: id, App: "cam", Owner: 7}})
		}
		pass(time.Second)
		_, oldest := d.jobs[viewtest.JobID(50).String()]
		_, newest := d.jobs[viewtest.JobID(newestJobs+50).String()]
		if len(d.jobs) != newestJobs || oldest || !newest {
			t.Errorf("%d jobs, the 50th: %v, the newest: %v", len(d.jobs), oldest, newest)
		}
	})
}

func TestView_OneNodesTopicHasItsTimeline(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Put(viewtest.Node("a", 7), viewtest.Node("b", 7))
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicNode+"a", wire.Filter{})
		defer sub.End()
		stage.Change("b", func(n *core.NodeView) { n.Lease = fleet.LeaseLost })
		pass(time.Second)
		if len(d.nodes) != 1 || len(d.seen()) != 0 {
			t.Errorf("rows %v after %d deltas", d.nodes, len(d.seen()))
		}
	})
}

// A console that loses frames, or its connection, notices it by prev and begins
// anew: when all is quiet it holds what REST would say.
func TestInv_I21_LostFramesEndInTheSameRows(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		chance := rand.New(rand.NewPCG(1, 2))
		for i := range 40 {
			stage.Put(viewtest.Node(fmt.Sprintf("n%02d", i), 7+int64(i%2)))
		}
		c := &lossy{desk: newDesk(t), chance: rand.New(rand.NewPCG(3, 4))}
		sub := c.begin(v)
		for range 400 {
			id := fmt.Sprintf("n%02d", chance.IntN(40))
			stage.Change(id, func(n *core.NodeView) {
				n.Spooled++
				n.Lease = []fleet.LeaseState{fleet.LeaseReady, fleet.LeaseSuspect, fleet.LeaseLost}[chance.IntN(3)]
			})
			pass(time.Duration(chance.IntN(60)) * time.Millisecond)
			if c.broken() || chance.IntN(50) == 0 {
				sub.End()
				sub = c.begin(v)
			}
		}
		c.settle() // nothing is lost any more
		pass(time.Second)
		if c.broken() {
			sub.End()
			sub = c.begin(v)
		}
		defer sub.End()
		pass(0)
		if c.lost == 0 || c.begun < 5 {
			t.Fatalf("%d frames lost, begun %d times: this showed nothing", c.lost, c.begun)
		}
		fresh := newDesk(t)
		other, _ := fresh.subscribe(v, everybody, wire.TopicNodes, wire.Filter{State: "lost"})
		defer other.End()
		if len(c.nodes) != len(fresh.nodes) {
			t.Errorf("%d rows are held, %d are true", len(c.nodes), len(fresh.nodes))
		}
		for id, row := range fresh.nodes {
			if held := c.nodes[id]; held.Spooled != row.Spooled || held.Lease != row.Lease {
				t.Errorf("%s: held %+v, true %+v", id, held, row)
			}
		}
	})
}

// lossy is a desk that loses one frame in ten.
type lossy struct {
	*desk
	guard       sync.Mutex // of what follows
	chance      *rand.Rand // nil: loses nothing
	gap         bool
	lost, begun int
}

func (c *lossy) begin(v *View) *Subscription {
	sub, snapshot, err := v.Subscribe(context.Background(), &everybody, wire.TopicNodes, wire.Filter{State: "lost"}, c)
	if err != nil {
		c.t.Fatal(err)
	}
	c.guard.Lock()
	defer c.guard.Unlock()
	c.begun++
	c.gap = false
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.nodes)
	for last := false; !last; {
		var e wire.Encoded
		if e, last, err = snapshot.Next(); err != nil {
			c.t.Fatal(err)
		}
		part := decode[wire.Snapshot](c.t, e)
		c.keep(nil, nil, part.Nodes, nil)
		c.rev[part.Topic] = part.Rev
	}
	return sub
}

// broken reports that a delta did not fit.
func (c *lossy) broken() bool {
	c.guard.Lock()
	defer c.guard.Unlock()
	return c.gap
}

// settle ends the losing.
func (c *lossy) settle() {
	c.guard.Lock()
	defer c.guard.Unlock()
	c.chance = nil
}

func (c *lossy) Delta(topic string, rev int64, e wire.Encoded) {
	c.guard.Lock()
	defer c.guard.Unlock()
	if c.chance != nil && c.chance.IntN(10) == 0 {
		c.lost++
		return
	}
	if delta := decode[wire.Delta](c.t, e); delta.Prev != c.rev[topic] {
		c.gap = true
	}
	if !c.gap {
		c.desk.Delta(topic, rev, e)
	}
}

// A waiting job says why; what was stored about it long ago does not come back.
func TestView_AWaitingJobsReasonIsThatOfNow(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		id := viewtest.JobID(1)
		stage.PutJob(record.Job{Spec: fleet.JobSpec{ID: id, App: "cam", Owner: 7}, State: fleet.JobQueued, Cause: fleet.CausePoolExhausted})
		decision := fleet.Decision{Rule: fleet.RuleOwnerPool, Pools: []fleet.Tally{{Pool: "pool-7"}}}
		stage.Live(core.JobView{ID: id, State: fleet.JobQueued, Cause: fleet.CausePoolExhausted, Decision: &decision})
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicJob+id.String(), wire.Filter{})
		defer sub.End()
		pass(3 * time.Second)
		if row := d.jobs[id.String()]; row.Waits == "" || row.Reason != "pool_exhausted" {
			t.Errorf("the job says %+v", row)
		}
		quiet := len(d.seen())
		pass(10 * time.Second)
		if n := len(d.seen()) - quiet; n != 0 {
			t.Errorf("%d deltas of a job to which nothing happens", n)
		}
	})
}

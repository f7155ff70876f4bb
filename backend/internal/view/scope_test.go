package view

import (
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/view/viewtest"
	"rockpool/shared/wire"
)

// team sees the pool gpu alone: an operator of one pool.
var team = seeing(record.Scope{Pools: []string{"gpu"}})

func inPool(id, pool string, owner int64) core.NodeView {
	n := viewtest.Node(id, owner)
	n.Record.Pool = pool
	return n
}

func TestView_ATeamSeesWhatIsInItsPools(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Put(inPool("g1", "gpu", 7), inPool("d1", "default", 7), inPool("d2", "default", 8))
		stage.Waits(core.Waits{Placed: 9, P95: 100})
		stage.Raise(fleet.Alarm{ID: 1, Fingerprint: fleet.Fingerprint{Kind: fleet.AlarmQueueWait, Pool: "gpu"}})
		stage.Raise(fleet.Alarm{ID: 2, Fingerprint: fleet.Fingerprint{Kind: fleet.AlarmQueueWait, Pool: "default"}})
		stage.Raise(fleet.Alarm{ID: 3, Fingerprint: fleet.Fingerprint{Kind: fleet.AlarmNodeLost, Node: "d1"}})
		d := newDesk(t)
		for _, topic := range []string{wire.TopicNodes, wire.TopicPools, wire.TopicFleet, wire.TopicAlarms} {
			sub, _ := d.subscribe(v, team, topic, wire.Filter{})
			defer sub.End()
		}
		if len(d.nodes) != 1 || len(d.pools) != 1 || len(d.alarms) != 1 || d.nodes["g1"].ID == "" || d.pools["gpu"].ID == "" || d.alarms["1"].ID == "" {
			t.Errorf("the team sees %v, %v, %v", d.nodes, d.pools, d.alarms)
		}
		if d.fleet.SlotsTotal != 4 || d.fleet.Placed != 0 {
			t.Errorf("its fleet is %+v", d.fleet)
		}
		for _, topic := range []string{wire.TopicNode + "d1"} {
			_, _, err := v.Subscribe(t.Context(), &team, topic, wire.Filter{}, d)
			if known, ok := err.(*fleet.Error); !ok || known.Code != fleet.CodeNotFound {
				t.Errorf("%s: %v", topic, err)
			}
		}
		pass(time.Second)
		// A node that is moved comes, with its alarm; another one goes.
		stage.Change("d1", func(n *core.NodeView) { n.Record.Pool = "gpu" })
		stage.Change("g1", func(n *core.NodeView) { n.Record.Pool = "default" })
		pass(time.Second)
		if len(d.nodes) != 1 || d.nodes["d1"].ID == "" {
			t.Errorf("after the moves it sees %v", d.nodes)
		}
		if _, there := d.alarm("3"); !there {
			t.Error("the alarm of a node that came is not there")
		}
	})
}

// jobIn is the commit of a job that was placed in a pool.
func jobIn(n int, pool string, spec bool) core.JobNews {
	id := viewtest.JobID(n)
	news := core.JobNews{Job: id, Row: core.JobRow{State: fleet.JobOffered, Attempt: 1, Pool: pool}}
	if spec {
		news.Spec = &fleet.JobSpec{ID: id, App: "cam", Owner: 7}
	}
	return news
}

func TestView_ATeamSeesTheWorkOfItsPools(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		put := func(n int, pool string) {
			stage.PutJob(record.Job{Spec: fleet.JobSpec{ID: viewtest.JobID(n), App: "cam", Owner: 7}, State: fleet.JobOffered, Attempt: 1, Pool: pool})
		}
		put(1, "gpu")
		put(2, "default")
		d := newDesk(t)
		sub, _ := d.subscribe(v, team, wire.TopicJobs, wire.Filter{})
		defer sub.End()
		has := func(n int) bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.jobs[viewtest.JobID(n).String()].ID != ""
		}
		if !has(1) || has(2) {
			t.Errorf("the team sees %v", d.jobs)
		}
		waiting := jobIn(3, "", true) // it waits for the pool, first
		waiting.Row.State, waiting.Row.Decision = fleet.JobQueued, &fleet.Decision{Pools: []fleet.Tally{{Pool: "gpu"}, {Pool: "default"}}}
		stage.Commit(waiting)
		stage.Commit(jobIn(4, "default", true))
		pass(time.Second)
		if !has(3) || has(4) {
			t.Error("of new jobs it sees others than those of its pool")
		}
		put(1, "default")
		stage.Commit(jobIn(1, "default", false)) // placed anew elsewhere
		put(2, "gpu")
		stage.Commit(jobIn(2, "gpu", false)) // and here
		pass(2 * time.Second)
		if has(1) || !has(2) {
			t.Error("jobs that changed their pool are seen where they were")
		}
	})
}

func TestScopeText_IsTheSameForTheSameRows(t *testing.T) {
	seven, eight := int64(7), int64(8)
	same := [][2]record.Scope{
		{{Pools: []string{"b", "a", "a"}}, {Pools: []string{"a", "b"}}},
		{{Owner: &seven}, {Owner: new(int64(7))}},
	}
	for _, pair := range same {
		if scopeText(pair[0]) != scopeText(pair[1]) {
			t.Errorf("%+v and %+v have keys of their own", pair[0], pair[1])
		}
	}
	different := []record.Scope{{}, {Pools: []string{}}, {Pools: []string{"a"}}, {Owner: &seven}, {Owner: &eight}, {Owner: &seven, Pools: []string{"a"}}, {Pools: []string{"7"}}}
	seen := map[string]record.Scope{}
	for _, s := range different {
		if other, there := seen[scopeText(s)]; there {
			t.Errorf("%+v and %+v share a key", s, other)
		}
		seen[scopeText(s)] = s
	}
}

package sim

import (
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/nodecore"
)

// operatorActions are what people do.
var operatorActions = []action{
	{word: "move", help: "nodes to pool", do: func(w *World, s *Step) { w.move(w.pick(s.Nodes), s.Pool) }},
	{word: "copy", help: "nodes: keeps their state as it is, for play_copy", do: func(w *World, s *Step) { w.takeCopy(w.pick(s.Nodes)) }},
	{word: "play_copy", help: "nodes: a process with the copy says hello from another machine", do: func(w *World, s *Step) { w.playCopy(w.pick(s.Nodes)) }},
	{word: "repair", help: "nodes that are held for a copy: their own processes are kept", do: func(w *World, s *Step) { w.repair(w.pick(s.Nodes)) }},
	{word: "cordon", help: "nodes; for: uncordons them after so long", do: func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		w.hold(s, fleet.HoldCordon)
		w.lasting(s.For, func() { w.unhold(picked) })
	}},
	{word: "drain", help: "nodes, with a deadline or without", do: func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		w.hold(s, fleet.HoldDrain)
		w.lasting(s.For, func() { w.unhold(picked) })
	}},
	{word: "uncordon", help: "lifts an operator's holds of nodes", do: func(w *World, s *Step) { w.unhold(w.pick(s.Nodes)) }},
	{word: "revoke", help: "nodes: their sessions end, they have left", do: func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		w.revoke(picked)
		w.lasting(s.For, func() { w.rejoin(picked) })
	}},
	{word: "release", help: "the mass loss of pool", do: func(w *World, s *Step) {
		w.tell(func(now Time) {
			w.srv.core.ReleasePool(now, s.Pool, core.Actor{Subject: "u:1"}, "scenario", w.srv.pending)
		})
	}},
	{word: "rejoin", help: "nodes that have left register again", do: func(w *World, s *Step) { w.rejoin(w.pick(s.Nodes)) }},
	{word: "pool_state", help: "pool to state: active, draining or disabled", do: func(w *World, s *Step) {
		before := w.store.pool(s.Pool)
		if before == nil {
			w.fail("scenario", "there is no pool %s", s.Pool)
			return
		}
		was := before.State
		w.setPool(s.Pool, fleet.PoolState(s.State))
		if s.For > 0 {
			w.lasting(s.For, func() { w.setPool(s.Pool, was) })
		}
	}},
	{word: "bind", help: "app to pools, with fallback or without; no pools: the binding goes", do: func(w *World, s *Step) {
		w.bind(s.App, s.Pools, s.Fallback)
	}},
	{word: "promote", help: "the nodes of the canary pool to the pool to, if jobs canary jobs succeeded and all were ready for so long", do: func(w *World, s *Step) {
		w.promote(s)
	}},
	{word: "submit", help: "count jobs of app (role, runner, run; pool: canary jobs)", do: func(w *World, s *Step) {
		d := &Demand{App: s.App, Role: s.Role, Runner: s.Runner, Run: s.Run, Pool: s.Pool}
		for range max(1, s.Count) {
			w.order(d, nil)
		}
	}},
	{word: "place", help: "count placements of app (role, slots, key; spread: on so many distinct nodes each); renewed; for: given back after so long", do: func(w *World, s *Step) { w.place(s) }},
	{word: "cancel", help: "count of the newest open jobs of app", do: func(w *World, s *Step) {
		left := max(1, s.Count)
		for i := len(w.jobs) - 1; i >= 0 && left > 0; i-- {
			if j := w.jobs[i]; j.stored && !j.row.State.Terminal() && (s.App == "" || j.spec.App == s.App) {
				left--
				w.cancel(j)
			}
		}
	}},
}

// faultActions are what breaks, and when it is whole again.
var faultActions = []action{
	{word: "crash", help: "the processes of nodes; for: then they begin again", do: crashNodes(false)},
	{word: "power", help: "nodes fail without a word; for: then they are back", do: crashNodes(true)},
	{word: "stop", help: "nodes end as asked; for: then they begin again", do: func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		for _, n := range picked {
			n.askToStop()
		}
		w.lasting(s.For, func() { wake(picked) })
	}},
	{word: "flap", help: "nodes' connections come and go, up and down for so long each", do: func(w *World, s *Step) {
		for _, n := range w.pick(s.Nodes) {
			w.flap(n, s, w.now+Time(s.For))
		}
	}},
	{word: "cut", help: "the connections of nodes; for: the server learns of it so late", do: func(w *World, s *Step) {
		for _, n := range w.pick(s.Nodes) {
			w.net.cut(n, w.chance.order.between(0, Time(s.For)))
		}
	}},
	{word: "partition", help: "nothing of nodes gets through; way: up (to the server), down or both", do: func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		up, down := s.Way != "down", s.Way != "up"
		for _, n := range picked {
			w.net.block(n, up, down)
		}
		w.lasting(s.For, func() {
			for _, n := range picked {
				w.net.unblock(n, up, down)
			}
		})
	}},
	{word: "loss", help: "share of nodes' messages is lost and sent again", do: linkShare(func(l *link) *Share { return &l.loss })},
	{word: "duplicate", help: "share of nodes' messages arrives twice", do: linkShare(func(l *link) *Share { return &l.twice })},
	{word: "slow", help: "nodes' messages take up to 3 s longer", do: func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		for _, n := range picked {
			n.link.slow += n.chance.between(0, 3*second)
		}
		w.lasting(s.For, func() {
			for _, n := range picked {
				n.link.slow = 0
			}
		})
	}},
	{word: "sick", help: "nodes say that they are unhealthy", do: nodeFlag(func(n *node) *bool { return &n.sick })},
	{word: "disk_full", help: "nodes can't write results", do: nodeFlag(func(n *node) *bool { return &n.full })},
	{word: "spoil", help: "work on nodes ends as spoils says: start_failed, exit_code, hang or nothing", do: func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		for _, n := range picked {
			n.spoils = s.Spoils
		}
		w.lasting(s.For, func() {
			for _, n := range picked {
				n.recover()
			}
		})
	}},
	{word: "restart_server", help: "the server's process is killed and begins again after for", do: func(w *World, s *Step) { w.srv.crash(max(1, Time(s.For))) }},
	{word: "stop_server", help: "the server ends as asked, after it told each node when to dial anew; it begins again after for", do: func(w *World, s *Step) { w.srv.stop(max(1, Time(s.For))) }},
	{word: "pause_server", help: "the server's process stands still for so long", do: func(w *World, s *Step) { w.srv.pause(Time(s.For)) }},
	{word: "store_away", help: "no transaction succeeds for so long", do: func(w *World, s *Step) { w.store.backAt = max(w.store.backAt, w.now+Time(s.For)) }},
	{word: "store_slow", help: "transactions take a second longer", do: func(w *World, s *Step) {
		w.store.slow = second
		w.lasting(s.For, func() { w.store.slow = 0 })
	}},
	{word: "commit_unknown", help: "share of the transactions end unknown: half of them are committed", do: storeShare(func(s *store) *Share { return &s.unknownP })},
	{word: "commit_fails", help: "share of the transactions fail", do: storeShare(func(s *store) *Share { return &s.failP })},
	{word: "clock_jump", help: "the backend's wall clock by so much; with nodes theirs", do: func(w *World, s *Step) {
		if s.Nodes == "" {
			if err := w.jump(s.By); err != nil {
				w.fail("scenario", "%v", err)
			}
			return
		}
		for _, n := range w.pick(s.Nodes) {
			if n.alive {
				n.core.Woke(nodecore.Time(w.now), &w.wants)
				n.act()
			}
		}
	}},
	{word: "heal", help: "all faults end, holds are lifted, pools are active again", do: func(w *World, _ *Step) { w.healAll() }},
}

func crashNodes(power bool) func(*World, *Step) {
	return func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		for _, n := range picked {
			n.crash(power)
		}
		w.lasting(s.For, func() { wake(picked) })
	}
}

func wake(nodes []*node) {
	for _, n := range nodes {
		n.wake(n.chance.between(1, second))
	}
}

func linkShare(of func(*link) *Share) func(*World, *Step) {
	return func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		for _, n := range picked {
			*of(&n.link) = s.Share
		}
		w.lasting(s.For, func() {
			for _, n := range picked {
				*of(&n.link) = 0
			}
		})
	}
}

func nodeFlag(of func(*node) *bool) func(*World, *Step) {
	return func(w *World, s *Step) {
		picked := w.pick(s.Nodes)
		for _, n := range picked {
			*of(n) = true
		}
		w.lasting(s.For, func() {
			for _, n := range picked {
				*of(n) = false
			}
		})
	}
}

func storeShare(of func(*store) *Share) func(*World, *Step) {
	return func(w *World, s *Step) {
		*of(w.store) = s.Share
		w.lasting(s.For, func() { *of(w.store) = 0 })
	}
}

// healAll ends every fault: what was killed begins again, holds are lifted, pools
// are active.
func (w *World) healAll() {
	for i := range w.undo {
		w.heal(i)
	}
	w.store.backAt = min(w.store.backAt, w.now)
	w.unhold(w.nodes)
	w.rejoin(w.nodes)
	wake(w.nodes)
	for i := range w.store.pools {
		if w.store.pools[i].State != fleet.PoolActive {
			w.setPool(w.store.pools[i].ID, fleet.PoolActive)
		}
	}
}

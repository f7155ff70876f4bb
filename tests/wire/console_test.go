package wiretest

import "rockpool/shared/wire"

func consoleGoldens() []golden {
	counts := wire.NodeCounts{Ready: 12, Suspect: 1, Lost: 2, Left: 3, New: 4, Quarantined: 6, Draining: 7, Cordoned: 8, AutoHeld: 9, Unhealthy: 5}
	fleet := wire.FleetRow{ID: "fleet", Nodes: counts, SlotsTotal: 88, SlotsFree: 40, SlotsOutOfUse: 8, Placements: 88, Queued: 37, Running: 40, Overdue: 10,
		Placed: 64, WaitP50: 3, WaitP95: 1800}
	pool := wire.PoolRow{
		ID: "pool-7", Name: "pool-7", Kind: "user", State: "active", Canary: true, Nodes: counts,
		SlotsTotal: 88, SlotsFree: 40, SlotsOutOfUse: 8, Queued: 37, Running: 40, Spark: []int64{0, 12, 300}, Overdue: 10,
		OldestWait: 252000, QueueWait: 60000, FreeSlots: 1, NotReadyPct: 50, Version: 3,
	}
	node := wire.NodeRow{
		ID: "edge-1", Pool: "pool-7", Owner: "7", Role: "edge", Region: "eu-west", Lease: "suspect", Since: 4200, LastSeen: 29200,
		Holds:     []wire.RowHold{{Kind: "cordon", Owner: "operator", Actor: "u:1", Reason: "new disk", Left: -1}},
		Accepting: true, AcceptReason: "spool is full", Healthy: true, HealthReasons: []string{"disk full"},
		SlotsTotal: 4, SlotsUsed: 1, Memory: []wire.Share{{Name: "host", Total: 65_536, Reserved: 1024}}, Resources: []wire.Share{{Name: "nvenc", Total: 2, Reserved: 1}},
		Placements: 1, Running: []wire.NodeWork{{Job: job1, Attempt: 2, Phase: wire.PhaseRunning, Percent: 40, Slots: 2, App: "cam-7", Runner: "vmaf", StartedAt: 1_790_000_000_000}},
		Backend: "cpu", Runners: []string{"checksum", "vmaf"}, Epoch: 42, AgentVersion: "1.2.3", OS: "linux", Arch: "amd64",
		MachineID: "abab", Address: "192.0.2.7", Endpoints: []wire.Pair{{Name: "webrtc", Value: "https://edge-1.example/whep"}},
		Labels: []wire.Pair{{Name: "rack", Value: "<b>日本</b>"}}, LoadMilli: 1500, MemoryMiB: 4096, Spooled: 3, Version: 17,
		Timeline: []wire.LeaseChange{{State: "ready", Cause: "hello", At: 1796000000000}, {State: "suspect", Cause: "silence", At: 1796000025000}},
	}
	job := wire.JobRow{
		ID: job1, App: "cam", Runner: "vmaf", State: "queued", Reason: "pool_exhausted", Detail: "none of 14 nodes", Pool: "pool-7",
		Node: "edge-1", Attempt: 2, Percent: 40, Fallback: true, Priority: 5,
		CreatedAt: 1796000000000, StartedAt: 1796000001000, EndedAt: 1796000009000, NotBefore: 1796000005000, Waits: "pool-7: 9 draining",
	}
	alarm := wire.AlarmRow{
		ID: "1048577", Kind: "pool_exhausted", Severity: "critical", Role: "edge", Pool: "pool-7", App: "cam-7", Node: "edge-1", Count: 37,
		Age: 252000, Last: 1200, Waiting: 37, Detail: "0 of 14 nodes can take it: 9 draining, 3 without a free slot", AckedBy: "admin", SilencedFor: 3600000,
	}
	placement := wire.PlacementRow{
		ID: job1, App: "cam-7", Role: "origin", Key: "stream-42", Purpose: "publish", State: "draining", Nodes: []string{"edge-1", "edge-2"},
		Pools: []string{"pool-7", "pool-7"}, Slots: 1, Fallback: true, CreatedAt: 1796000000000, Left: 240000,
	}
	frozen, silent, skewed := fleet, pool, node
	skewed.Skew = -3_600_500
	frozen.Frozen, frozen.FrozenFor, frozen.FrozenBy, silent.MassLoss = 61_000, 29_000, "database", 95_000
	return []golden{
		one("snapshot_fleet_frozen", wire.Snapshot{Topic: wire.TopicFleet, Rev: 3, Last: true, Fleet: []wire.FleetRow{frozen}}),
		one("snapshot_pools_mass_loss", wire.Snapshot{Topic: wire.TopicPools, Rev: 3, Last: true, Pools: []wire.PoolRow{silent}}),
		one("snapshot_nodes_skewed", wire.Snapshot{Topic: wire.TopicNodes, Rev: 3, Last: true, Nodes: []wire.NodeRow{skewed}}),
		one("delta_nodes_skewed", wire.Delta{Topic: wire.TopicNodes, Prev: 2, Rev: 3, Nodes: []wire.NodeRow{skewed}}),
		one("delta_fleet_frozen", wire.Delta{Topic: wire.TopicFleet, Prev: 2, Rev: 3, Fleet: []wire.FleetRow{frozen}}),
		one("delta_pools_mass_loss", wire.Delta{Topic: wire.TopicPools, Prev: 2, Rev: 3, Pools: []wire.PoolRow{silent}}),
		one("subscribe", wire.Subscribe{Topic: wire.TopicNodes, Filter: wire.Filter{Pool: "pool-7", State: "suspect"}}),
		one("subscribe_least", wire.Subscribe{Topic: wire.TopicJob + job1}),
		one("more", wire.More{Topic: wire.TopicNodes, Part: 1}),
		one("unsubscribe", wire.Unsubscribe{Topic: wire.TopicNode + "edge-1"}),
		one("ping", wire.Ping{}),
		one("pong", wire.Pong{}),
		one("welcome_console", wire.WelcomeConsole{
			User: "7", Name: "Ada", Roles: []string{"operator"}, Version: "1.2.3", Times: wire.ConsoleTimes{Tick: 1000, Stale: 10000},
		}),
		one("snapshot_fleet", wire.Snapshot{Topic: wire.TopicFleet, Rev: 1, Last: true, Fleet: []wire.FleetRow{fleet}}),
		one("snapshot_pools", wire.Snapshot{Topic: wire.TopicPools, Rev: 1, Last: true, Pools: []wire.PoolRow{pool}}),
		one("snapshot_nodes", wire.Snapshot{Topic: wire.TopicNodes, Rev: 9, Part: 1, Last: true, Nodes: []wire.NodeRow{node, {ID: "edge-2"}}}),
		one("snapshot_jobs", wire.Snapshot{Topic: wire.TopicJobs, Rev: 9, Last: true, Jobs: []wire.JobRow{job}}),
		one("snapshot_alarms", wire.Snapshot{Topic: wire.TopicAlarms, Rev: 9, Last: true, Alarms: []wire.AlarmRow{alarm}}),
		one("snapshot_placements", wire.Snapshot{Topic: wire.TopicPlacements, Rev: 9, Last: true, Placements: []wire.PlacementRow{placement}}),
		one("delta_placements", wire.Delta{Topic: wire.TopicPlacements, Prev: 9, Rev: 10, Placements: []wire.PlacementRow{placement}}),
		one("snapshot_empty", wire.Snapshot{Topic: wire.TopicJobs, Last: true}),
		one("delta_fleet", wire.Delta{Topic: wire.TopicFleet, Prev: 1, Rev: 2, Fleet: []wire.FleetRow{fleet}}),
		one("delta_pools", wire.Delta{Topic: wire.TopicPools, Prev: 1, Rev: 2, Pools: []wire.PoolRow{pool}}),
		one("delta_nodes", wire.Delta{Topic: wire.TopicNodes, Prev: 9, Rev: 10, Nodes: []wire.NodeRow{node}, Deletes: []string{"edge-2"}}),
		one("delta_jobs", wire.Delta{Topic: wire.TopicJobs, Prev: 9, Rev: 10, Jobs: []wire.JobRow{job}}),
		one("delta_alarms", wire.Delta{Topic: wire.TopicAlarms, Prev: 9, Rev: 10, Alarms: []wire.AlarmRow{alarm}, Deletes: []string{"1048576"}}),
	}
}

package api

import (
	"net/http"
	"slices"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/lease"
	"rockpool/backend/internal/rest"
)

func TestNodeHistory_TellsWhatChoseAndRejectedTheNode(t *testing.T) {
	w := newWorld(t)
	mine := &fleet.JobSpec{ID: jobIDOf(ann), App: "cam-7", Owner: ann, Demands: fleet.Vector{Slots: 6}}
	w.pasts = map[string]core.NodePast{"node-7": {
		OpenedAt: 1000, Times: lease.Times{Suspect: 25_000, Lost: 90_000}, Free: fleet.Vector{Slots: 4}, Record: fleet.NodeRecord{Backend: "cpu"},
		Rejected: []core.Rejection{
			{Spec: mine, Reasons: []fleet.Reason{fleet.NoSlots}},
			{Spec: &fleet.JobSpec{ID: jobIDOf(8), App: "x", Owner: 8, Backend: "cuda"}, Reasons: []fleet.Reason{fleet.WrongBackend, fleet.NoSlots}},
		},
		Chosen: []core.Choice{{At: 5000, Job: mine.ID, App: "cam-7", Owner: ann, Pool: "pool-7", Free: 6, Tie: true}},
		Events: []core.NodeEvent{
			{At: 6000, Kind: core.NodeResult, Job: mine.ID, Detail: "exit_code"},
			{At: 1000, Kind: core.NodeOpened, Epoch: 3, Detail: "1.8.2"},
		},
		Lease: []lease.Change{{State: fleet.LeaseReady, Event: lease.Opened, At: 1000}, {State: fleet.LeaseSuspect, Event: lease.Broken, At: 5500}},
	}}
	history := read[rest.NodeHistory](t, w.asUser(ann, http.MethodGet, "/v1/nodes/node-7/history", ""))
	var decisions, log []string
	for _, d := range history.Decisions {
		decisions = append(decisions, d.Outcome+" "+d.App+" "+d.Reason)
	}
	for _, l := range history.Log {
		log = append(log, l.Text)
	}
	if want := []string{"rejected cam-7 slots: 4 free, 6 asked", "chosen cam-7 most free slots (6), a tie that the lowest id won"}; !slices.Equal(decisions, want) {
		t.Errorf("the decisions read %q", decisions)
	}
	if want := []string{"result " + mine.ID.String() + " failed: exit_code", "lease suspect, disconnected", "session 3 opened, agent 1.8.2"}; !slices.Equal(log, want) {
		t.Errorf("the log reads %q", log)
	}
	if history.SuspectMs != 25_000 || history.HeartbeatMs != 10_000 || history.LostMs != 90_000 || history.SessionSince == nil {
		t.Errorf("the session reads %+v", history)
	}
	all := read[rest.NodeHistory](t, w.asUser(root, http.MethodGet, "/v1/nodes/node-7/history", ""))
	if len(all.Decisions) != 3 || all.Decisions[1].Reason != "backend: cpu, cuda asked" {
		t.Errorf("a superadmin reads %+v", all.Decisions)
	}
}

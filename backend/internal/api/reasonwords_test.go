package api

import (
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

func TestWords_TellWhatNodesHaveAndWhatIsAsked(t *testing.T) {
	node := func(id string, free int64, backend string, holds ...fleet.Hold) *core.NodeView {
		return &core.NodeView{
			Record: fleet.NodeRecord{ID: id, Backend: backend, Holds: holds}, Lease: fleet.LeaseLost,
			Free: fleet.Vector{Slots: free, Memory: []fleet.Quantity{{Name: "gpu0", Amount: 6000}}},
		}
	}
	drain := fleet.Hold{Kind: fleet.HoldDrain, Owner: fleet.OwnerOperator, Actor: "ada", Reason: "kernel update"}
	now := &core.FleetView{Nodes: []*core.NodeView{node("a", 4, "cpu"), node("b", 2, "cpu"), node("c", 3, "mlx", drain), node("d", 1, "cpu"), node("e", 4, "cpu")}}
	spec := &fleet.JobSpec{Backend: "cuda", Demands: fleet.Vector{Slots: 6, Memory: []fleet.Quantity{{Name: "gpu0", Amount: 8000}}}}
	of := func(ids ...string) (list []core.NodeReasons) {
		for _, id := range ids {
			list = append(list, core.NodeReasons{Node: id})
		}
		return list
	}
	for _, c := range []struct {
		reason fleet.Reason
		nodes  []core.NodeReasons
		want   string
	}{
		{fleet.NoSlots, of("a", "b", "c"), "6 asked; 4, 2 and 3 free"},
		{fleet.NoSlots, of("a", "e"), "6 asked; 4 free"},
		{fleet.NoSlots, of("a", "b", "c", "d"), "6 asked; 4, 2, 3 and more free"},
		{fleet.WrongBackend, of("a", "b", "c"), "the job asks for cuda, they run cpu and mlx"},
		{fleet.Draining, of("c"), "drain by ada: kernel update"},
		{fleet.LeaseNotReady, of("a"), "lost"},
		{fleet.NoMemory, of("a"), "gpu0: 6000 MiB free, 8000 MiB asked"},
		{fleet.Excluded, of("a"), "excluded for this job"},
		{fleet.NoSlots, of("gone"), "without a free slot"},
	} {
		if got := (&asks{spec, now}).words(c.reason, c.nodes); got != c.want {
			t.Errorf("%v of %d nodes: %q, want %q", c.reason, len(c.nodes), got, c.want)
		}
	}
}

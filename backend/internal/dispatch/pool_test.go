package dispatch

import (
	"context"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// Who only looks writes nothing, and a removed pool is out of sight when the call
// returns.
func TestLoop_LooksWithoutAnEffect(t *testing.T) {
	w := newWorld(t, 4)
	ctx, rec := context.Background(), testRecord()
	spec := *w.job().Spec
	before := len(w.batchesOf(w.db))
	c, err := w.loop.Candidates(ctx, &spec)
	if err != nil || c.Decision.Node != rec.ID || len(c.Nodes) != 1 || len(c.Nodes[0].Reasons) != 0 {
		t.Fatalf("candidates %+v, %v", c, err)
	}
	hold, err := w.loop.Impact(ctx, core.Proposal{Kind: core.ProposeHold, Nodes: []string{rec.ID}})
	if err != nil || len(hold.Pools) != 1 || hold.Pools[0].Usable != 0 {
		t.Fatalf("impact %+v, %v", hold, err)
	}
	if _, err := w.loop.Alignment(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := w.loop.Resolvers(ctx, rec.Pool); err != nil || len(got) == 0 {
		t.Fatalf("resolvers %+v, %v", got, err)
	}
	if n, err := w.loop.Usable(ctx, fleet.App{ID: spec.App, Owner: spec.Owner}, spec.Role); err != nil || n != 1 {
		t.Fatalf("%d usable, %v", n, err)
	}
	if err := w.loop.PutPool(ctx, fleet.Pool{ID: "trial", Kind: fleet.KindNamed}); err != nil {
		t.Fatal(err)
	}
	if err := w.loop.RemovePool(ctx, "trial"); err != nil {
		t.Fatal(err)
	}
	w.inLoop(func(d *core.Dispatch) {
		for _, p := range d.Fleet(0).Pools {
			if p.Pool.ID == "trial" {
				t.Error("the removed pool is still there")
			}
		}
	})
	if after := len(w.batchesOf(w.db)); after != before {
		t.Errorf("%d batches were written", after-before)
	}
}

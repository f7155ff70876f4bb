package store_test

import (
	"reflect"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
	"rockpool/shared/ids"
)

// place puts a placement of a slot on the house's node and those others.
func (h *house) place(e *core.Effects, key string, others ...storetest.Node) *fleet.PlacementSpec {
	spec := storetest.Placement(h.app, time.Now())
	spec.Key, spec.Demands.Slots, spec.Count = key, 1, int32(1+len(others))
	p := core.PlacementWrite{Spec: spec, New: true, Row: core.PlacementRow{
		CreatedAt: now(), ExpiresAt: now() + fleet.Time(spec.TTLMs), Decision: h.assigned().Decision,
	}}
	for _, n := range append([]storetest.Node{h.node}, others...) {
		p.Row.Nodes = append(p.Row.Nodes, fleet.PlacedOn{Node: n.ID, Pool: n.Pool})
		e.Reservations = append(e.Reservations, core.Reservation{Job: spec.ID, Node: n.ID, Pool: n.Pool, Demand: &spec.Demands})
	}
	e.Placements = append(e.Placements, p)
	return spec
}

// end gives a placement of place its last state.
func (h *house) end(e *core.Effects, of *core.PlacementWrite, state fleet.PlacementState) {
	p := core.PlacementWrite{Spec: of.Spec, Row: of.Row}
	p.Row.State, p.Row.EndedAt = state, now()
	for _, on := range p.Row.Nodes {
		e.Reservations = append(e.Reservations, core.Reservation{Job: p.Spec.ID, Node: on.Node, Demand: &p.Spec.Demands, Release: true})
	}
	e.Placements = append(e.Placements, p)
}

func TestPlacement_FromInsertToEnd(t *testing.T) {
	h := newHouse(t)
	second := storetest.InsertNode(t, h.db, h.user.ID)
	start, end := &core.Effects{}, &core.Effects{}
	spec := h.place(start, "stream-42", second)
	start.Fallbacks = append(start.Fallbacks, core.FallbackRecord{Job: spec.ID, App: spec.App, Role: spec.Role, From: []string{"a"}, Node: h.node.ID, At: now()})
	h.commit(start)
	got, err := h.db.Placement(ctx, spec.ID, record.Scope{})
	h.must(err)
	row := start.Placements[0].Row
	if !reflect.DeepEqual(got.Spec, *spec) || !reflect.DeepEqual(got.Nodes, row.Nodes) || got.State != fleet.PlacementActive || got.EndedAt != nil ||
		!got.ExpiresAt.Equal(storetest.Wall(row.ExpiresAt)) || !got.CreatedAt.Equal(storetest.Wall(row.CreatedAt)) {
		t.Fatalf("stored %+v\nof %+v", got, start.Placements[0])
	}
	if h.reserved() != 1 {
		t.Fatalf("%d slots reserved", h.reserved())
	}
	if n := storetest.Query[int64](t, h.urls, "SELECT count(*) FROM pool_fallbacks WHERE attempt = 0"); n != 1 {
		t.Fatal("the fallback has no record")
	}
	h.end(end, &start.Placements[0], fleet.PlacementReleased)
	h.commit(end)
	if got, err = h.db.Placement(ctx, spec.ID, record.Scope{}); err != nil || got.State != fleet.PlacementReleased || got.EndedAt == nil || len(got.Nodes) != 2 {
		t.Fatalf("after its end %+v, %v", got, err)
	}
	if h.reserved() != 0 {
		t.Fatal("an ended placement holds slots")
	}
	if out := h.try(end); !reflect.DeepEqual(out, []core.Refusal{{Job: spec.ID, Why: core.RefusedStale}}) {
		t.Fatalf("an ended placement ended again: %+v", out)
	}
}

// A node that is not granted refuses the placement whole, and nothing but it.
func TestPlacement_AllOrNone(t *testing.T) {
	h := newHouse(t)
	held := storetest.InsertNode(t, h.db, h.user.ID)
	storetest.InsertHold(t, h.urls, held.ID, fleet.HoldCordon)
	e := &core.Effects{}
	spec := h.place(e, "", held)
	other := h.place(e, "other")
	if out := h.try(e); !reflect.DeepEqual(out, []core.Refusal{{Job: spec.ID, Why: core.RefusedAssignment}}) {
		t.Fatalf("refused %+v", out)
	}
	if n := storetest.Query[int64](t, h.urls, "SELECT count(*) FROM placement_nodes"); n != 1 || h.reserved() != 1 {
		t.Fatalf("%d nodes, %d slots reserved", n, h.reserved())
	}
	_, err := h.db.Placement(ctx, spec.ID, record.Scope{})
	wantCode(t, err, fleet.CodeNotFound)
	_, err = h.db.Placement(ctx, other.ID, record.Scope{})
	h.must(err)
}

// Of a key one placement lasts, whatever memory believes; the next may come in the
// batch in which the one before ends.
func TestPlacement_OneForEachKey(t *testing.T) {
	h := newHouse(t)
	first, second, next := &core.Effects{}, &core.Effects{}, &core.Effects{}
	h.place(first, "stream")
	h.commit(first)
	again := h.place(second, "stream")
	if out := h.try(second); !reflect.DeepEqual(out, []core.Refusal{{Job: again.ID, Why: core.RefusedStale}}) {
		t.Fatalf("a second one: %+v", out)
	}
	h.end(next, &first.Placements[0], fleet.PlacementLost)
	h.place(next, "stream")
	h.commit(next)
	if h.reserved() != 1 {
		t.Fatalf("%d slots reserved", h.reserved())
	}
}

// What can't be stored goes alone.
func TestPlacement_BadData(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	bad := h.place(e, "a\x00b")
	good := h.place(e, "good")
	if out := h.try(e); !reflect.DeepEqual(out, []core.Refusal{{Job: bad.ID, Why: core.RefusedData}}) {
		t.Fatalf("refused %+v", out)
	}
	_, err := h.db.Placement(ctx, good.ID, record.Scope{})
	h.must(err)
}

func TestPlacement_ComesOnceForAKey(t *testing.T) {
	h := newHouse(t)
	first, again, job := &core.Effects{}, &core.Effects{}, &core.Effects{}
	spec := h.place(first, "")
	first.Placements[0].IdempotencyKey, first.Placements[0].RequestDigest = "key", [32]byte{7}
	h.commit(first)
	second := h.place(again, "")
	again.Placements[0].IdempotencyKey = "key"
	if out := h.try(again); !reflect.DeepEqual(out, []core.Refusal{{Job: second.ID, Why: core.RefusedIdempotency}}) {
		t.Fatalf("refused %+v", out)
	}
	third := h.submitQueued(job)
	job.Inserts[0].IdempotencyKey = "key"
	if out := h.try(job); !reflect.DeepEqual(out, []core.Refusal{{Job: third.ID, Why: core.RefusedIdempotency}}) {
		t.Fatalf("a job with a placement's key: refused %+v", out)
	}
	before, found, err := h.db.IdempotentWork(ctx, spec.Submitter, "key")
	h.must(err)
	if !found || before.Placement != spec.ID || !before.Job.IsZero() || before.RequestDigest != [32]byte{7} {
		t.Fatalf("remembered %+v", before)
	}
}

// Slots that the placements don't account for are set right when the fleet is loaded.
func TestPlacement_Reconciled(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	h.place(e, "")
	h.submit(e, 1)
	h.commit(e)
	h.urls.Exec(t, "UPDATE nodes SET reserved_slots = 0 WHERE id = $1", h.node.ID)
	snapshot, err := h.db.LoadSnapshot(ctx)
	h.must(err)
	if h.reserved() != 2 || len(snapshot.Placements) != 1 {
		t.Fatalf("%d slots reserved, placements %+v", h.reserved(), snapshot.Placements)
	}
}

func TestPlacements_List(t *testing.T) {
	h := newHouse(t)
	stranger := storetest.InsertUser(t, h.db)
	e, end := &core.Effects{}, &core.Effects{}
	a, b, c := h.place(e, "a"), h.place(e, "b"), h.place(e, "c")
	h.commit(e)
	h.end(end, &e.Placements[1], fleet.PlacementExpired)
	h.commit(end)
	expired := fleet.PlacementExpired
	for _, want := range []struct {
		name   string
		filter record.PlacementFilter
		page   record.Page
		list   []ids.JobID
	}{
		{"all", record.PlacementFilter{}, record.Page{}, []ids.JobID{c.ID, b.ID, a.ID}},
		{"lasting", record.PlacementFilter{Lasting: true}, record.Page{}, []ids.JobID{c.ID, a.ID}},
		{"expired", record.PlacementFilter{State: &expired}, record.Page{}, []ids.JobID{b.ID}},
		{"by key", record.PlacementFilter{Key: "a"}, record.Page{}, []ids.JobID{a.ID}},
		{"by app", record.PlacementFilter{App: "none"}, record.Page{}, nil},
		{"page", record.PlacementFilter{}, record.Page{Limit: 1, After: c.ID.String()}, []ids.JobID{b.ID}},
		{"owner's", record.PlacementFilter{Scope: record.Scope{Owner: &h.user.ID}}, record.Page{}, []ids.JobID{c.ID, b.ID, a.ID}},
		{"a stranger's", record.PlacementFilter{Scope: record.Scope{Owner: &stranger.ID}}, record.Page{}, nil},
		{"of a pool", record.PlacementFilter{Scope: record.Scope{Pools: []string{h.node.Pool}}}, record.Page{}, []ids.JobID{c.ID, b.ID, a.ID}},
		{"of other pools", record.PlacementFilter{Scope: record.Scope{Pools: []string{}}}, record.Page{}, nil},
	} {
		list, err := h.db.Placements(ctx, want.filter, want.page)
		h.must(err)
		var got []ids.JobID
		for i := range list {
			got = append(got, list[i].Spec.ID)
		}
		if !reflect.DeepEqual(got, want.list) {
			t.Errorf("%s: %v, want %v", want.name, got, want.list)
		}
	}
	_, err := h.db.Placement(ctx, a.ID, record.Scope{Owner: &stranger.ID})
	wantCode(t, err, fleet.CodeNotFound)
}

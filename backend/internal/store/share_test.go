package store_test

import (
	"reflect"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

func TestSetShare(t *testing.T) {
	h := newHouse(t)
	usual := fleet.Share{Weight: fleet.DefaultWeight}
	if h.app.Share != usual {
		t.Fatalf("a new app has %+v", h.app.Share)
	}
	share := fleet.Share{Weight: 300, MaxOpenJobs: 1, MaxPlacements: 2, MaxSlots: 3}
	app, version, err := h.db.SetShare(ctx, storetest.Actor, h.app.ID, share, "why", &h.app.Version)
	h.must(err)
	if want := (fleet.App{ID: h.app.ID, Owner: h.user.ID, Bindings: []fleet.Binding{}, Share: share, Version: 2}); version != 2 || !reflect.DeepEqual(app, want) {
		t.Fatalf("set %+v, version %d", app, version)
	}
	wantEntry(t, h.db, "share_set", "app:"+h.app.ID, "why")
	read, err := h.db.App(ctx, h.app.ID)
	h.must(err)
	list, err := h.db.Apps(ctx, nil, record.Page{})
	h.must(err)
	if read.Share != share || read.Version != 2 || list[0] != read || h.snapshot().Apps[0].Share != share {
		t.Fatalf("read %+v, listed %+v", read, list)
	}
	// the binding's change keeps it, and nothing changes without a trace
	if app, _, err = h.db.PutBinding(ctx, storetest.Actor, h.app.ID, fleet.Binding{Pools: []string{fleet.PoolDefault}}, "", nil); err != nil || app.Share != share {
		t.Fatalf("bound %+v, %v", app, err)
	}
	if _, version, err = h.db.SetShare(ctx, storetest.Actor, h.app.ID, share, "", nil); err != nil || version != 3 {
		t.Fatalf("the same again: version %d, %v", version, err)
	}
	_, _, err = h.db.SetShare(ctx, storetest.Actor, h.app.ID, usual, "", &h.app.Version)
	wantCode(t, err, fleet.CodePreconditionFail)
	_, _, err = h.db.SetShare(ctx, storetest.Actor, "nobody", usual, "", nil)
	wantCode(t, err, fleet.CodeNotFound)
	for _, bad := range []fleet.Share{{}, {Weight: 1001}, {Weight: 1, MaxSlots: -1}, {Weight: 1, MaxOpenJobs: -1}, {Weight: 1, MaxPlacements: -1}} {
		_, _, err := h.db.SetShare(ctx, storetest.Actor, h.app.ID, bad, "", nil)
		wantCode(t, err, fleet.CodeUnprocessable)
	}
}

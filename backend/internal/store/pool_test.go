package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
)

// canary makes a named pool.
func canary(t testing.TB, db *store.DB, id string) fleet.Pool {
	t.Helper()
	pool, err := db.CreatePool(ctx, storetest.Actor, fleet.Pool{ID: id, Thresholds: fleet.DefaultThresholds()}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// newest is the last audit entry.
func newest(t testing.TB, db *store.DB) record.AuditEntry {
	t.Helper()
	entries, err := db.Audit(ctx, record.AuditFilter{}, record.Page{Limit: 1})
	if err != nil || len(entries) != 1 {
		t.Fatalf("audit %v, %v", entries, err)
	}
	return entries[0]
}

func wantEntry(t testing.TB, db *store.DB, action, object, reason string) {
	t.Helper()
	if e := newest(t, db); e.Action != action || e.Object != object || e.Reason != reason || e.Actor != storetest.Actor {
		t.Fatalf("newest audit entry %+v, want %s of %s", e, action, object)
	}
}

func TestNamedPools(t *testing.T) {
	db := storetest.New(t)
	user := storetest.InsertUser(t, db)
	made := canary(t, db, "canary-1")
	wantEntry(t, db, "pool_created", "pool:canary-1", "test")
	want := fleet.Pool{ID: "canary-1", Name: "canary-1", Kind: fleet.KindNamed, State: fleet.PoolActive, Thresholds: fleet.DefaultThresholds(), Version: 1}
	if made != want {
		t.Fatalf("made %+v", made)
	}
	edit := func(id string, version *int64, fn func(*fleet.Pool)) (fleet.Pool, error) {
		return db.ChangePool(ctx, storetest.Actor, id, func(p *fleet.Pool) error { fn(p); return nil }, "why", version)
	}
	drain := func(p *fleet.Pool) {
		p.State, p.Name, p.Thresholds.QueueWaitMs, p.ID, p.Kind, p.Version = fleet.PoolDrains, "Canaries", 5, "other", fleet.KindUser, 77
	}
	if last, err := db.ThresholdsChanged(ctx, "canary-1"); err != nil || last != nil {
		t.Fatalf("thresholds as they were made: %+v, %v", last, err)
	}
	changed, err := edit("canary-1", &made.Version, drain)
	want.State, want.Name, want.Thresholds.QueueWaitMs, want.Version = fleet.PoolDrains, "Canaries", 5, 2
	if err != nil || changed != want {
		t.Fatalf("changed %+v, %v", changed, err)
	}
	if read, err := db.Pool(ctx, "canary-1"); err != nil || read != want {
		t.Fatalf("read %+v, %v", read, err)
	}
	wantEntry(t, db, "pool_changed", "pool:canary-1", "why")
	_, err = edit("canary-1", nil, func(p *fleet.Pool) { p.Name = "Renamed" })
	entry := newest(t, db)
	last, errLast := db.ThresholdsChanged(ctx, "canary-1")
	if err != nil || errLast != nil || last.By != storetest.Actor.Subject || !last.At.Before(entry.At) {
		t.Fatalf("thresholds changed before another name: %+v, %v, %v", last, err, errLast)
	}
	_, err = edit("canary-1", nil, func(p *fleet.Pool) { p.Name = "Canaries" })
	if err != nil {
		t.Fatal(err)
	}
	seq := newest(t, db).Seq
	if again, err := edit("canary-1", nil, drain); err != nil || again.Version != 4 || newest(t, db).Seq != seq {
		t.Fatalf("a change that changes nothing: %+v, %v", again, err)
	}
	_, err = edit("canary-1", &made.Version, drain)
	wantCode(t, err, fleet.CodePreconditionFail)
	_, err = edit("nowhere", nil, drain)
	wantCode(t, err, fleet.CodeNotFound)
	for _, id := range []string{fleet.PoolDefault, fleet.PoolUnassigned} {
		_, err = edit(id, nil, drain)
		wantCode(t, err, fleet.CodeConflict)
		wantCode(t, db.DeletePool(ctx, storetest.Actor, id, "", nil), fleet.CodeConflict)
	}
	if p, err := edit(fleet.OwnerPool(user.ID), nil, drain); err != nil || p.Kind != fleet.KindUser || p.State != fleet.PoolDrains {
		t.Fatalf("a user's pool: %+v, %v", p, err)
	}
	refusal := errors.New("not now")
	if _, err := db.ChangePool(ctx, storetest.Actor, "canary-1", func(*fleet.Pool) error { return refusal }, "", nil); !errors.Is(err, refusal) {
		t.Fatalf("the edit's refusal came back as %v", err)
	}
}

func TestCreatePool_RefusesIDs(t *testing.T) {
	db := storetest.New(t)
	for id, code := range map[string]fleet.Code{
		"pool-7": fleet.CodeUnprocessable, "all": fleet.CodeUnprocessable, "Big": fleet.CodeUnprocessable, "": fleet.CodeUnprocessable,
		fleet.PoolDefault: fleet.CodeConflict, fleet.PoolUnassigned: fleet.CodeConflict, "pool-": fleet.CodeUnprocessable,
	} {
		_, err := db.CreatePool(ctx, storetest.Actor, fleet.Pool{ID: id}, "")
		wantCode(t, err, code)
	}
	canary(t, db, "pool-gpu")
	_, err := db.CreatePool(ctx, storetest.Actor, fleet.Pool{ID: "pool-gpu"}, "")
	wantCode(t, err, fleet.CodeConflict)
}

// A pool goes when nothing refers to it; until then the refusal says what does.
func TestDeletePool(t *testing.T) {
	h := newHouse(t)
	canary(t, h.db, "canary-1")
	_, _, err := h.db.PutBinding(ctx, storetest.Actor, h.app.ID, fleet.Binding{Role: "edge", Pools: []string{"canary-1"}}, "", nil)
	h.must(err)
	_, err = h.db.SetUserRoles(ctx, storetest.Actor, h.user.ID, nil, []record.Grant{{Role: "viewer", Pool: "canary-1"}, {Role: "operator", Pool: "canary-1"}}, "")
	h.must(err)
	h.move("canary-1")
	for i := range 7 {
		n := storetest.InsertNode(t, h.db, h.user.ID, storetest.InPool("canary-1"))
		if i == 0 {
			_, err := h.db.LeaveNode(ctx, storetest.Actor, n.ID, "")
			h.must(err)
		}
	}
	err = h.db.DeletePool(ctx, storetest.Actor, "canary-1", "", nil)
	wantCode(t, err, fleet.CodeConflict)
	for _, part := range []string{h.node.ID, "and 3 more", "bindings of apps: " + h.app.ID + " (edge)", "grants of users: " + h.user.Name} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), h.user.Name+", ") {
		t.Errorf("%q names the user twice", err)
	}
	_, err = h.db.SetUserRoles(ctx, storetest.Actor, h.user.ID, nil, nil, "")
	h.must(err)
	_, _, err = h.db.PutBinding(ctx, storetest.Actor, h.app.ID, fleet.Binding{Role: "edge"}, "", nil)
	h.must(err)
	h.urls.Exec(t, "UPDATE nodes SET pool_id = 'default'")
	stale := int64(7)
	wantCode(t, h.db.DeletePool(ctx, storetest.Actor, "canary-1", "", &stale), fleet.CodePreconditionFail)
	h.must(h.db.DeletePool(ctx, storetest.Actor, "canary-1", "done", nil))
	wantEntry(t, h.db, "pool_deleted", "pool:canary-1", "done")
	wantCode(t, h.db.DeletePool(ctx, storetest.Actor, "canary-1", "", nil), fleet.CodeNotFound)
	wantCode(t, h.db.DeletePool(ctx, storetest.Actor, fleet.OwnerPool(h.user.ID), "", nil), fleet.CodeConflict)
}

func TestPoolsInScope(t *testing.T) {
	db := storetest.New(t)
	ada, bob := storetest.InsertUser(t, db), storetest.InsertUser(t, db)
	canary(t, db, "canary-1")
	for _, c := range []struct {
		scope record.Scope
		want  []string
	}{
		{record.Scope{}, []string{"canary-1", "default", fleet.OwnerPool(ada.ID), fleet.OwnerPool(bob.ID), "unassigned"}},
		{record.Scope{Owner: &bob.ID, Pools: []string{}}, []string{fleet.OwnerPool(bob.ID)}},
		{record.Scope{Pools: []string{"default", "gone"}}, []string{"default"}},
		{record.Scope{Owner: &ada.ID, Pools: []string{"canary-1"}}, []string{"canary-1", fleet.OwnerPool(ada.ID)}},
		{record.Scope{Pools: []string{}}, nil},
	} {
		pools, err := db.Pools(ctx, c.scope)
		var got []string
		for _, p := range pools {
			got = append(got, p.ID)
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("scope %+v: %v, %v; want %v", c.scope, got, err, c.want)
		}
	}
}

func TestPutBinding(t *testing.T) {
	db := storetest.New(t)
	user := storetest.InsertUser(t, db)
	app := storetest.InsertApp(t, db, user.ID)
	for i := range 9 {
		canary(t, db, fmt.Sprint("p-", i))
	}
	put := func(b fleet.Binding, version *int64) (fleet.App, int64, error) {
		return db.PutBinding(ctx, storetest.Actor, app.ID, b, "why", version)
	}
	edge := fleet.Binding{Role: "edge", Pools: []string{"p-2", "p-1"}, AllowFallback: true}
	bound, version, err := put(edge, &app.Version)
	want := fleet.App{ID: app.ID, Owner: user.ID, Version: version, Share: app.Share, Bindings: []fleet.Binding{edge}}
	if err != nil || version != app.Version+1 || !reflect.DeepEqual(bound, want) {
		t.Fatalf("bound %+v, version %d, %v", bound, version, err)
	}
	wantEntry(t, db, "binding_set", "app:"+app.ID, "why")
	every := fleet.Binding{Pools: []string{fleet.PoolDefault}}
	if bound, version, err = put(every, nil); err != nil || version != 3 || !reflect.DeepEqual(bound.Bindings, []fleet.Binding{every, edge}) {
		t.Fatalf("bound %+v, version %d, %v", bound, version, err)
	}
	seq := newest(t, db).Seq
	if _, version, err = put(edge, nil); err != nil || version != 3 || newest(t, db).Seq != seq {
		t.Fatalf("the same again: version %d, %v", version, err)
	}
	if _, version, err = put(fleet.Binding{Role: "origin"}, nil); err != nil || version != 3 || newest(t, db).Seq != seq {
		t.Fatalf("taking away what is not there: version %d, %v", version, err)
	}
	if bound, version, err = put(fleet.Binding{Role: "edge"}, nil); err != nil || version != 4 || !reflect.DeepEqual(bound.Bindings, []fleet.Binding{every}) {
		t.Fatalf("taken away: %+v, version %d, %v", bound, version, err)
	}
	wantEntry(t, db, "binding_deleted", "app:"+app.ID, "why")
	_, _, err = put(edge, &app.Version)
	wantCode(t, err, fleet.CodePreconditionFail)
	_, _, err = db.PutBinding(ctx, storetest.Actor, "nobody", edge, "", nil)
	wantCode(t, err, fleet.CodeNotFound)
	for name, b := range map[string]fleet.Binding{
		"unassigned": {Pools: []string{"p-1", fleet.PoolUnassigned}}, "missing": {Pools: []string{"p-1", "p-99"}},
		"twice": {Pools: []string{"p-1", "p-2", "p-1"}}, "nine": {Pools: strings.Fields("p-0 p-1 p-2 p-3 p-4 p-5 p-6 p-7 p-8")},
		"role": {Role: "dancer", Pools: []string{"p-1"}},
	} {
		_, _, err := put(b, nil)
		var known *fleet.Error
		if !errors.As(err, &known) || known.Code != fleet.CodeUnprocessable {
			t.Errorf("%s: %v, want unprocessable", name, err)
		}
	}
	if now, err := db.App(ctx, app.ID); err != nil || now.Version != 4 {
		t.Fatalf("refusals changed the app: %+v, %v", now, err)
	}
}

// What comes to refer to a pool, and the pool's deletion, at once: one of them is
// refused, and nothing refers to a pool that is not there.
func TestReferAgainstDelete(t *testing.T) {
	h := newHouse(t)
	refer := []struct {
		what string
		do   func(pool string) error
		code fleet.Code // when the pool has gone
	}{
		{"binding", func(pool string) error {
			_, _, err := h.db.PutBinding(ctx, storetest.Actor, h.app.ID, fleet.Binding{Pools: []string{fleet.PoolDefault, pool}}, "", nil)
			return err
		}, fleet.CodeUnprocessable},
		{"move", func(pool string) error {
			_, _, err := h.db.MoveNode(ctx, storetest.Actor, h.node.ID, pool, "", nil)
			return err
		}, fleet.CodeNotFound},
		{"grant", func(pool string) error {
			_, err := h.db.SetUserRoles(ctx, storetest.Actor, h.user.ID, nil, []record.Grant{{Role: "viewer", Pool: pool}}, "")
			return err
		}, fleet.CodeUnprocessable},
	}
	referred, deleted := 0, 0
	for i := range 75 {
		id, r := fmt.Sprint("p-", i), refer[i%len(refer)]
		canary(t, h.db, id)
		var group sync.WaitGroup
		var failed, gone error
		group.Go(func() { failed = r.do(id) })
		group.Go(func() { gone = h.db.DeletePool(ctx, storetest.Actor, id, "", nil) })
		group.Wait()
		switch {
		case failed == nil && gone != nil:
			wantCode(t, gone, fleet.CodeConflict)
			referred++
		case failed != nil && gone == nil:
			wantCode(t, failed, r.code)
			deleted++
		default:
			t.Fatalf("round %d: %s %v, deleted %v", i, r.what, failed, gone)
		}
	}
	t.Logf("%d times referred to, %d times deleted", referred, deleted)
}

func TestRoles(t *testing.T) {
	db := storetest.New(t)
	ada := storetest.InsertUser(t, db)
	made, err := db.CreateRole(ctx, storetest.Actor, "transcoder", "new work")
	if err != nil || made != (record.Role{Name: "transcoder"}) {
		t.Fatalf("made %+v, %v", made, err)
	}
	wantEntry(t, db, "role_created", "role:transcoder", "new work")
	roles, err := db.Roles(ctx)
	want := "[{edge true} {forward true} {origin true} {recorder true} {standalone true} {transcoder false} {worker true}]"
	if err != nil || fmt.Sprint(roles) != want {
		t.Fatalf("roles %v, %v", roles, err)
	}
	_, err = db.CreateRole(ctx, storetest.Actor, "edge", "")
	wantCode(t, err, fleet.CodeConflict)
	_, err = db.CreateRole(ctx, storetest.Actor, "none", "")
	wantCode(t, err, fleet.CodeUnprocessable)
	storetest.InsertLicense(t, db, ada.ID, 1, func(l *record.License) { l.Roles = []string{"worker", "transcoder"} })
	_, err = db.CreateLicense(ctx, storetest.Actor, record.License{User: ada.ID, Roles: []string{"worker", "dancer"}, Nodes: 1}, storetest.Sum())
	wantCode(t, err, fleet.CodeUnprocessable)
}

func TestGrants(t *testing.T) {
	db := storetest.New(t)
	canary(t, db, "canary-1")
	root := storetest.InsertUser(t, db, "superadmin")
	made, err := db.CreateUser(ctx, storetest.Actor, record.User{Name: "olga", Roles: []string{"user"}, Grants: []record.Grant{{Role: "viewer", Pool: "default"}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	grants := []record.Grant{{Role: "operator", Pool: "canary-1"}, {Role: "viewer", Pool: "default"}}
	after, err := db.SetUserRoles(ctx, storetest.Actor, made.ID, []string{"user"}, append(grants, grants[0]), "team")
	if err != nil || !reflect.DeepEqual(after.Grants, grants) || !reflect.DeepEqual(after.Roles, []string{"user"}) {
		t.Fatalf("after %+v, %v", after, err)
	}
	wantEntry(t, db, "user_roles_set", fmt.Sprint("user:", made.ID), "team")
	if e := newest(t, db); !strings.Contains(string(e.Before), `"viewer default"`) || !strings.Contains(string(e.After), `"operator canary-1"`) {
		t.Fatalf("the entry says %s and %s", e.Before, e.After)
	}
	sum := storetest.Sum()
	if _, err := db.CreateToken(ctx, storetest.Actor, record.Token{User: made.ID, Name: "ci"}, sum); err != nil {
		t.Fatal(err)
	}
	expires := time.Now().Add(time.Hour)
	if err := db.CreateConsoleSession(ctx, storetest.Actor, made.ID, sum, expires); err != nil {
		t.Fatal(err)
	}
	_, bearer, err1 := db.TokenBySum(ctx, sum)
	signed, err2 := db.ConsoleSessionBySum(ctx, sum)
	listed, err3 := db.Users(ctx, record.Page{After: fmt.Sprint(root.ID)})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for how, u := range map[string]record.User{"token": bearer, "console": signed, "list": listed[0]} {
		if !reflect.DeepEqual(u, after) {
			t.Errorf("by %s: %+v, want %+v", how, u, after)
		}
	}
	for _, bad := range []record.Grant{{Role: "operator", Pool: "gone"}, {Role: "superadmin", Pool: "canary-1"}, {Role: "viewer", Pool: "*"}} {
		_, err := db.SetUserRoles(ctx, storetest.Actor, made.ID, nil, []record.Grant{bad}, "")
		wantCode(t, err, fleet.CodeUnprocessable)
	}
	_, err = db.SetUserRoles(ctx, storetest.Actor, root.ID, nil, grants, "")
	wantCode(t, err, fleet.CodeConflict)
}

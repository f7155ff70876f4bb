package store_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

func TestUsers(t *testing.T) {
	db := storetest.New(t)
	made, err := db.CreateUser(ctx, storetest.Actor, record.User{Name: "ada", Roles: []string{"user", "operator", "user"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"operator", "user"}; made.ID == 0 || !reflect.DeepEqual(made.Roles, want) {
		t.Fatalf("made %+v, want roles %v", made, want)
	}
	pool, err := db.Pool(ctx, fleet.OwnerPool(made.ID))
	if err != nil || pool.Kind != fleet.KindUser || pool.State != fleet.PoolActive {
		t.Fatalf("the user's pool: %+v, %v", pool, err)
	}
	if read, err := db.User(ctx, made.ID); err != nil || !reflect.DeepEqual(read, made) {
		t.Fatalf("read %+v, %v; made %+v", read, err, made)
	}
	_, err = db.CreateUser(ctx, storetest.Actor, record.User{Name: "ada"}, "")
	wantCode(t, err, fleet.CodeConflict)
	_, err = db.CreateUser(ctx, storetest.Actor, record.User{Name: "bob", Roles: []string{"emperor"}}, "")
	wantCode(t, err, fleet.CodeBadRequest)
	_, err = db.User(ctx, made.ID+1000)
	wantCode(t, err, fleet.CodeNotFound)
	storetest.InsertUser(t, db)
	page, err := db.Users(ctx, record.Page{Limit: 1, After: "1"})
	if err != nil || len(page) != 1 || page[0].ID <= 1 {
		t.Fatalf("second page %+v, %v", page, err)
	}
}

// Somebody can always administer the fleet, also when the last two superadmins
// demote each other at once.
func TestLastSuperadminStays(t *testing.T) {
	db := storetest.New(t)
	a, b := storetest.InsertUser(t, db, "superadmin"), storetest.InsertUser(t, db, "superadmin")
	var group errgroup.Group
	results := make([]error, 2)
	for i, user := range []record.User{a, b} {
		group.Go(func() error {
			_, results[i] = db.SetUserRoles(ctx, storetest.Actor, user.ID, []string{"user"}, nil, "test")
			return nil
		})
	}
	group.Wait()
	if (results[0] == nil) == (results[1] == nil) {
		t.Fatalf("demoting both: %v and %v, want one conflict", results[0], results[1])
	}
	last := a
	if results[0] == nil {
		last = b
	}
	_, err := db.DisableUser(ctx, storetest.Actor, last.ID, "test")
	wantCode(t, err, fleet.CodeConflict)
	_, err = db.SetUserRoles(ctx, storetest.Actor, last.ID, nil, nil, "test")
	wantCode(t, err, fleet.CodeConflict)
	if exists, err := db.SuperadminExists(ctx); err != nil || !exists {
		t.Fatalf("a superadmin exists: %v, %v", exists, err)
	}
	if after, err := db.SetUserRoles(ctx, storetest.Actor, last.ID, []string{"superadmin", "user"}, nil, "keep"); err != nil || len(after.Roles) != 2 {
		t.Fatalf("keeping the role: %+v, %v", after, err)
	}
}

func TestTokens(t *testing.T) {
	db := storetest.New(t)
	ada, bob := storetest.InsertUser(t, db), storetest.InsertUser(t, db)
	sum, old, short := storetest.Sum(), storetest.Sum(), time.Now().Add(-time.Second)
	made, err := db.CreateToken(ctx, storetest.Actor, record.Token{User: ada.ID, Name: "ci", Scopes: []string{"jobs:write"}}, sum)
	if err != nil || made.ID == "" {
		t.Fatalf("made %+v, %v", made, err)
	}
	if _, err := db.CreateToken(ctx, storetest.Actor, record.Token{User: ada.ID, Name: "old", ExpiresAt: &short}, old); err != nil {
		t.Fatal(err)
	}
	token, user, err := db.TokenBySum(ctx, sum)
	if err != nil || token.ID != made.ID || user.ID != ada.ID || !reflect.DeepEqual(token.Scopes, []string{"jobs:write"}) {
		t.Fatalf("by sum: %+v of %+v, %v", token, user, err)
	}
	for name, wrong := range map[string][32]byte{"expired": old, "unknown": storetest.Sum()} {
		if _, _, err := db.TokenBySum(ctx, wrong); err == nil {
			t.Errorf("the %s token is good", name)
		}
	}
	list, err := db.Tokens(ctx, ada.ID, record.Page{})
	if err != nil || len(list) != 2 || list[0].LastUsed == nil || list[1].LastUsed != nil {
		t.Fatalf("list %+v, %v", list, err)
	}
	wantCode(t, db.DeleteToken(ctx, storetest.Actor, bob.ID, made.ID), fleet.CodeNotFound)
	if err := db.DeleteToken(ctx, storetest.Actor, ada.ID, made.ID); err != nil {
		t.Fatal(err)
	}
	_, _, err = db.TokenBySum(ctx, sum)
	wantCode(t, err, fleet.CodeNotFound)
}

func TestTokenOfDisabledUser(t *testing.T) {
	db := storetest.New(t)
	ada, sum := storetest.InsertUser(t, db), storetest.Sum()
	if _, err := db.CreateToken(ctx, storetest.Actor, record.Token{User: ada.ID}, sum); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.TokenBySum(ctx, sum); err != nil {
		t.Fatal(err)
	}
	if after, err := db.DisableUser(ctx, storetest.Actor, ada.ID, "left the company"); err != nil || !after.Disabled {
		t.Fatalf("disable: %+v, %v", after, err)
	}
	_, _, err := db.TokenBySum(ctx, sum)
	wantCode(t, err, fleet.CodeNotFound)
}

// The setup token makes one superadmin, however many redeem it at once.
func TestSetupToken(t *testing.T) {
	db := storetest.New(t)
	setup := storetest.Sum()
	redeem := func(name string) (record.User, error) {
		user, token, err := db.RedeemSetupToken(ctx, storetest.Actor, setup, name, "", record.Token{Name: "first"}, storetest.Sum())
		if err == nil && token.User != user.ID {
			t.Errorf("the token is of user %d, not %d", token.User, user.ID)
		}
		return user, err
	}
	_, err := redeem("too early")
	wantCode(t, err, fleet.CodeUnauthenticated)
	for range 2 { // set anew by a second start of the server
		if err := db.SetSetupToken(ctx, setup, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	var group errgroup.Group
	results := make([]error, 8)
	for i := range results {
		group.Go(func() error {
			_, results[i] = redeem(strings.Repeat("x", i+1))
			return nil
		})
	}
	group.Wait()
	redeemed := 0
	for _, err := range results {
		if err == nil {
			redeemed++
		} else {
			wantCode(t, err, fleet.CodeUnauthenticated)
		}
	}
	users, err := db.Users(ctx, record.Page{})
	if redeemed != 1 || err != nil || len(users) != 1 || !reflect.DeepEqual(users[0].Roles, []string{"superadmin"}) {
		t.Fatalf("redeemed %d times, users %+v, %v", redeemed, users, err)
	}
	if err := db.SetSetupToken(ctx, storetest.Sum(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, err = redeem("again")
	wantCode(t, err, fleet.CodeUnauthenticated)
}

func TestAppsAndBindings(t *testing.T) {
	urls := storetest.NewURLs(t)
	db := storetest.Open(t, urls.Server)
	ada := storetest.InsertUser(t, db)
	app, nobodys := storetest.InsertApp(t, db, ada.ID), storetest.InsertApp(t, db, 0)
	_, err := db.CreateApp(ctx, storetest.Actor, record.App{ID: app.ID})
	wantCode(t, err, fleet.CodeConflict)
	_, err = db.CreateApp(ctx, storetest.Actor, record.App{ID: "x", Owner: ada.ID + 99})
	wantCode(t, err, fleet.CodeNotFound)
	if read, err := db.App(ctx, nobodys.ID); err != nil || read.Owner != 0 || read.Version != 1 {
		t.Fatalf("read %+v, %v", read, err)
	}
	own, err := db.Apps(ctx, &ada.ID, record.Page{})
	if err != nil || len(own) != 1 || own[0].ID != app.ID {
		t.Fatalf("own apps %+v, %v", own, err)
	}
	all, err := db.Apps(ctx, nil, record.Page{After: app.ID})
	if err != nil || len(all) != 1 || all[0].ID != nobodys.ID {
		t.Fatalf("all apps after the first: %+v, %v", all, err)
	}
	want := fleet.Binding{Role: "edge", Pools: []string{"default", "pool-1"}, AllowFallback: true}
	storetest.Bind(t, urls, app.ID, want)
	if got, err := db.Bindings(ctx, app.ID); err != nil || !reflect.DeepEqual(got, []fleet.Binding{want}) {
		t.Fatalf("bindings %+v, %v", got, err)
	}
	if err := executeOn(urls.Admin, "INSERT INTO app_pool_bindings VALUES ('"+app.ID+"', '', '{unassigned}', false)"); err == nil {
		t.Error("a binding to unassigned was stored")
	}
}

package store_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
)

func register(db *store.DB, license, wish string, secret [32]byte) (record.Node, error) {
	return db.RegisterNode(ctx, storetest.Actor, license, wish, "", secret, "machine")
}

func TestRegisterNode(t *testing.T) {
	db := storetest.New(t)
	ada := storetest.InsertUser(t, db)
	license := storetest.InsertLicense(t, db, ada.ID, 2, func(l *record.License) { l.Roles = []string{"worker", "edge"} })
	secret := storetest.Sum()
	node, err := register(db, license.ID, "ams-1", secret)
	if err != nil {
		t.Fatal(err)
	}
	if node.ID != "ams-1" || node.Pool != fleet.OwnerPool(ada.ID) || node.Owner != ada.ID || node.Role != "worker" || node.License != license.ID || node.MachineID != "machine" {
		t.Fatalf("registered %+v", node)
	}
	if rec, err := db.NodeBySecret(ctx, secret); err != nil || rec.ID != "ams-1" {
		t.Fatalf("by secret: %+v, %v", rec, err)
	}
	_, err = register(db, license.ID, "ams-1", storetest.Sum())
	wantCode(t, err, fleet.CodeNodeIDTaken)
	_, err = db.RegisterNode(ctx, storetest.Actor, license.ID, "", "origin", storetest.Sum(), "")
	wantCode(t, err, fleet.CodeLicenseRefused)
	_, err = register(db, "none", "", storetest.Sum())
	wantCode(t, err, fleet.CodeLicenseRefused)
	named, err := db.RegisterNode(ctx, storetest.Actor, license.ID, "", "edge", storetest.Sum(), "")
	if err != nil || named.Role != "edge" || !regexp.MustCompile(`^node-[a-z2-7]{8}$`).MatchString(named.ID) {
		t.Fatalf("without a wish: %+v, %v", named, err)
	}
	_, err = register(db, license.ID, "ams-3", storetest.Sum())
	wantCode(t, err, fleet.CodeLicenseLimit)
	if l, err := db.License(ctx, license.ID); err != nil || l.Used != 2 {
		t.Fatalf("license %+v, %v", l, err)
	}
}

func TestRegisterRefusedLicenses(t *testing.T) {
	db := storetest.New(t)
	ada := storetest.InsertUser(t, db)
	past := time.Now().Add(-time.Minute)
	expired := storetest.InsertLicense(t, db, ada.ID, 1, func(l *record.License) { l.ExpiresAt = &past })
	revoked := storetest.InsertLicense(t, db, ada.ID, 1)
	for range 2 {
		if l, err := db.RevokeLicense(ctx, storetest.Actor, revoked.ID, "stolen"); err != nil || l.RevokedAt == nil {
			t.Fatalf("revoke: %+v, %v", l, err)
		}
	}
	for _, license := range []string{expired.ID, revoked.ID} {
		_, err := register(db, license, "", storetest.Sum())
		wantCode(t, err, fleet.CodeLicenseRefused)
	}
	_, err := db.RevokeLicense(ctx, storetest.Actor, "none", "x")
	wantCode(t, err, fleet.CodeNotFound)
	if all, err := db.Licenses(ctx, &ada.ID, record.Page{}); err != nil || len(all) != 2 {
		t.Fatalf("licenses %+v, %v", all, err)
	}
}

// An agent that restarts a hundred times, each time sure that it was never
// answered, is one node with one seat.
func TestCase_N9_SameSecretAHundredTimes(t *testing.T) {
	db := storetest.New(t)
	license := storetest.InsertLicense(t, db, storetest.InsertUser(t, db).ID, 5)
	secret := storetest.Sum()
	var group errgroup.Group
	var nodes sync.Map
	for i := range 100 {
		wish := ""
		if i%3 == 0 {
			wish = fmt.Sprint("wish-", i)
		}
		group.Go(func() error {
			node, err := register(db, license.ID, wish, secret)
			nodes.Store(node.ID, true)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	answers := 0
	nodes.Range(func(any, any) bool { answers++; return true })
	all, err := db.Nodes(ctx, record.Scope{}, record.Page{})
	l, err2 := db.License(ctx, license.ID)
	if answers != 1 || err != nil || len(all) != 1 || err2 != nil || l.Used != 1 {
		t.Fatalf("%d different answers, %d rows (%v), %d seats (%v)", answers, len(all), err, l.Used, err2)
	}
}

// Fifty at once on a license for seven: seven, exactly.
func TestLicenseIsExactInParallel(t *testing.T) {
	db := storetest.New(t)
	license := storetest.InsertLicense(t, db, storetest.InsertUser(t, db).ID, 7)
	var group errgroup.Group
	results := make([]error, 50)
	for i := range results {
		group.Go(func() error {
			_, results[i] = register(db, license.ID, "", storetest.Sum())
			return nil
		})
	}
	group.Wait()
	registered := 0
	for _, err := range results {
		if err == nil {
			registered++
		} else {
			wantCode(t, err, fleet.CodeLicenseLimit)
		}
	}
	if l, err := db.License(ctx, license.ID); err != nil || registered != 7 || l.Used != 7 {
		t.Fatalf("%d registered, %d seats taken (%v), want 7", registered, l.Used, err)
	}
}

// A node that leaves frees its seat and its id; coming back takes a seat.
func TestLeftNodeRegistersAgain(t *testing.T) {
	h := newHouse(t)
	license := storetest.InsertLicense(t, h.db, h.user.ID, 1)
	secret := storetest.Sum()
	first, err := register(h.db, license.ID, "ams-1", secret)
	h.must(err)
	leave := func() {
		h.commit(&core.Effects{Sessions: []core.SessionWrite{{Node: "ams-1", Epoch: 1 << 40, Left: true}}})
	}
	_, _, err = h.db.MoveNode(ctx, storetest.Actor, "ams-1", fleet.PoolDefault, "test", nil)
	h.must(err)
	leave()
	_, err = h.db.NodeBySecret(ctx, secret)
	wantCode(t, err, fleet.CodeNotFound)
	back, err := register(h.db, license.ID, "another-wish", secret)
	if err != nil || back.ID != first.ID || back.Left || back.Pool != fleet.PoolDefault {
		t.Fatalf("back with its secret: %+v, %v; want the same node where it was", back, err)
	}
	if e := newest(t, h.db); e.Action != "node_registered" || !strings.Contains(string(e.After), `"pool":"default"`) {
		t.Fatalf("entry %s says that it is in %s", e.Action, e.After)
	}
	leave()
	other, err := register(h.db, license.ID, "ams-1", storetest.Sum())
	if err != nil || other.ID != "ams-1" || other.Pool != fleet.OwnerPool(h.user.ID) {
		t.Fatalf("another machine of the same user under the freed id: %+v, %v", other, err)
	}
	_, err = register(h.db, license.ID, "", secret)
	wantCode(t, err, fleet.CodeLicenseLimit)
	leave()
	stranger := storetest.InsertLicense(t, h.db, storetest.InsertUser(t, h.db).ID, 1)
	_, err = register(h.db, stranger.ID, "ams-1", storetest.Sum())
	wantCode(t, err, fleet.CodeNodeIDTaken)
}

func TestRevokedNode(t *testing.T) {
	db := storetest.New(t)
	license := storetest.InsertLicense(t, db, storetest.InsertUser(t, db).ID, 1)
	secret := storetest.Sum()
	if _, err := register(db, license.ID, "ams-1", secret); err != nil {
		t.Fatal(err)
	}
	for i := range int64(2) {
		if rec, err := db.RevokeNode(ctx, storetest.Actor, "ams-1", "stolen"); err != nil || !rec.Left || rec.Version != 2+i {
			t.Fatalf("%+v, %v", rec, err)
		}
	}
	_, err := db.NodeBySecret(ctx, secret)
	wantCode(t, err, fleet.CodeNotFound)
	_, err = register(db, license.ID, "", secret)
	wantCode(t, err, fleet.CodeUnauthenticated)
	if node, err := register(db, license.ID, "ams-1", storetest.Sum()); err != nil || node.Left {
		t.Fatalf("a new secret for the id, on the freed seat: %+v, %v", node, err)
	}
	_, err = db.RevokeNode(ctx, storetest.Actor, "nobody", "x")
	wantCode(t, err, fleet.CodeNotFound)
}

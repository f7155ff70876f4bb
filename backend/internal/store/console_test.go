package store_test

import (
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

const someHash = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$c3Vt"

func TestPasswords(t *testing.T) {
	db := storetest.New(t)
	ada, err := db.CreateUser(ctx, storetest.Actor, record.User{Name: "ada", Roles: []string{"user"}}, someHash)
	if err != nil {
		t.Fatal(err)
	}
	if user, hash, err := db.PasswordOf(ctx, "ada"); err != nil || user.ID != ada.ID || hash != someHash {
		t.Fatalf("%+v, %s, %v", user, hash, err)
	}
	bob := storetest.InsertUser(t, db)
	_, _, err = db.PasswordOf(ctx, bob.Name)
	wantCode(t, err, fleet.CodeNotFound)
	if err := db.SetPassword(ctx, storetest.Actor, bob.ID, someHash+"x", "first day"); err != nil {
		t.Fatal(err)
	}
	if _, hash, err := db.PasswordOf(ctx, bob.Name); err != nil || hash != someHash+"x" {
		t.Fatalf("%s, %v", hash, err)
	}
	wantCode(t, db.SetPassword(ctx, storetest.Actor, bob.ID+1000, someHash, ""), fleet.CodeNotFound)
	if _, err := db.DisableUser(ctx, storetest.Actor, bob.ID, ""); err != nil {
		t.Fatal(err)
	}
	_, _, err = db.PasswordOf(ctx, bob.Name)
	wantCode(t, err, fleet.CodeNotFound)
	entries, err := db.Audit(ctx, record.AuditFilter{}, record.Page{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(string(e.Before)+string(e.After)+e.Reason, "argon2id") {
			t.Errorf("entry %d tells a password's hash", e.Seq)
		}
	}
}

// A new password and other rights end what was signed in before.
func TestAttack_A34_ConsoleSessionsEndWithWhatTheyStoodFor(t *testing.T) {
	db := storetest.New(t)
	user := storetest.InsertUser(t, db, "operator")
	signIn := func() [32]byte {
		sum := storetest.Sum()
		if err := db.CreateConsoleSession(ctx, storetest.Actor, user.ID, sum, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if found, err := db.ConsoleSessionBySum(ctx, sum); err != nil || found.ID != user.ID {
			t.Fatalf("%+v, %v", found, err)
		}
		return sum
	}
	for name, end := range map[string]func(sum [32]byte) error{
		"signed out":   func(sum [32]byte) error { return db.EndConsoleSession(ctx, storetest.Actor, user.ID, sum) },
		"new password": func([32]byte) error { return db.SetPassword(ctx, storetest.Actor, user.ID, someHash, "") },
		"other roles": func([32]byte) error {
			_, err := db.SetUserRoles(ctx, storetest.Actor, user.ID, []string{"viewer"}, nil, "")
			return err
		},
		"disabled": func([32]byte) error {
			_, err := db.DisableUser(ctx, storetest.Actor, user.ID, "")
			return err
		},
	} {
		sum := signIn()
		if err := end(sum); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, err := db.ConsoleSessionBySum(ctx, sum)
		wantCode(t, err, fleet.CodeNotFound)
		if name == "disabled" {
			user = storetest.InsertUser(t, db, "operator")
		}
	}
	wantCode(t, db.EndConsoleSession(ctx, storetest.Actor, user.ID, storetest.Sum()), fleet.CodeNotFound)
	sum := storetest.Sum()
	if err := db.CreateConsoleSession(ctx, storetest.Actor, user.ID, sum, time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err := db.ConsoleSessionBySum(ctx, sum)
	wantCode(t, err, fleet.CodeNotFound)
	if err := db.PruneConsoleSessions(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestCordon(t *testing.T) {
	h := newHouse(t)
	before, err := h.db.Node(ctx, h.node.ID)
	if err != nil {
		t.Fatal(err)
	}
	stale := before.Version + 7
	_, err = h.db.CordonNode(ctx, storetest.Actor, h.node.ID, "", &stale)
	wantCode(t, err, fleet.CodePreconditionFail)
	_, err = h.db.CordonNode(ctx, storetest.Actor, "no-such-node", "", nil)
	wantCode(t, err, fleet.CodeNotFound)
	held, err := h.db.CordonNode(ctx, storetest.Actor, h.node.ID, "new disk", &before.Version)
	if err != nil || held.Version != before.Version+1 || len(held.Holds) != 1 || held.Holds[0].Kind != fleet.HoldCordon || held.Holds[0].Reason != "new disk" {
		t.Fatalf("%+v, %v", held, err)
	}
	again, err := h.db.CordonNode(ctx, storetest.Actor, h.node.ID, "new fan", nil)
	if err != nil || len(again.Holds) != 1 || again.Holds[0].Reason != "new fan" {
		t.Fatalf("%+v, %v", again, err)
	}
	lifted, err := h.db.UncordonNode(ctx, storetest.Actor, h.node.ID, "done", nil)
	if err != nil || len(lifted.Holds) != 0 || lifted.Version != again.Version+1 {
		t.Fatalf("%+v, %v", lifted, err)
	}
	same, err := h.db.UncordonNode(ctx, storetest.Actor, h.node.ID, "done", nil)
	if err != nil || same.Version != lifted.Version {
		t.Fatalf("lifting nothing: %+v, %v", same, err)
	}
	if _, badSeq, err := h.db.VerifyAudit(ctx); err != nil || badSeq != 0 {
		t.Fatalf("the chain is broken at %d, %v", badSeq, err)
	}
}

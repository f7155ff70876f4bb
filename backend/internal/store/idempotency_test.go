package store_test

import (
	"bytes"
	"reflect"
	"sync"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

// claim gets the right to a key, or fails.
func (h *house) claim(key string, digest byte) record.Claim {
	h.t.Helper()
	claim, before, err := h.db.ClaimKey(ctx, h.user.ID, key, [32]byte{digest})
	h.must(err)
	if before != nil {
		h.t.Fatalf("key %q is taken: %+v", key, before)
	}
	return claim
}

// known is what is known of a key that is taken.
func (h *house) known(key string, digest byte) record.Idempotent {
	h.t.Helper()
	_, before, err := h.db.ClaimKey(ctx, h.user.ID, key, [32]byte{digest})
	h.must(err)
	if before == nil {
		h.t.Fatalf("key %q was free", key)
	}
	return *before
}

// stopServer is what time does to the claims of a server that was stopped.
func (h *house) stopServer() {
	h.urls.Exec(h.t, "UPDATE idempotency SET claimed_at = claimed_at - interval '3 min'")
}

// create makes an app as the POST of a claim does.
func (h *house) create(id string, claim record.Claim) error {
	actor := storetest.Actor
	actor.Claim = claim
	_, err := h.db.CreateApp(ctx, actor, record.App{ID: id, Owner: h.user.ID})
	return err
}

func TestClaimKey_OneOfManyAtATime(t *testing.T) {
	h := newHouse(t)
	var wg sync.WaitGroup
	claims := make([]record.Claim, 50)
	for i := range claims {
		wg.Go(func() {
			claim, before, err := h.db.ClaimKey(ctx, h.user.ID, "key", [32]byte{1})
			if err != nil || (before == nil) == (claim == record.Claim{}) {
				t.Errorf("claim %+v, before %+v, %v", claim, before, err)
			}
			claims[i] = claim
		})
	}
	wg.Wait()
	granted := 0
	for _, claim := range claims {
		if claim != (record.Claim{}) {
			granted++
		}
	}
	if granted != 1 {
		t.Fatalf("%d requests may do it", granted)
	}
	if _, before, err := h.db.ClaimKey(ctx, h.user.ID+1, "key", [32]byte{1}); err != nil || before != nil {
		t.Fatalf("another user's key is independent: %+v, %v", before, err)
	}
}

func TestClaimKey_FromClaimToAnswer(t *testing.T) {
	h := newHouse(t)
	claim := h.claim("key", 1)
	want := record.Idempotent{RequestDigest: [32]byte{1}}
	if got := h.known("key", 2); !reflect.DeepEqual(got, want) {
		t.Fatalf("under way: %+v", got)
	}
	h.must(h.create("made", claim))
	if want.Acted = true; !reflect.DeepEqual(h.known("key", 1), want) {
		t.Fatalf("acted: %+v", h.known("key", 1))
	}
	answer := record.Answer{Status: 201, Location: "/v1/apps/made", Body: []byte(`{"id": "made"}`)}
	h.must(h.db.RememberAnswer(ctx, claim, answer))
	if want.Answer = &answer; !reflect.DeepEqual(h.known("key", 1), want) {
		t.Fatalf("answered: %+v", h.known("key", 1))
	}
	h.must(h.db.ForgetKey(ctx, claim))
	if !reflect.DeepEqual(h.known("key", 1), want) {
		t.Fatal("what was done was forgotten")
	}
	long := h.claim("long", 1)
	h.must(h.db.RememberAnswer(ctx, long, record.Answer{Status: 200, Body: bytes.Repeat([]byte("x"), record.MaxAnswer+1)}))
	if got := h.known("long", 1); got.Answer == nil || got.Answer.Status != 200 || got.Answer.Body != nil {
		t.Fatalf("a long answer: %+v", got)
	}
	h.must(h.db.PruneIdempotency(ctx, storetest.Wall(now()+60_000)))
	h.claim("key", 3)
}

// What was refused may be asked again with its key, and so may what was rolled back.
func TestClaimKey_RefusedIsForgotten(t *testing.T) {
	h := newHouse(t)
	claim := h.claim("key", 1)
	wantCode(t, h.create(h.app.ID, claim), fleet.CodeConflict)
	if h.known("key", 1).Acted {
		t.Fatal("a rolled back transaction counts as acted")
	}
	h.must(h.db.ForgetKey(ctx, claim))
	h.claim("key", 2)
}

// A server that was stopped does not block a key: not begun it can be done by the
// next, done it can't, and who was only slow does not do it a second time.
func TestClaimKey_AfterACrash(t *testing.T) {
	h := newHouse(t)
	lost, done := h.claim("lost", 1), h.claim("done", 1)
	h.must(h.create("done", done))
	h.known("lost", 1)
	h.stopServer()
	if h.known("lost", 2).Acted { // another request never takes it over
		t.Fatal("acted")
	}
	next := h.claim("lost", 1)
	wantCode(t, h.create("late", lost), fleet.CodeConflict)
	_, err := h.db.App(ctx, "late")
	wantCode(t, err, fleet.CodeNotFound)
	wantCode(t, h.db.RememberAnswer(ctx, lost, record.Answer{Status: 201}), fleet.CodeConflict)
	h.must(h.db.ForgetKey(ctx, lost))
	h.must(h.create("late", next))
	if got := h.known("done", 1); !got.Acted || got.Answer != nil {
		t.Fatalf("%+v", got)
	}
}

// A key of a job is nobody's to claim.
func TestClaimKey_OfAJob(t *testing.T) {
	h := newHouse(t)
	e := h.batch(1)
	e.Inserts[0].IdempotencyKey, e.Inserts[0].RequestDigest = "key", [32]byte{1}
	h.commit(e)
	h.stopServer()
	if got := h.known("key", 1); got.Job != e.Inserts[0].Spec.ID || got.Acted {
		t.Fatalf("%+v", got)
	}
}

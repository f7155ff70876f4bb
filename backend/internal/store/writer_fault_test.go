package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
)

func TestCommitSessions(t *testing.T) {
	h := newHouse(t)
	open := func(epoch, slots int64) core.SessionWrite {
		return core.SessionWrite{Node: h.node.ID, Epoch: epoch, Report: &fleet.NodeReport{BootID: fmt.Sprint("boot-", epoch), Capacity: fleet.Vector{
			Slots: slots, Memory: []fleet.Quantity{{Name: "ram", Amount: 100}}}}}
	}
	h.commit(&core.Effects{Sessions: []core.SessionWrite{open(3, 8), open(2, 9)}})
	node, err := h.db.Node(ctx, h.node.ID)
	h.must(err)
	if node.Epoch != 3 || node.BootID != "boot-3" || node.Capacity.Slots != 8 || len(node.Capacity.Memory) != 1 {
		t.Fatalf("the newer of two sessions: %+v", node)
	}
	for _, s := range []core.SessionWrite{open(3, 1), open(2, 1), {Node: h.node.ID, Epoch: 2, Left: true}, {Node: "nobody", Epoch: 5, Report: &fleet.NodeReport{}}} {
		if got := h.try(&core.Effects{Sessions: []core.SessionWrite{s}}); !reflect.DeepEqual(got, []core.Refusal{{Node: s.Node, Why: core.RefusedStale}}) {
			t.Errorf("session %+v: refused %+v", s, got)
		}
	}
	// running work stays reserved when the node comes back smaller
	e := &core.Effects{}
	jobs := h.submit(e, 4)
	h.commit(e)
	h.commit(&core.Effects{Sessions: []core.SessionWrite{open(4, 1)}})
	end := &core.Effects{}
	h.finish(end, jobs[:3]...)
	h.commit(end)
	if total := storetest.Query[int64](t, h.urls, "SELECT total_slots FROM nodes WHERE id = $1", h.node.ID); total != 1 || h.reserved() != 1 {
		t.Fatalf("reserved %d of %d, want 1 of 1", h.reserved(), total)
	}
	h.commit(&core.Effects{Sessions: []core.SessionWrite{{Node: h.node.ID, Epoch: 4, Left: true}}})
	if got := h.try(&core.Effects{Sessions: []core.SessionWrite{open(5, 1)}}); len(got) != 1 {
		t.Fatal("a node that has left came back without registering")
	}
}

// After another server has the shard nothing of the old one is written.
func TestCommitFenced(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	jobs := h.submit(e, 1)
	shard, err := h.db.AcquireShard(ctx, "another")
	h.must(err)
	defer shard.Release(ctx)
	if _, err := h.w.Commit(ctx, e); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("got %v, want ErrFenced", err)
	}
	if _, err := h.db.Job(ctx, jobs[0].ID, record.Scope{}); err == nil {
		t.Fatal("the fenced writer wrote")
	}
	w := store.NewWriter(h.db, shard.Epoch(), storetest.Wall)
	if out, err := w.Commit(ctx, e); err != nil || len(out) > 0 {
		t.Fatalf("the new owner: %+v, %v", out, err)
	}
}

// A connection that dies before COMMIT means that nothing was written; the next
// commit connects anew.
func TestCommitConnectionDiesBefore(t *testing.T) {
	h := newHouse(t)
	h.commit(h.batch(1))
	h.killWriter()
	_, err := h.w.Commit(ctx, h.batch(1))
	wantCode(t, err, fleet.CodeUnavailable)
	if errors.Is(err, store.ErrUnknown) {
		t.Fatal("nothing was sent, and the outcome is called unknown")
	}
	h.commit(h.batch(1))
}

func (h *house) batch(n int) *core.Effects {
	e := &core.Effects{}
	h.submit(e, n)
	return e
}

func (h *house) killWriter() {
	h.urls.Exec(h.t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rockpool writer' AND datname = current_database()")
	h.waitFor("the writer's connection to end", func(conn *pgx.Conn) bool {
		var n int
		h.must(conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rockpool writer' AND datname = current_database()").Scan(&n))
		return n == 0
	})
}

// waitFor polls a condition of the database, for up to thirty seconds.
func (h *house) waitFor(what string, cond func(*pgx.Conn) bool) {
	h.t.Helper()
	conn, err := pgx.Connect(ctx, h.urls.Admin)
	h.must(err)
	defer conn.Close(ctx)
	for end := time.Now().Add(time.Minute); !cond(conn); {
		if time.Now().After(end) {
			h.t.Fatalf("waited in vain for %s", what)
		}
		_, err := conn.Exec(ctx, "SELECT pg_sleep(0.01)")
		h.must(err)
	}
}

// holdCommits makes commits that bring an idempotency key wait, in their COMMIT,
// until release is called: a deferred trigger waits for a lock that the test has.
func (h *house) holdCommits() (release func()) {
	h.t.Helper()
	h.urls.Exec(h.t, `CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN SET LOCAL lock_timeout = 0; PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$`)
	h.urls.Exec(h.t, `CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON idempotency DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION wait_at_commit()`)
	gate, err := pgx.Connect(ctx, h.urls.Admin)
	h.must(err)
	h.t.Cleanup(func() { gate.Close(ctx) })
	_, err = gate.Exec(ctx, "SELECT pg_advisory_lock(42)")
	h.must(err)
	return func() { gate.Close(ctx) }
}

// commitWaits reports a writer that waits in its COMMIT.
func (h *house) commitWaits(conn *pgx.Conn) bool {
	var n int
	h.must(conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rockpool writer'
		AND datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'`).Scan(&n))
	return n == 1
}

// What fails at the commit is not committed, and that is known.
func TestCommitFailsAtItsEnd(t *testing.T) {
	h := newHouse(t)
	h.urls.Exec(t, `CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END $$`)
	h.urls.Exec(t, `CREATE CONSTRAINT TRIGGER fail_at_commit AFTER INSERT ON idempotency DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION fail_at_commit()`)
	e := h.batch(1)
	e.Inserts[0].IdempotencyKey = "key"
	_, err := h.w.Commit(ctx, e)
	wantCode(t, err, fleet.CodeUnavailable)
	if errors.Is(err, store.ErrUnknown) {
		t.Errorf("the database said no, and the outcome is called unknown: %v", err)
	}
	if _, err := h.db.Job(ctx, e.Inserts[0].Spec.ID, record.Scope{}); err == nil {
		t.Error("it is committed")
	}
	h.commit(h.batch(1))
}

// A connection that dies during COMMIT leaves the outcome unknown.
func TestCommitOutcomeUnknown(t *testing.T) {
	h := newHouse(t)
	h.holdCommits()
	e := h.batch(1)
	e.Inserts[0].IdempotencyKey = "key"
	result := make(chan error, 1)
	go func() {
		_, err := h.w.Commit(ctx, e)
		result <- err
	}()
	h.waitFor("the commit to wait", h.commitWaits)
	h.killWriter()
	if err := <-result; !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("got %v, want ErrUnknown", err)
	}
}

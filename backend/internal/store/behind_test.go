package store_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store"
	"rockpool/shared/ids"
)

// committed is what a commit came to.
type committed struct {
	refused []core.Refusal
	err     error
}

func (h *house) begin(e *core.Effects) <-chan committed {
	commit := h.w.Begin(e)
	done := make(chan committed, 1)
	go func() {
		refused, err := commit(ctx)
		done <- committed{refused, err}
	}()
	return done
}

// behind begins first, waits until PostgreSQL waits in it, and sends second.
func (h *house) behind(first, second *core.Effects) (one, two <-chan committed) {
	h.t.Helper()
	one = h.begin(first)
	h.waitFor("the first batch to wait", h.writerWaits)
	two = h.begin(second)
	h.waitFor("the second batch to be sent", func(*pgx.Conn) bool { return h.w.UnderWay() == 2 })
	return one, two
}

// writerWaits reports a writer that waits for a lock.
func (h *house) writerWaits(conn *pgx.Conn) bool {
	var n int
	h.must(conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rockpool writer'
		AND datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n))
	return n == 1
}

// keyed is a batch of one job that waits where holdCommits makes commits wait.
func (h *house) keyed(key string) (*core.Effects, *fleet.JobSpec) {
	e := &core.Effects{}
	job := h.submit(e, 1)[0]
	e.Inserts[0].IdempotencyKey = key
	return e, job
}

func (h *house) ending(job *fleet.JobSpec) *core.Effects {
	e := &core.Effects{}
	h.finish(e, job)
	return e
}

// warm has the connection know the statements of keyed and end, without which a batch
// is not sent behind another.
func (h *house) warm() {
	h.t.Helper()
	e, job := h.keyed("warm")
	h.commit(e)
	h.commit(h.ending(job))
}

func (h *house) there(id ids.JobID) bool {
	_, err := h.db.Job(ctx, id, record.Scope{})
	return err == nil
}

// The second batch ends what the first begins: it is with PostgreSQL before that has
// committed the first, and takes effect after it.
func TestBegin_ABatchIsSentBehindOneThatIsStillUnderWay(t *testing.T) {
	h := newHouse(t)
	h.warm()
	release := h.holdCommits()
	first, job := h.keyed("key")
	one, two := h.behind(first, h.ending(job))
	if h.there(job.ID) {
		t.Fatal("committed too soon")
	}
	release()
	for _, done := range []<-chan committed{one, two} {
		if c := <-done; c.err != nil || len(c.refused) > 0 {
			t.Fatalf("came to %+v", c)
		}
	}
	if got := h.job(job.ID).State; got != fleet.JobSucceeded {
		t.Errorf("the job is %s", got)
	}
	if n := h.reserved(); n != 0 {
		t.Errorf("%d slots are reserved", n)
	}
}

// What the first is refused is left out of it, and what of the second builds on that is
// refused as well; all the rest takes effect.
func TestBegin_TheFirstIsRefusedSomethingAndTheSecondBuildsOnIt(t *testing.T) {
	h := newHouse(t)
	h.warm()
	before, old := h.keyed("before")
	h.commit(before)
	batches := func(key string) (first, second *core.Effects, job, other *fleet.JobSpec) {
		first, job = h.keyed(key)
		h.finish(first, old)
		second = h.ending(old)
		return first, second, job, h.submitQueued(second)
	}
	first, second, _, _ := batches("learned") // the connection knows the statements then
	first.Updates[0].FromAttempt, second.Updates[0].FromAttempt = 7, 8
	h.try(first)
	h.try(second)
	release := h.holdInserts()
	first, second, job, other := batches("key")
	first.Updates[0].FromAttempt, second.Updates[0].FromAttempt = 7, 8
	one, two := h.behind(first, second)
	release()
	for i, done := range []<-chan committed{one, two} {
		if c := <-done; c.err != nil || !reflect.DeepEqual(c.refused, []core.Refusal{{Job: old.ID, Why: core.RefusedStale}}) {
			t.Errorf("batch %d came to %+v", i+1, c)
		}
	}
	if !h.there(job.ID) || !h.there(other.ID) || h.job(old.ID).State != fleet.JobOffered {
		t.Errorf("there: %v and %v, and the job that was refused is %s", h.there(job.ID), h.there(other.ID), h.job(old.ID).State)
	}
}

// holdInserts makes statements that bring an idempotency key wait until release is called.
func (h *house) holdInserts() (release func()) {
	h.t.Helper()
	release = h.holdCommits()
	h.urls.Exec(h.t, "DROP TRIGGER wait_at_commit ON idempotency")
	h.urls.Exec(h.t, `CREATE TRIGGER wait_at_insert AFTER INSERT ON idempotency FOR EACH ROW EXECUTE FUNCTION wait_at_commit()`)
	return release
}

// A batch that fails in its commit takes with it what was sent behind it, and both know.
func TestBegin_TheFirstFailsAtItsEnd(t *testing.T) {
	h := newHouse(t)
	h.warm()
	release := h.holdCommits()
	h.urls.Exec(t, `CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END $$`)
	h.urls.Exec(t, `CREATE CONSTRAINT TRIGGER z_fail_at_commit AFTER INSERT ON idempotency DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION fail_at_commit()`)
	first, job := h.keyed("key")
	second := &core.Effects{}
	other := h.submit(second, 1)[0]
	one, two := h.behind(first, second)
	release()
	for _, done := range []<-chan committed{one, two} {
		c := <-done
		wantCode(t, c.err, fleet.CodeUnavailable)
		if errors.Is(c.err, store.ErrUnknown) {
			t.Errorf("the outcome is called unknown: %v", c.err)
		}
	}
	if h.there(job.ID) || h.there(other.ID) {
		t.Error("something was written")
	}
	h.commit(h.batch(1))
}

// A connection that dies while two are under way leaves both unknown; the second is not
// there without the first.
func TestBegin_TheConnectionDiesWithTwoUnderWay(t *testing.T) {
	h := newHouse(t)
	h.warm()
	h.holdCommits()
	first, job := h.keyed("key")
	second := &core.Effects{}
	other := h.submit(second, 1)[0]
	one, two := h.behind(first, second)
	h.killWriter()
	for _, done := range []<-chan committed{one, two} {
		if c := <-done; !errors.Is(c.err, store.ErrUnknown) {
			t.Errorf("came to %+v, want ErrUnknown", c)
		}
	}
	if h.there(other.ID) && !h.there(job.ID) {
		t.Error("the second is there without the first")
	}
	h.commit(h.batch(1))
}

// Once another server has the shard nothing that is under way takes effect any more.
func TestBegin_AnotherServerTakesTheShardWithTwoUnderWay(t *testing.T) {
	h := newHouse(t)
	h.warm()
	release := h.holdCommits()
	first, job := h.keyed("key")
	second := &core.Effects{}
	other := h.submit(second, 1)[0]
	one, two := h.behind(first, second)
	taken := make(chan *store.Shard, 1)
	go func() {
		shard, err := h.db.AcquireShard(ctx, "another")
		if err != nil {
			t.Error(err)
		}
		taken <- shard
	}()
	h.waitFor("the other server to wait", func(conn *pgx.Conn) bool {
		var n int
		h.must(conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name <> 'rockpool writer'
			AND datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n))
		return n == 1
	})
	release()
	shard := <-taken
	if shard == nil {
		return
	}
	defer shard.Release(ctx)
	thereThen := h.there(other.ID)
	if c := <-one; c.err != nil || !h.there(job.ID) {
		t.Errorf("what the other server waited for came to %+v", c)
	}
	switch c := <-two; {
	case errors.Is(c.err, store.ErrFenced) && !h.there(other.ID):
	case c.err == nil && thereThen:
	default:
		t.Errorf("the second came to %+v; there: %v, and when the other had the shard %v", c, h.there(other.ID), thereThen)
	}
	if _, err := h.w.Commit(ctx, h.batch(1)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("got %v, want ErrFenced", err)
	}
}

// Wherever the connection is cut: what was answered is there, what is known not to be is
// not, and no batch is there without the one before.
func TestBegin_TheConnectionIsCutAnywhere(t *testing.T) {
	h := newHouse(t)
	admin, err := pgx.Connect(ctx, h.urls.Admin)
	h.must(err)
	defer admin.Close(ctx)
	for range 12 {
		h.connected()
		first, second := &core.Effects{}, &core.Effects{}
		jobs := []ids.JobID{h.submitQueued(first).ID, h.submitQueued(second).ID}
		killed := make(chan error, 1)
		go func() {
			_, err := admin.Exec(ctx, `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
				WHERE application_name = 'rockpool writer' AND datname = current_database()`)
			killed <- err
		}()
		under := []<-chan committed{h.begin(first), h.begin(second)}
		came := []committed{<-under[0], <-under[1]}
		h.must(<-killed) // its backend has ended: what is not there now never will be
		for i, c := range came {
			there := h.there(jobs[i])
			if c.err == nil && !there || c.err != nil && !errors.Is(c.err, store.ErrUnknown) && there {
				t.Fatalf("batch %d came to %+v, and its job is there: %v", i+1, c, there)
			}
		}
		if h.there(jobs[1]) && !h.there(jobs[0]) {
			t.Fatal("the second is there without the first")
		}
	}
}

// connected has the writer connected, after its connection was killed.
func (h *house) connected() {
	h.t.Helper()
	h.waitFor("the writer to be connected", func(*pgx.Conn) bool {
		e := &core.Effects{}
		h.submitQueued(e)
		_, err := h.w.Commit(ctx, e)
		return err == nil
	})
}

// A load must not miss what a connection that is lost on this side may still commit.
func TestLoadSnapshot_EndsWhatIsLeftOfALostConnection(t *testing.T) {
	h := newHouse(t)
	h.warm()
	release := h.holdCommits()
	first, job := h.keyed("key")
	second := &core.Effects{}
	other := h.submitQueued(second)
	one, two := h.behind(first, second)
	h.w.CutOff()
	for _, done := range []<-chan committed{one, two} {
		if c := <-done; !errors.Is(c.err, store.ErrUnknown) {
			t.Fatalf("came to %+v, want ErrUnknown", c)
		}
	}
	snapshot, err := h.db.LoadSnapshot(ctx)
	h.must(err)
	release()
	h.commit(h.batch(1))
	if h.there(job.ID) || h.there(other.ID) || len(snapshot.Jobs) > 0 {
		t.Errorf("after the load there were %d jobs, and then: %v %v", len(snapshot.Jobs), h.there(job.ID), h.there(other.ID))
	}
}

// A batch that goes step by step and fails takes with it what began behind it, although
// nothing of that was sent before.
func TestBegin_TheFirstFailsStepByStep(t *testing.T) {
	h := newHouse(t)
	h.warm()
	h.urls.Exec(t, `CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN SET LOCAL lock_timeout = 0; PERFORM pg_advisory_xact_lock(42); RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END $$`)
	h.urls.Exec(t, `CREATE CONSTRAINT TRIGGER fail_at_commit AFTER INSERT ON placements DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION fail_at_commit()`)
	gate, err := pgx.Connect(ctx, h.urls.Admin)
	h.must(err)
	defer gate.Close(ctx)
	_, err = gate.Exec(ctx, "SELECT pg_advisory_lock(42)")
	h.must(err)
	first, second := &core.Effects{}, &core.Effects{}
	h.place(first, "key")
	other := h.submit(second, 1)[0]
	one := h.begin(first)
	h.waitFor("the first batch to wait", h.writerWaits)
	two := h.begin(second)
	h.must(gate.Close(ctx))
	if c := <-one; c.err == nil {
		t.Fatalf("the first came to %+v", c)
	}
	if c := <-two; c.err == nil || h.there(other.ID) {
		t.Errorf("the second came to %+v; there: %v", c, h.there(other.ID))
	}
	h.commit(h.batch(1))
}

// halfSent leaves a backend that waits for the rest of a batch, as that of a machine that
// is gone, or of a connection of which PostgreSQL does not know that it was lost.
func (h *house) halfSent() {
	h.t.Helper()
	conn, err := pgx.Connect(ctx, h.urls.Server+" application_name='rockpool writer'")
	h.must(err)
	h.t.Cleanup(func() { conn.Close(ctx) })
	line := conn.PgConn().Frontend()
	line.Send(&pgproto3.Parse{Query: "SELECT FROM shards, nodes FOR UPDATE"})
	line.Send(&pgproto3.Bind{})
	line.Send(&pgproto3.Execute{})
	line.Send(&pgproto3.Flush{})
	h.must(line.Flush())
	for {
		message, err := line.Receive()
		h.must(err)
		if _, done := message.(*pgproto3.CommandComplete); done {
			return
		}
	}
}

func TestAcquireShard_OfAMachineThatIsGoneInTheMidstOfABatch(t *testing.T) {
	h := newHouse(t)
	h.halfSent()
	shard, err := h.db.AcquireShardAfter(ctx, "another", 100*time.Millisecond)
	h.must(err)
	h.must(shard.Release(ctx))
}

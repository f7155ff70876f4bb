package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
)

func TestShardHasOneHolder(t *testing.T) {
	urls := storetest.NewURLs(t)
	db := storetest.Open(t, urls.Server)
	first, err := db.AcquireShard(ctx, "host-a")
	if err != nil || first.Epoch() != 1 {
		t.Fatalf("first: %+v, %v", first, err)
	}
	_, err = db.AcquireShard(ctx, "host-b")
	var held *store.HeldError
	if !errors.As(err, &held) || held.Holder != "host-a" {
		t.Fatalf("second: %v, want held by host-a", err)
	}
	if err := first.Release(ctx); err != nil {
		t.Fatal(err)
	}
	second, err := db.AcquireShard(ctx, "host-b")
	if err != nil || second.Epoch() != 2 {
		t.Fatalf("after the release: %+v, %v", second, err)
	}
	second.Release(ctx)
}

const shardSessions = `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rockpool shard'
	AND datname = current_database() AND state = 'idle' AND query LIKE '%shards SET expires_at%'`

// runShard takes the shard and renews it until the test stops it.
func runShard(h *house) (*store.Shard, <-chan error) {
	shard, err := h.db.AcquireShard(ctx, "host-a")
	h.must(err)
	run := make(chan error, 1)
	stop, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { run <- shard.Run(stop); close(ended) }()
	h.t.Cleanup(func() { cancel(); <-ended; shard.Release(ctx) })
	h.waitFor("the lease's first renewal", func(conn *pgx.Conn) bool { return count(h, conn, shardSessions) == 1 })
	return shard, run
}

func count(h *house, conn *pgx.Conn, sql string) (n int) {
	h.must(conn.QueryRow(ctx, sql).Scan(&n))
	return n
}

func (h *house) cutShard() {
	h.urls.Exec(h.t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rockpool shard' AND datname = current_database()")
}

// The database was away and is back: the holder goes on under its own epoch.
func TestShardOutlivesItsConnection(t *testing.T) {
	h := newHouse(t)
	shard, run := runShard(h)
	for range 3 {
		h.urls.Exec(t, "UPDATE shards SET expires_at = now() + interval '1 hour'")
		h.cutShard()
		h.waitFor("a renewal over a new connection, with the lock", func(conn *pgx.Conn) bool {
			return count(h, conn, "SELECT count(*) FROM shards WHERE expires_at < now() + interval '1 minute'") == 1 &&
				count(h, conn, "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory'"+
					" AND l.granted AND a.application_name = 'rockpool shard' AND a.datname = current_database()") == 1
		})
	}
	select {
	case err := <-run:
		t.Fatalf("the holder's run ended: %v", err)
	default:
	}
	var held *store.HeldError
	if _, err := h.db.AcquireShard(ctx, "host-b"); !errors.As(err, &held) || held.Holder != "host-a" {
		t.Errorf("another server got %v, want that host-a holds it", err)
	}
	if stored := storetest.Query[int64](t, h.urls, "SELECT epoch FROM shards"); shard.Epoch() != stored {
		t.Errorf("the shard has epoch %d, the holder believes %d", stored, shard.Epoch())
	}
}

// Another server that was faster has the shard.
func TestShardIsLostToAFasterServer(t *testing.T) {
	h := newHouse(t)
	_, run := runShard(h)
	h.urls.Exec(t, "UPDATE shards SET epoch = epoch + 1, holder = 'host-b'")
	h.cutShard()
	select {
	case err := <-run:
		if !errors.Is(err, store.ErrShardLost) {
			t.Fatalf("run ended with %v, want ErrShardLost", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the former holder goes on")
	}
}

// A holder that hangs with its connection up loses the shard when its lease ends.
func TestShardOfAHangingHolder(t *testing.T) {
	urls := storetest.NewURLs(t)
	db := storetest.Open(t, urls.Server)
	hanging, err := db.AcquireShard(ctx, "host-a")
	if err != nil {
		t.Fatal(err)
	}
	urls.Exec(t, "UPDATE shards SET expires_at = now() - interval '1 second'")
	next, err := db.AcquireShard(ctx, "host-b")
	if err != nil || next.Epoch() != 2 {
		t.Fatalf("after the lease ended: %+v, %v", next, err)
	}
	if err := hanging.Run(ctx); !errors.Is(err, store.ErrShardLost) {
		t.Fatalf("the former holder's run: %v, want ErrShardLost", err)
	}
	hanging.Release(ctx)
	stop, cancel := context.WithCancel(ctx)
	cancel()
	if err := next.Run(stop); err != nil {
		t.Fatalf("run that was told to stop: %v", err)
	}
	next.Release(ctx)
}

// A takeover waits for the commit under way, which then is whole; a renewal of
// the lease waits for none.
func TestTakeoverWaitsForCommit(t *testing.T) {
	h := newHouse(t)
	release := h.holdCommits()
	e := h.batch(1)
	e.Inserts[0].IdempotencyKey = "key"
	committed := make(chan error, 1)
	go func() {
		out, err := h.w.Commit(ctx, e)
		if err == nil && len(out) > 0 {
			err = fmt.Errorf("refused %+v", out)
		}
		committed <- err
	}()
	h.waitFor("the commit to wait", h.commitWaits)
	h.urls.Exec(t, "SET lock_timeout = '5s'; UPDATE shards SET expires_at = now() + interval '1 second'") // a renewal passes
	taken := make(chan error, 1)
	go func() {
		shard, err := h.db.AcquireShard(ctx, "host-b")
		if err == nil {
			err = shard.Release(ctx)
		}
		taken <- err
	}()
	h.waitFor("the takeover to wait", func(conn *pgx.Conn) bool {
		var n int
		h.must(conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rockpool shard'
			AND datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n))
		return n == 1
	})
	release()
	h.must(<-committed)
	h.must(<-taken)
	if _, err := h.w.Commit(ctx, h.batch(1)); !errors.Is(err, store.ErrFenced) {
		t.Fatalf("the former writer: %v, want ErrFenced", err)
	}
}

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

// When the holder's connection dies it knows at once, and another takes over
// without waiting for the lease to end.
func TestShardLostWithItsConnection(t *testing.T) {
	h := newHouse(t)
	shard, err := h.db.AcquireShard(ctx, "host-a")
	h.must(err)
	run := make(chan error, 1)
	go func() { run <- shard.Run(ctx) }()
	h.waitFor("the lease's first renewal", func(conn *pgx.Conn) bool {
		var n int
		h.must(conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rockpool shard'
			AND datname = current_database() AND state = 'idle' AND query LIKE 'UPDATE shards SET expires_at%'`).Scan(&n))
		return n == 1
	})
	h.urls.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rockpool shard' AND datname = current_database()")
	select {
	case err := <-run:
		if !errors.Is(err, store.ErrShardLost) {
			t.Fatalf("run ended with %v, want ErrShardLost", err)
		}
	case <-time.After(3 * time.Second):
		t.Fatal("the holder did not notice within 3 s")
	}
	shard.Release(ctx)
	h.waitFor("the dead connection's lock to go", func(conn *pgx.Conn) bool {
		var n int
		h.must(conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rockpool shard' AND datname = current_database()").Scan(&n))
		return n == 0
	})
	next, err := h.db.AcquireShard(ctx, "host-b")
	h.must(err)
	next.Release(ctx)
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
		if err == nil && len(out.Refused) > 0 {
			err = fmt.Errorf("refused %+v", out.Refused)
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

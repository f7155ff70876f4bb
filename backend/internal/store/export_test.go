package store

import (
	"context"
	"time"
)

// UnderWay is how many batches were sent and have no answer yet.
func (w *Writer) UnderWay() int64 {
	w.order.mu.Lock()
	defer w.order.mu.Unlock()
	return w.order.sent - w.order.answered
}

// CutOff ends the writer's connection on this side only.
func (w *Writer) CutOff() { w.line.cut() }

// AcquireShardAfter is AcquireShard that waits so long for commits of the holder before.
func (db *DB) AcquireShardAfter(ctx context.Context, holder string, aside time.Duration) (*Shard, error) {
	return db.acquireShard(ctx, &Shard{db: db, holder: holder, renew: leaseRenew, aside: aside})
}

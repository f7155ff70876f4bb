package view

import (
	"context"
	"slices"
	"time"

	"rockpool/backend/internal/core"
)

// The history of pools: a point each historyEvery, as far back as historyPoints
// reach; a
// sparkline shows the last sparkPoints of them. It lives in memory alone.
const (
	historyEvery  = time.Minute
	historyPoints = 360 // 6 h
	sparkPoints   = 60  // 1 h
)

// PoolPoint is what a pool's slots were at one moment: used, free on nodes that
// get no new work, and all of them, with how many jobs waited and nodes drained.
type PoolPoint struct {
	At       time.Time
	Used     int64
	OutOfUse int64
	Total    int64
	Queued   int64
	Draining int64 // nodes
}

// history are the points of each pool, by its id, the oldest first.
type history map[string][]PoolPoint

// sample adds a point to each pool's history; that of pools that are no more goes.
func (h history) sample(pools []core.PoolView, now time.Time) {
	there := make(map[string]bool, len(pools))
	for i := range pools {
		id := pools[i].Pool.ID
		there[id] = true
		line := h[id]
		if len(line) == historyPoints {
			line = append(line[:0], line[1:]...)
		}
		h[id] = append(line, pointOf(&pools[i], now))
	}
	for id := range h {
		if !there[id] {
			delete(h, id)
		}
	}
}

func pointOf(p *core.PoolView, now time.Time) PoolPoint {
	return PoolPoint{
		At: now, Used: p.SlotsTotal - p.SlotsFree - p.OutOfUse, OutOfUse: p.OutOfUse, Total: p.SlotsTotal,
		Queued: p.Queued, Draining: int64(p.ReadyHeld.Draining),
	}
}

// spark is how many jobs waited for the pool; the last point is that of now.
func (h history) spark(pool *core.PoolView) []int64 {
	line := h[pool.Pool.ID]
	line = line[max(0, len(line)-sparkPoints+1):]
	values := make([]int64, 0, len(line)+1)
	for i := range line {
		values = append(values, line[i].Queued)
	}
	return append(values, pool.Queued)
}

// PoolHistory is how a pool was, a point a minute and at most six hours of them, the
// oldest first; the last is that of now. It begins with the process, or with the
// pool; of a pool that there is not it is empty.
func (v *View) PoolHistory(ctx context.Context, pool string) []PoolPoint {
	v.refresh(ctx, true)
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.state.pool(pool)
	if p == nil {
		return nil
	}
	return append(slices.Clone(v.state.history[pool]), pointOf(p, v.cfg.Now()))
}

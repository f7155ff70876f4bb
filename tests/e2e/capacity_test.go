package e2e

import (
	"context"
	"strings"
	"sync"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// watchReserved asks the database all the time how much the node holds, and gives
// the most that it ever saw.
func watchReserved(t *testing.T, s *rig.Server, node string) (most func() (slots, looks int64)) {
	t.Helper()
	db := connect(t, s.DatabaseURL())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	var peak, asked int64
	go func() {
		defer close(done)
		defer db.Close(context.Background())
		for ctx.Err() == nil {
			var now int64
			if err := db.QueryRow(ctx, `SELECT reserved_slots FROM nodes WHERE id = $1`, node).Scan(&now); err == nil {
				peak, asked = max(peak, now), asked+1
			}
		}
	}()
	return func() (int64, int64) {
		stop()
		<-done
		return peak, asked
	}
}

// One server's half of the case: 64 submits at the same time share one node of
// eight slots, and at no instant are more than eight of them reserved.
func TestCase_C1_ParallelSubmitsNeverOverfillANode(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{Slots: 8})
	most := watchReserved(t, u.s, n.Name)
	jobs := make([]backendtest.Job, 64)
	var posts sync.WaitGroup
	for i := range jobs {
		posts.Go(func() {
			job, err := u.client.SubmitJob(t.Context(), backendtest.JobRequest{App: u.app, Runner: "noop"}, "")
			if err != nil {
				t.Errorf("submit: %v", err)
			}
			jobs[i] = job
		})
	}
	taken := make([]wire.Offer, 0, len(jobs)) // at once, before their time is over
	for range 8 {
		taken = append(taken, n.Accept(t))
	}
	posts.Wait()
	states := map[string]int{}
	for _, job := range jobs {
		states[job.State]++
	}
	if states["offered"]+states["running"] != 8 || states["queued"] != 56 {
		t.Errorf("the answers are %v, want 8 with a node and 56 queued", states)
	}
	for i := range jobs {
		n.Begin(t, taken[i])
		n.Report(t, rig.Succeed(taken[i]))
		if len(taken) < len(jobs) { // each end lets the next one in
			taken = append(taken, n.Accept(t))
		}
	}
	for _, job := range jobs {
		u.await(job.ID, "succeeded")
	}
	if peak, looks := most(); peak != 8 || looks < 10 {
		t.Errorf("at most %d slots were reserved in %d looks, want 8", peak, looks)
	}
	if memory, sql := u.reserved(n.Name); memory != 0 || sql != 0 {
		t.Errorf("%d slots stay reserved in memory, %d in SQL", memory, sql)
	}
	db := connect(t, u.s.DatabaseURL())
	defer db.Close(context.Background())
	_, err := db.Exec(t.Context(), `UPDATE nodes SET reserved_slots = 9 WHERE id = $1`, n.Name)
	if err == nil || !strings.Contains(err.Error(), "nodes_capacity") {
		t.Errorf("the database takes nine of eight: %v", err)
	}
}

package e2e

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// TestEachMoveIsWhatTheNextDecisionUses moves four nodes, a thousand times in all,
// each between the pools of two users, while others are busy: work of the pool that it
// is in runs, work of the other pool does not, each time and at once.
func TestEachMoveIsWhatTheNextDecisionUses(t *testing.T) {
	t.Parallel()
	s := server(t)
	busy := newTenant(t, s)
	busy.node("busy", rig.RawOptions{Slots: 64, Answer: rig.Diligent})
	stop := make(chan struct{})
	loaded := make(chan error, 1)
	go func() { loaded <- busy.loadUntil(stop) }()
	var moving sync.WaitGroup
	for range 4 {
		here, there := newTenant(t, s), newTenant(t, s)
		node := here.node("moves", rig.RawOptions{Slots: 64, Answer: rig.Diligent})
		// Both users have a node of their own all the time: nothing falls back to default.
		here.node("other", rig.RawOptions{Runners: []string{"other"}})
		there.node("other", rig.RawOptions{Runners: []string{"other"}})
		moving.Go(func() {
			for n := range 250 {
				in, out := there, here
				if n%2 == 1 {
					in, out = here, there
				}
				if err := moveIsUsed(node.Name, in, out); err != nil {
					t.Errorf("move %d of %s: %v", n+1, node.Name, err)
					return
				}
			}
		})
	}
	moving.Wait()
	close(stop)
	if err := <-loaded; err != nil {
		t.Error(err)
	}
}

// moveIsUsed moves a node, the only one for its work, from one user's pool to
// another's, and asks both.
func moveIsUsed(node string, in, out *tenant) error {
	ctx := in.t.Context()
	if _, err := in.s.Admin.MoveNode(ctx, node, backendtest.MoveRequest{Pool: in.pool(), Reason: "test"}, 0); err != nil {
		return err
	}
	job, err := in.client.SubmitJob(ctx, backendtest.JobRequest{App: in.app, Runner: "noop", WhenExhausted: "fail"}, "")
	if err != nil || job.Node != node || job.Pool != in.pool() {
		return fmt.Errorf("the next decision of its new pool is %s, %v", inWords(job), err)
	}
	job, err = out.client.SubmitJob(ctx, backendtest.JobRequest{App: out.app, Runner: "noop", WhenExhausted: "fail"}, "")
	if err != nil || job.Node != "" || text(job.Reason) != "pool_exhausted" {
		return fmt.Errorf("the next decision of its old pool is %s, %v", inWords(job), err)
	}
	return nil
}

// TestIsolationHoldsUnderMoves submits 10,000 jobs while nodes move at random, and
// has the server read the whole history again; then it forges one row.
func TestIsolationHoldsUnderMoves(t *testing.T) {
	s := rig.NewServer(t, settings...)
	const users, batches, size = 4, 10, 1000
	var all []*tenant
	var nodes []*rig.RawNode
	for range users {
		u := newTenant(t, s)
		all = append(all, u)
		for n := range 2 {
			nodes = append(nodes, u.node(fmt.Sprint(n), rig.RawOptions{Slots: 64, Answer: rig.Diligent}))
		}
	}
	stop := make(chan struct{})
	var moving, submitting sync.WaitGroup
	moves, moved := 0, error(nil)
	moving.Go(func() { moves, moved = moveAtRandom(all, nodes, stop) })
	for _, u := range all {
		submitting.Go(func() {
			for range batches {
				jobs := make([]backendtest.JobRequest, size/users)
				for i := range jobs {
					jobs[i] = backendtest.JobRequest{App: u.app, Runner: "noop"}
				}
				if _, err := u.client.SubmitJobs(t.Context(), jobs, ""); err != nil {
					t.Errorf("submit: %v", err)
				}
			}
		})
	}
	submitting.Wait()
	close(stop)
	moving.Wait()
	if moved != nil {
		t.Fatal(moved)
	}
	for i, u := range all { // every pool has a node again: all work ends
		u.move(nodes[2*i].Name, u.pool())
	}
	rig.Await(t, 4*patience, func() (bool, string) {
		open := query[int](t, s, `SELECT count(*) FROM jobs WHERE state <> 'succeeded'`)
		return open == 0, fmt.Sprintf("%d jobs have not succeeded", open)
	})
	found, err := s.Admin.Isolation(t.Context(), "")
	if err != nil || !found.Holds || found.Found != 0 || found.Jobs != batches*size || found.Attempts < batches*size {
		t.Errorf("after %d moves: %+v, %v", moves, found, err)
	}
	if moves < 20 {
		t.Errorf("only %d moves: the test shows nothing", moves)
	}
	t.Logf("%d jobs, %d attempts, %d moves", found.Jobs, found.Attempts, moves)

	forged := query[string](t, s, `SELECT id::text FROM jobs WHERE app_id = $1 ORDER BY id LIMIT 1`, all[0].app)
	execute(t, s, fmt.Sprintf(`UPDATE jobs SET pool_id = '%s' WHERE id = '%s'`, all[1].pool(), forged))
	found, err = s.Admin.Isolation(t.Context(), "1d")
	if err != nil || found.Holds || found.Found == 0 || len(found.Crossings) == 0 || found.Crossings[0].Job != forged {
		t.Errorf("with a forged row: %+v, %v", found, err)
	}
}

// moveAtRandom moves nodes between the users' pools and out of all scheduling.
func moveAtRandom(users []*tenant, nodes []*rig.RawNode, stop <-chan struct{}) (moves int, err error) {
	random := rand.New(rand.NewPCG(1, 2))
	for {
		select {
		case <-stop:
			return moves, nil
		default:
		}
		pool := "unassigned"
		if n := random.IntN(len(users) + 1); n < len(users) {
			pool = users[n].pool()
		}
		node := nodes[random.IntN(len(nodes))].Name
		if _, err := users[0].s.Admin.MoveNode(users[0].t.Context(), node, backendtest.MoveRequest{Pool: pool}, 0); err != nil {
			return moves, fmt.Errorf("move %s to %s: %w", node, pool, err)
		}
		moves++
	}
}

// loadUntil submits jobs one after the other.
func (u *tenant) loadUntil(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if _, err := u.client.SubmitJob(u.t.Context(), backendtest.JobRequest{App: u.app, Runner: "noop"}, ""); err != nil {
			return fmt.Errorf("submit under load: %w", err)
		}
	}
}

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// storm is operators who do everything at once to a few nodes and pools.
type storm struct {
	t     *testing.T
	s     *rig.Server
	u     *tenant
	nodes []string
	pools []string // come and go
}

// strike does one thing at random. Whoever comes too late is refused, in words.
func (s *storm) strike(ctx context.Context, random *rand.Rand) error {
	admin, node, pool := s.s.Admin, s.nodes[random.IntN(len(s.nodes))], s.pools[random.IntN(len(s.pools))]
	var err error
	switch random.IntN(12) {
	case 0, 1:
		_, err = admin.MoveNode(ctx, node, backendtest.MoveRequest{Pool: []string{s.u.pool(), "unassigned", pool}[random.IntN(3)]}, 0)
	case 2:
		deadline := backendtest.Duration(time.Duration(random.IntN(300)) * time.Millisecond)
		_, err = admin.DrainNode(ctx, node, backendtest.DrainRequest{Deadline: &deadline}, 0, false)
	case 3:
		_, err = admin.CordonNode(ctx, node, "storm", 0)
	case 4, 5:
		_, err = admin.UncordonNode(ctx, node, "storm", 0)
	case 6, 7:
		_, err = admin.CreatePool(ctx, backendtest.PoolRequest{ID: pool})
	case 8:
		state := []string{"active", "draining", "disabled"}[random.IntN(3)]
		_, err = admin.ChangePool(ctx, pool, backendtest.PoolChange{State: &state}, 0, false)
	case 9:
		err = admin.DeletePool(ctx, pool, "", 0)
	case 10:
		binding := backendtest.BindingRequest{Binding: backendtest.Binding{Pools: []string{}}}
		if random.IntN(2) == 0 {
			binding.Pools = []string{pool, s.u.pool()}
		}
		_, err = admin.PutBinding(ctx, s.u.app, binding, 0)
	default:
		_, err = admin.SubmitJob(ctx, backendtest.JobRequest{App: s.u.app, Runner: "brief", Pool: pool}, "")
	}
	return err
}

// rage strikes with four operators until told, and fails on any answer but a yes or
// a refusal; while the server is away, there is none.
func (s *storm) rage(stop context.Context, away bool) (struck int) {
	var operators sync.WaitGroup
	var mu sync.Mutex
	for i := range 4 {
		random := rand.New(rand.NewPCG(uint64(i), 7))
		operators.Go(func() {
			for stop.Err() == nil {
				err := s.strike(stop, random)
				var p *backendtest.Problem
				refused := errors.As(err, &p) && p.Status/100 == 4
				if err != nil && !refused && !away && stop.Err() == nil {
					s.t.Errorf("the storm was answered with %v", err)
				}
				mu.Lock()
				struck++
				mu.Unlock()
			}
		})
	}
	operators.Wait()
	return struck
}

// calm gives every node back to its owner without holds, and lets all work end but
// canary jobs, whose pools may be gone: those are canceled.
func (s *storm) calm() {
	ctx := s.t.Context()
	for _, node := range s.nodes {
		s.u.move(node, s.u.pool())
		if _, err := s.s.Admin.UncordonNode(ctx, node, "", 0); err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.s.Admin.LiftHold(ctx, node, "auto", "", 0); err != nil && !strings.Contains(err.Error(), "no hold of kind auto") {
			s.t.Fatal(err)
		}
	}
	if _, err := s.s.Admin.PutBinding(ctx, s.u.app, backendtest.BindingRequest{Binding: backendtest.Binding{Pools: []string{}}}, 0); err != nil {
		s.t.Fatal(err)
	}
	rig.Await(s.t, 2*patience, func() (bool, string) {
		for _, id := range query[[]string](s.t, s.s, `SELECT coalesce(array_agg(id::text), '{}') FROM jobs
			WHERE state = 'queued' AND coalesce(spec::json ->> 'pool', '') <> ''`) {
			if _, err := s.s.Admin.CancelJob(ctx, id, nil); err != nil {
				s.t.Fatal(err)
			}
		}
		open := query[string](s.t, s.s, `SELECT coalesce(string_agg(concat_ws(' ', id, state, cause, node_id), '; '), '') FROM jobs WHERE ended_at IS NULL`)
		return open == "", "open: " + open
	})
}

// check reads the truth: nothing is reserved, nothing crossed, and memory has the
// pools that the database has, each in its state.
func (s *storm) check() {
	s.t.Helper()
	for _, node := range s.nodes {
		if memory, sql := s.u.reserved(node); memory != 0 || sql != 0 {
			s.t.Errorf("of %s stay reserved: %d slots in memory, %d in SQL", node, memory, sql)
		}
	}
	found, err := s.s.Admin.Isolation(s.t.Context(), "")
	if err != nil || !found.Holds {
		s.t.Errorf("isolation: %+v, %v", found, err)
	}
	pools, err := s.s.Admin.Pools(s.t.Context(), backendtest.Page{Limit: 500})
	if err != nil {
		s.t.Fatal(err)
	}
	var memory []string
	for _, p := range pools.Items {
		memory = append(memory, fmt.Sprint(p.ID, " ", p.State))
	}
	slices.Sort(memory)
	stored := query[[]string](s.t, s.s, `SELECT array_agg(id || ' ' || state ORDER BY id COLLATE "C", state) FROM pools`)
	slices.Sort(stored)
	if !slices.Equal(memory, stored) {
		s.t.Errorf("memory has the pools %q, the database %q", memory, stored)
	}
}

// TestEverythingAtOnce moves, drains, cordons and releases a few nodes that run
// work, while pools come and go under them and the server is killed in the middle.
func TestEverythingAtOnce(t *testing.T) {
	server := rig.NewServer(t, enduring...)
	u := newTenant(t, server)
	s := &storm{t: t, s: server, u: u, pools: []string{"storm-1", "storm-2"}}
	brief := "[[runner]]\nname = \"brief\"\nargv = [\"/bin/sh\", \"-c\", \"sleep 0.1\"]\n"
	for i := range 3 {
		a := rig.NewAgent(t, server, rig.AgentOptions{Name: fmt.Sprint("storm-", i), License: u.license.LicenseCode, Slots: 3, More: brief})
		s.nodes = append(s.nodes, a.Name)
		a.AwaitLease(t, server, "ready")
	}
	for round, length := range []time.Duration{4 * time.Second, 2 * time.Second, 4 * time.Second} {
		stop, end := context.WithTimeout(t.Context(), length)
		var load sync.WaitGroup
		load.Go(func() {
			for stop.Err() == nil {
				if _, err := u.client.SubmitJob(stop, backendtest.JobRequest{App: u.app, Runner: "brief"}, ""); err != nil && round != 1 && stop.Err() == nil {
					t.Errorf("submit: %v", err)
				}
			}
		})
		if round == 1 {
			load.Go(func() {
				<-time.After(length / 4)
				server.Kill(t)
			})
		}
		t.Logf("round %d: %d strikes", round, s.rage(stop, round == 1))
		load.Wait()
		end()
		if round == 1 {
			server.Start(t)
		}
	}
	s.calm()
	s.check()
}

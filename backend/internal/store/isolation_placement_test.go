package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

// estate is a house with a placement in the owner's pool and one of two nodes, of
// somebody without nodes, that fell back to default: both rightly.
type estate struct {
	*house
	shared [2]storetest.Node // in default
	placed map[string]*fleet.PlacementSpec
}

func newEstate(t *testing.T) *estate {
	h := newHouse(t)
	canary(t, h.db, "canary-1")
	e := &estate{house: h, placed: map[string]*fleet.PlacementSpec{}}
	for i := range e.shared {
		e.shared[i] = storetest.InsertNode(t, h.db, h.user.ID, storetest.InPool(fleet.PoolDefault))
	}
	out := &core.Effects{}
	e.placed["owner"] = h.place(out, "a")
	guest := storetest.InsertUser(t, h.db)
	own, app := h.node, h.app
	h.node, h.app = e.shared[0], storetest.InsertApp(t, h.db, guest.ID) // what place takes
	e.placed["fallback"] = h.place(out, "b", e.shared[1])
	h.node, h.app = own, app
	from := fleet.OwnerPool(guest.ID)
	row := &out.Placements[1].Row
	row.Fallback = true
	row.Decision = &fleet.Decision{
		Outcome: fleet.OutcomePlaced, At: now(), Rule: fleet.RuleOwnerPool, Node: row.Nodes[0].Node, Fallback: true, FallbackOK: true,
		Pools: []fleet.Tally{{Pool: from}, {Pool: fleet.PoolDefault, Nodes: 2, Candidates: 2}},
	}
	out.Fallbacks = append(out.Fallbacks, core.FallbackRecord{
		Job: e.placed["fallback"].ID, App: e.placed["fallback"].App, Role: "worker", From: []string{from}, Node: row.Nodes[0].Node, At: now(),
	})
	h.commit(out)
	h.urls.Exec(t, "UPDATE placements SET created_at = created_at + interval '10 s'") // the nodes' moves are out of the tolerance
	return e
}

func TestAuditIsolation_OfPlacements(t *testing.T) {
	e := newEstate(t)
	got, err := e.db.AuditIsolation(ctx, nil)
	e.must(err)
	if got.Found != 0 || got.Placements != 2 || got.Attempts != 0 || got.Fallbacks != 1 || got.From == nil {
		t.Fatalf("%+v", got)
	}
	later := time.Now().Add(time.Minute)
	if got, err = e.db.AuditIsolation(ctx, &later); err != nil || got.Placements != 0 {
		t.Fatalf("since then: %+v, %v", got, err)
	}
}

// Whatever row is forged, the audit names its placement.
func TestAuditIsolation_NamesForgedPlacements(t *testing.T) {
	e := newEstate(t)
	tables := []string{"placements", "placement_nodes", "pool_fallbacks"}
	for _, table := range tables {
		e.urls.Exec(t, "CREATE TABLE true_"+table+" AS TABLE "+table)
	}
	for name, c := range map[string]struct{ placement, forge, says string }{
		"pool":             {"owner", "UPDATE placement_nodes SET pool_id = 'canary-1' WHERE placement_id = $1", "its decision chose the pool pool-"},
		"node":             {"owner", "UPDATE placement_nodes SET node_id = 'elsewhere' WHERE placement_id = $1", "its decision chose the node node-"},
		"second node":      {"fallback", "UPDATE placement_nodes SET node_id = 'elsewhere' WHERE placement_id = $1 AND place = 1", "was not registered then"},
		"second pool":      {"fallback", "UPDATE placement_nodes SET pool_id = 'canary-1' WHERE placement_id = $1 AND place = 1", "leads to default alone"},
		"nodes deleted":    {"owner", "DELETE FROM placement_nodes WHERE placement_id = $1", "taken away"},
		"fallback dropped": {"fallback", "UPDATE placements SET fallback = false WHERE id = $1", "does not say so"},
		"fallback claimed": {"owner", "UPDATE placements SET fallback = true WHERE id = $1", "without a record"},
		"record deleted":   {"fallback", "DELETE FROM pool_fallbacks WHERE job_id = $1", "without a record"},
		"record's node":    {"fallback", "UPDATE pool_fallbacks SET node_id = 'elsewhere' WHERE job_id = $1", "names the node elsewhere"},
		"owner":            {"owner", "UPDATE placements SET owner_id = 0 WHERE id = $1", "resolved by no_owner"},
		"pool and decision": {"owner", `WITH placed AS (UPDATE placement_nodes SET pool_id = 'canary-1' WHERE placement_id = $1)
			UPDATE placements SET decision = regexp_replace(decision, '"pool":"pool-[0-9]*', '"pool":"canary-1') WHERE id = $1`, "it tried canary-1 by owner_pool"},
		"decision disallows": {"fallback", `UPDATE placements SET decision = replace(decision, '"fallbackAllowed":true', '"fallbackAllowed":false') WHERE id = $1`,
			"did not allow"},
	} {
		t.Run(name, func(t *testing.T) {
			e.urls.Exec(t, "TRUNCATE placements, placement_nodes, pool_fallbacks")
			for _, table := range tables {
				e.urls.Exec(t, "INSERT INTO "+table+" SELECT * FROM true_"+table)
			}
			id := e.placed[c.placement].ID
			e.urls.Exec(t, strings.ReplaceAll(c.forge, "$1", "'"+id.String()+"'"))
			got, err := e.db.AuditIsolation(ctx, nil)
			e.must(err)
			if got.Found == 0 {
				t.Fatal("nothing was found")
			}
			for _, x := range got.Crossings {
				if x.Job != id || !x.Placement || !strings.Contains(x.Detail, c.says) {
					t.Errorf("says %q of %s, want %q of %s", x.Detail, x.Job, c.says, id)
				}
			}
		})
	}
}

func TestUsage_OfPlacements(t *testing.T) {
	e := newEstate(t)
	day := time.Now().UTC().Truncate(24 * time.Hour)
	set := func(placement string, from, to time.Duration) {
		e.urls.Exec(t, "UPDATE placements SET state = 'expired', created_at = $2, ended_at = $3 WHERE id = $1",
			e.placed[placement].ID.String(), day.Add(from), day.Add(to))
	}
	e.urls.Exec(t, "UPDATE placements SET app_id = $1, owner_id = $2", e.app.ID, e.user.ID) // as if of one app
	set("owner", -time.Hour, time.Hour)                                                     // over midnight
	set("fallback", -2*time.Hour, -time.Hour)
	rows, err := e.db.Usage(ctx, day.Add(-24*time.Hour), day.Add(24*time.Hour), record.UsageFilter{Scope: record.Scope{Owner: &e.user.ID}})
	e.must(err)
	yesterday := day.Add(-24 * time.Hour)
	want := []record.Usage{
		{Day: yesterday, App: e.app.ID, Pool: fleet.PoolDefault, Placements: 2, PlacementSlotSeconds: 7200, PlacementFallbackSlotSeconds: 7200},
		{Day: yesterday, App: e.app.ID, Pool: e.node.Pool, Placements: 1, PlacementSlotSeconds: 3600},
		{Day: day, App: e.app.ID, Pool: e.node.Pool, Placements: 1, PlacementSlotSeconds: 3600},
	}
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Fatalf("\n got %v\nwant %v", rows, want)
	}
}

package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
	"rockpool/migrations"
)

// Any number of servers may start on one new database.
func TestMigrateConcurrently(t *testing.T) {
	urls := storetest.NewEmptyURLs(t)
	var group errgroup.Group
	for range 4 {
		group.Go(func() error { return store.Migrate(ctx, urls.Admin, storetest.ServerRole) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := storetest.Query[int64](t, urls, "SELECT count(DISTINCT group_id) FROM bun_migrations"); n != 1 {
		t.Fatalf("the migrations ran in %d groups, want 1", n)
	}
	db := storetest.Open(t, urls.Server)
	storetest.InsertUser(t, db)
}

func TestMigrateUpDownUp(t *testing.T) {
	urls := storetest.NewEmptyURLs(t)
	objects := func() int64 {
		return storetest.Query[int64](t, urls, `SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'bun%')
			+ (SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace)`)
	}
	for _, step := range []struct {
		name string
		do   func() error
		want bool
	}{
		{"up", func() error { return store.Migrate(ctx, urls.Admin, storetest.ServerRole) }, true},
		{"up again", func() error { return store.Migrate(ctx, urls.Admin, storetest.ServerRole) }, true},
		{"down", func() error { return store.MigrateDown(ctx, urls.Admin) }, false},
		{"up after down", func() error { return store.Migrate(ctx, urls.Admin, "") }, true},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if n := objects(); (n > 0) != step.want {
			t.Fatalf("after %s there are %d tables, indexes and functions", step.name, n)
		}
	}
}

// The server's role may do to each table what the server does, and no more.
func TestServerRoleGrants(t *testing.T) {
	urls := storetest.NewURLs(t)
	tables := storetest.Query[[]string](t, urls, `SELECT array_agg(relname::text ORDER BY relname) FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname NOT LIKE 'bun%'`)
	if len(tables) < 20 {
		t.Fatalf("only %d tables", len(tables))
	}
	may := func(table, right string) bool {
		return storetest.Query[bool](t, urls, fmt.Sprintf("SELECT has_table_privilege('%s', '%s', '%s')", storetest.ServerRole, table, right))
	}
	for _, table := range tables {
		audit := slices.Contains([]string{"audit_entries", "audit_head"}, table)
		for right, want := range map[string]bool{"SELECT": true, "INSERT": !audit, "UPDATE": !audit, "DELETE": !audit, "TRUNCATE": false, "TRIGGER": false} {
			if may(table, right) != want {
				t.Errorf("%s on %s: %v, want %v", right, table, !want, want)
			}
		}
	}
	if storetest.Query[bool](t, urls, "SELECT has_schema_privilege($1, 'public', 'CREATE')", storetest.ServerRole) {
		t.Error("the server may create tables")
	}
}

// Roles, nodes, pools and holds of before the roles became data are kept, whichever
// way the migration goes.
func TestMigration5_KeepsWhatWasThere(t *testing.T) {
	h := newHouse(t)
	storetest.InsertHold(t, h.urls, h.node.ID, fleet.HoldCordon)
	file := func(name string) string {
		sql, err := migrations.FS.ReadFile("20261129000005_control.tx." + name + ".sql")
		h.must(err)
		return string(sql)
	}
	h.script(file("down"))
	for _, table := range []string{"roles", "alarms"} {
		if storetest.Query[bool](t, h.urls, "SELECT to_regclass('public.' || $1) IS NOT NULL", table) {
			t.Errorf("%s is left over", table)
		}
	}
	h.urls.Exec(t, "UPDATE nodes SET role = 'dancer'")
	h.urls.Exec(t, "UPDATE licenses SET roles = '{worker,singer}'")
	storetest.Bind(t, h.urls, h.app.ID, fleet.Binding{Role: "drummer", Pools: []string{"default"}})
	h.script(file("up"))
	h.must(store.Migrate(ctx, h.urls.Admin, storetest.ServerRole)) // the grants
	roles, err := h.db.Roles(ctx)
	h.must(err)
	names := map[string]bool{}
	for _, r := range roles {
		names[r.Name] = r.BuiltIn
	}
	for _, name := range []string{"dancer", "singer", "drummer"} {
		if builtIn, there := names[name]; !there || builtIn {
			t.Errorf("role %s is there: %v, built in: %v", name, there, builtIn)
		}
	}
	if len(roles) != 9 {
		t.Errorf("roles %v", roles)
	}
	s := h.snapshot()
	for _, p := range s.Pools {
		if p.Thresholds != fleet.DefaultThresholds() {
			t.Errorf("pool %s has the thresholds %+v", p.ID, p.Thresholds)
		}
	}
	if n := s.Nodes[0]; len(n.Holds) != 1 || n.Holds[0].Deadline != 0 || n.Holds[0].Until != 0 || n.MaxSlots != 0 {
		t.Errorf("node %+v", n)
	}
	h.commit(&core.Effects{Alarms: []core.AlarmWrite{{Alarm: fleet.Alarm{ID: 1, Count: 1, RaisedAt: now(), LastAt: now()}}}})
}

// script runs a file of several statements as the owner.
func (h *house) script(sql string) {
	h.t.Helper()
	conn, err := pgx.Connect(ctx, h.urls.Admin)
	h.must(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	h.must(err)
}

package store_test

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
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

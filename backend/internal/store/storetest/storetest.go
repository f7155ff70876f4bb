// Package storetest gives each test a fresh database in a real PostgreSQL, and
// rows in it. The database is a copy of a migrated template, which is made once
// for a cluster; it goes when the test ends.
package storetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/embedpg/pgtest"
	"rockpool/backend/internal/store"
	"rockpool/migrations"
)

// ServerRole is the role that the server works as, with as few rights as in
// production.
const ServerRole = "rockpool_server"

// Main is the TestMain of packages that use storetest:
//
//	func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }
func Main(m *testing.M) int { return pgtest.Main(m) }

// URLs names the same database for its owner and for the server's role.
type URLs struct{ Admin, Server string }

// New opens a fresh database as the server's role; both go when the test ends.
func New(t testing.TB) *store.DB {
	t.Helper()
	return Open(t, NewURLs(t).Server)
}

// Open opens a database of NewURLs; it is closed when the test ends.
func Open(t testing.TB, url string) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), url, store.Options{MaxConns: 12})
	if err != nil {
		t.Fatalf("open the test's database: %v", err)
	}
	t.Cleanup(db.Close)
	return db
}

// NewURLs makes a fresh migrated database with today's partitions.
func NewURLs(t testing.TB) URLs {
	t.Helper()
	return NewURLsIn(t, pgtest.AdminURL(t))
}

// NewURLsIn makes one in a cluster of the test's own, which admin names.
func NewURLsIn(t testing.TB, admin string) URLs {
	t.Helper()
	template, err := templateOf(admin)
	if err != nil {
		t.Fatalf("make the template database: %v", err)
	}
	return copyOf(t, admin, template)
}

// NewEmptyURLs makes a fresh database without any table, for tests of migrations.
func NewEmptyURLs(t testing.TB) URLs {
	t.Helper()
	return copyOf(t, pgtest.AdminURL(t), "template0")
}

func copyOf(t testing.TB, admin, template string) URLs {
	t.Helper()
	var random [6]byte
	rand.Read(random[:])
	name := "rockpool_test_" + hex.EncodeToString(random[:])
	if err := execute(admin, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template)); err != nil {
		t.Fatalf("make the test's database: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(admin, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	owner, err := replace(admin, name, "")
	if err != nil {
		t.Fatal(err)
	}
	server, _ := replace(admin, name, ServerRole) // as owner
	return URLs{Admin: owner, Server: server}
}

// Exec runs SQL as the owner: what no caller of the store can do.
func (u URLs) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if err := execute(u.Admin, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Query reads one value as the owner.
func Query[T any](t testing.TB, u URLs, sql string, args ...any) (v T) {
	t.Helper()
	err := connected(u.Admin, func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, sql, args...).Scan(&v) })
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

var template struct {
	sync.Mutex
	of map[string]string // by admin URL
}

// templateOf gives the name of the migrated database to copy. Test processes that
// share a cluster share it; a change of the migrations or another day makes
// another one.
func templateOf(admin string) (string, error) {
	template.Lock()
	defer template.Unlock()
	today := time.Now().UTC()
	hash, err := migrationsHash()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("rockpool_template_%s_%s", hash, today.Format("20060102"))
	if template.of[admin] == name {
		return name, nil
	}
	err = connected(admin, func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext('rockpool test template'))"); err != nil {
			return err
		}
		var there bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&there)
		if err != nil || there {
			return err
		}
		return makeTemplate(ctx, conn, admin, name, today)
	})
	if err == nil {
		template.of = map[string]string{admin: name}
	}
	return name, err
}

// makeTemplate gives the database its name last: what has it is whole.
func makeTemplate(ctx context.Context, conn *pgx.Conn, admin, name string, today time.Time) error {
	draft := name + "_draft"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + draft, "CREATE DATABASE " + draft} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	at, err := replace(admin, draft, "")
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx, at, ServerRole); err != nil {
		return err
	}
	db, err := store.Open(ctx, at, store.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	err = db.EnsurePartitions(ctx, today)
	db.Close()
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+draft+" RENAME TO "+name)
	return err
}

func migrationsHash() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(migrations.FS, path)
		fmt.Fprintf(sum, "%s %d ", path, len(data))
		sum.Write(data)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:4]), err
}

func execute(admin, sql string, args ...any) error {
	return connected(admin, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
}

func connected(url string, fn func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return fn(ctx, conn)
}

// replace names another database and, unless empty, another role in a connection
// string of either form.
func replace(admin, database, role string) (string, error) {
	if !strings.Contains(admin, "://") {
		admin += " dbname=" + database
		if role != "" {
			admin += " user=" + role
		}
		return admin, nil
	}
	at, err := url.Parse(admin)
	if err != nil {
		return "", fmt.Errorf("the test cluster's admin URL: %w", err)
	}
	at.Path = "/" + database
	if role != "" {
		at.User = url.User(role)
	}
	return at.String(), nil
}

package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store"
	"rockpool/shared/ids"
)

// Actor is who does things in tests.
var Actor = record.Actor{Subject: "u:test", Address: "192.0.2.1", RequestID: "test"}

var serial atomic.Int64

// Sum is a SHA-256 that no other call gives.
func Sum() [32]byte { return sha256.Sum256(fmt.Appendf(nil, "secret %d", serial.Add(1))) }

// JobID makes an id of that moment; ids of later calls are greater within it.
func JobID(at time.Time) ids.JobID {
	var id ids.JobID
	ms := uint64(at.UnixMilli())
	binary.BigEndian.PutUint64(id[:8], ms<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], 0x8000_0000_0000_0000|uint64(serial.Add(1)))
	return id
}

// Wall is the core clock of tests: core time t is the moment t ms after 1970.
func Wall(t fleet.Time) time.Time { return time.UnixMilli(int64(t)).UTC() }

// At is the inverse of Wall.
func At(wall time.Time) fleet.Time { return fleet.Time(wall.UnixMilli()) }

// InsertUser makes a user with its pool.
func InsertUser(t testing.TB, db *store.DB, roles ...string) record.User {
	t.Helper()
	user, err := db.CreateUser(context.Background(), Actor, record.User{Name: fmt.Sprintf("user %d", serial.Add(1)), Roles: roles}, "")
	must(t, "create a user", err)
	return user
}

// InsertApp makes an app of that owner; 0: of nobody.
func InsertApp(t testing.TB, db *store.DB, owner int64) record.App {
	t.Helper()
	app, err := db.CreateApp(context.Background(), Actor, record.App{ID: fmt.Sprintf("app-%d", serial.Add(1)), Owner: owner})
	must(t, "create an app", err)
	return app
}

// Bind makes an app's binding.
func Bind(t testing.TB, urls URLs, app string, b fleet.Binding) {
	t.Helper()
	urls.Exec(t, "INSERT INTO app_pool_bindings VALUES ($1, $2, $3, $4)", app, b.Role, b.Pools, b.AllowFallback)
}

// InsertLicense makes a license of that user for so many nodes. Traits change it
// before it is stored.
func InsertLicense(t testing.TB, db *store.DB, user int64, nodes int64, traits ...func(*record.License)) record.License {
	t.Helper()
	l := record.License{User: user, Nodes: nodes, Roles: []string{"worker"}}
	for _, trait := range traits {
		trait(&l)
	}
	l, err := db.CreateLicense(context.Background(), Actor, l, Sum())
	must(t, "create a license", err)
	return l
}

// Node is what InsertNode makes; traits change it.
type Node struct {
	ID     string
	Owner  int64
	Pool   string // empty: the owner's
	Report fleet.NodeReport
}

// Slots is the trait of so many slots; the default is 4.
func Slots(n int64) func(*Node) { return func(v *Node) { v.Report.Capacity.Slots = n } }

// InPool is the trait of standing in that pool.
func InPool(pool string) func(*Node) { return func(v *Node) { v.Pool = pool } }

// WithResource is the trait of so much of a named resource.
func WithResource(name string, amount int64) func(*Node) {
	return func(v *Node) {
		v.Report.Capacity.Resources = append(v.Report.Capacity.Resources, fleet.Quantity{Name: name, Amount: amount})
	}
}

// InsertNode registers a node of that owner and opens its first session, with
// epoch 1, by a writer of the shard's current epoch.
func InsertNode(t testing.TB, db *store.DB, owner int64, traits ...func(*Node)) Node {
	t.Helper()
	ctx := context.Background()
	n := Node{ID: fmt.Sprintf("node-%d", serial.Add(1)), Owner: owner, Report: fleet.NodeReport{
		AgentVersion: "1.0.0", OS: "linux", Arch: "amd64", BootID: "boot-1", Backend: "cpu", Runners: []string{"exec"},
		Capacity: fleet.Vector{Slots: 4}, RemoteAddr: "192.0.2.7",
	}}
	for _, trait := range traits {
		trait(&n)
	}
	license := InsertLicense(t, db, owner, 1)
	_, err := db.RegisterNode(ctx, Actor, license.ID, n.ID, "", Sum(), "machine")
	must(t, "register a node", err)
	if n.Pool == "" {
		n.Pool = fleet.OwnerPool(owner)
	} else {
		_, _, err := db.MoveNode(ctx, Actor, n.ID, n.Pool, "test", nil)
		must(t, "move a node", err)
	}
	w := NewWriter(t, db)
	defer w.Close()
	out, err := w.Commit(ctx, &core.Effects{Sessions: []core.SessionWrite{{Node: n.ID, Epoch: 1, Report: &n.Report}}})
	must(t, "open a session", err)
	if len(out) > 0 {
		t.Fatalf("open a session: refused %+v", out)
	}
	return n
}

// NewWriter makes a writer under the shard's current epoch.
func NewWriter(t testing.TB, db *store.DB) *store.Writer {
	t.Helper()
	s, err := db.LoadSnapshot(context.Background())
	must(t, "load the fleet", err)
	return store.NewWriter(db, s.Epoch, Wall)
}

// InsertHold puts a hold on a node.
func InsertHold(t testing.TB, urls URLs, node string, kind fleet.HoldKind) {
	t.Helper()
	urls.Exec(t, "INSERT INTO node_holds (node_id, kind, owner, actor, reason) VALUES ($1, $2, 'operator', 'u:test', 'test')", node, string(kind))
}

// Spec asks for one slot in that app's name.
func Spec(app record.App, at time.Time) *fleet.JobSpec {
	return &fleet.JobSpec{
		ID: JobID(at), App: app.ID, Owner: app.Owner, Submitter: app.Owner, Role: "worker", Runner: "exec", Demands: fleet.Vector{Slots: 1},
		Priority: fleet.DefaultPriority, MaxAttempts: fleet.DefaultMaxAttempts,
		OnNodeLost: fleet.OnLostRequeue, WhenExhausted: fleet.WhenExhaustedWait,
	}
}

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Placement asks for one node in that app's name.
func Placement(app record.App, at time.Time) *fleet.PlacementSpec {
	return &fleet.PlacementSpec{
		ID: JobID(at), App: app.ID, Owner: app.Owner, Submitter: app.Owner, Role: "worker", Count: 1, TTLMs: fleet.DefaultTTLMs,
	}
}

package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

// The users of the world. Ann and Bob own one of everything; Vega may view pool-7,
// Otto may operate it.
const (
	root, olga, vera, vega, otto, ann, bob = int64(1), int64(2), int64(3), int64(4), int64(5), int64(7), int64(8)
)

var (
	worldNow   = time.Date(2026, 11, 29, 15, 4, 5, 123e6, time.UTC)
	userRoles  = map[int64][]string{root: {"superadmin"}, olga: {"operator"}, vera: {"viewer"}, vega: nil, otto: nil, ann: {"user"}, bob: {"user"}}
	userGrants = map[int64][]record.Grant{vega: {{Role: "viewer", Pool: "pool-7"}}, otto: {{Role: "operator", Pool: "pool-7"}}}
)

// world is a hand-made store and dispatch loop in memory, for what needs no
// database: rights, validation, documents. It answers as their contracts say.
type world struct {
	*API
	mu        sync.Mutex
	secrets   map[string]enroll.Secret // by user's id or node's
	jobs      map[ids.JobID]*record.Job
	pasts     map[string]core.NodePast
	keys      map[idempotencyKey]record.Idempotent
	nodes     map[string]*record.Node
	apps      map[string]record.App
	licenses  map[string]record.License
	tokens    map[string]record.Token
	artifacts map[artifact.Digest]record.Artifact
	pools     map[string]fleet.Pool
	bindings  map[string][]fleet.Binding
	roles     []record.Role
	alarms    map[int64]*fleet.Alarm
	placed    map[ids.JobID]*record.Placement
	setup     enroll.Secret
	setupUsed bool

	submits [][]core.JobInsert
	asks    []core.PlacementAsk
	over    string // what an app has all of that it may have
	actors  []record.Actor
	live    map[ids.JobID]core.JobView
	refuse  *core.RefusedWhy
	down    error // of the dispatch loop
	// exhausted: no node can take what a preview asks about.
	exhausted  bool
	proposals  []core.Proposal
	canaryJobs int64
	window     [2]time.Time // asked of the usage
	since      *time.Time   // asked of the audit of isolation
	notReady   error
	database   context.Context // nil: it answers
	frozen     core.Freeze
	// beforeCordon happens between the look at a node and its cordon, once.
	beforeCordon func()
	// beforePutPool happens before the loop hears of a pool.
	beforePutPool func()
	logs          nodeLogs
	kept          *record.JobLog // of every job
	onWait        func(ctx context.Context, id ids.JobID) error
	peers         int
}

func jobIDOf(owner int64) ids.JobID {
	id, _ := ids.ParseJobID(fmt.Sprintf("0199c0de-0000-7000-8000-%012d", owner))
	return id
}

func contentOf(owner int64) string { return fmt.Sprintf("the file of %d", owner) }

func digestOf(owner int64) artifact.Digest {
	sum := sha256.Sum256([]byte(contentOf(owner)))
	return artifact.DigestOf(sum[:])
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{}
	w.reset()
	policy, err := access.NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := artifact.Open(t.TempDir(), artifact.Limits{File: 1 << 16, Owner: 1 << 17}, w)
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []int64{ann, bob} {
		u := artifact.Upload{Owner: owner, Size: int64(len(contentOf(owner)))}
		if _, err := files.Receive(t.Context(), u, strings.NewReader(contentOf(owner)), func(artifact.Digest) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	now := func() time.Time { return worldNow }
	w.API, err = New(Config{
		Store: w, Dispatch: loop{w}, Artifacts: files, Gate: access.NewGate(w, now), Policy: policy, Consoles: w, Histories: w, Logs: &w.logs, Ready: w, Heartbeat: 10 * time.Second, Now: now, Log: log,
		Channel: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUpgradeRequired) }),
		Version: rest.Version{Version: "test", Go: "go"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// reset puts everything back as it was.
func (w *world) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs, w.keys, w.nodes = map[ids.JobID]*record.Job{}, map[idempotencyKey]record.Idempotent{}, map[string]*record.Node{}
	w.apps, w.licenses, w.tokens = map[string]record.App{}, map[string]record.License{}, map[string]record.Token{}
	w.artifacts, w.live = map[artifact.Digest]record.Artifact{}, map[ids.JobID]core.JobView{}
	w.setup, w.setupUsed, w.submits, w.actors = enroll.NewSetupToken(), false, nil, nil
	w.refuse, w.down, w.notReady, w.onWait, w.beforeCordon, w.beforePutPool = nil, nil, nil, nil, nil, nil
	w.secrets = map[string]enroll.Secret{"node": enroll.NewNodeSecret()}
	for id := range userRoles {
		w.secrets[userText(id)] = enroll.NewTokenSecret()
	}
	w.alarms, w.placed, w.asks, w.over = map[int64]*fleet.Alarm{}, map[ids.JobID]*record.Placement{}, nil, ""
	w.exhausted, w.proposals, w.canaryJobs = false, nil, 0
	w.seedPools()
	for _, owner := range []int64{ann, bob} {
		w.seed(owner)
	}
}

func (w *world) seed(owner int64) {
	name := userText(owner)
	w.apps["app-"+name] = record.App{ID: "app-" + name, Owner: owner, CreatedAt: worldNow, Version: 1}
	w.licenses["license-"+name] = record.License{ID: "license-" + name, User: owner, Roles: []string{"worker"}, Nodes: 1, CreatedAt: worldNow}
	w.tokens["token-"+name] = record.Token{ID: "token-" + name, User: owner, Name: "t", CreatedAt: worldNow}
	w.alarms[owner] = &fleet.Alarm{
		ID: owner, Fingerprint: fleet.Fingerprint{Kind: fleet.AlarmPoolExhausted, Role: "worker", Pool: fleet.OwnerPool(owner), App: "app-" + name},
		Count: 3, RaisedAt: 1, LastAt: 2, Waiting: []ids.JobID{jobIDOf(owner)}, WaitingNow: 1, Detail: "1 of 1 nodes draining",
	}
	w.seedPlacement(owner)
	w.artifacts[digestOf(owner)] = record.Artifact{Digest: string(digestOf(owner)), Size: int64(len(contentOf(owner))), Owner: owner}
	w.nodes["node-"+name] = &record.Node{CreatedAt: worldNow, NodeRecord: fleet.NodeRecord{
		ID: "node-" + name, Owner: owner, Pool: fleet.OwnerPool(owner), Role: "worker", Version: 17,
		Capacity: fleet.Vector{Slots: 4, Memory: []fleet.Quantity{{Name: "host", Amount: 2048}}}, Runners: []string{"checksum"},
	}}
	decision := fleet.Decision{
		Outcome: fleet.OutcomeWaiting, Rule: fleet.RuleOwnerPool, Epoch: 42, Pools: []fleet.Tally{{Pool: fleet.OwnerPool(owner), Nodes: 1}},
	}
	decision.Pools[0].Rejected[fleet.NoSlots] = 1
	w.jobs[jobIDOf(owner)] = &record.Job{
		Spec: fleet.JobSpec{
			ID: jobIDOf(owner), App: "app-" + name, Owner: owner, Role: "worker", Runner: "checksum", Priority: 50,
			Demands: fleet.Vector{Slots: 1}, Labels: []fleet.Label{{Name: "build", Value: "812"}},
		},
		State: fleet.JobQueued, Cause: fleet.CausePoolExhausted, Pool: fleet.OwnerPool(owner), SubmittedAt: worldNow,
		Decision: record.AppendDecision(nil, &decision, worldNow),
	}
}

// ask sends one request as somebody ("" is nobody, "node" the node) from an
// address that nobody used before.
func (w *world) ask(as, method, target, body string, header ...string) *httptest.ResponseRecorder {
	w.mu.Lock()
	w.peers++
	from := fmt.Sprintf("10.%d.%d.%d:4711", w.peers>>16&255, w.peers>>8&255, w.peers&255)
	secret := w.secrets[as].Text
	w.mu.Unlock()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr = from
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if as != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

func (w *world) asUser(user int64, method, target, body string, header ...string) *httptest.ResponseRecorder {
	return w.ask(userText(user), method, target, body, header...)
}

func mine(owner *int64, of int64) bool { return owner == nil || *owner == of }

func none(what string) error { return fleet.Errorf(fleet.CodeNotFound, what+" does not exist") }

// The store.

func (w *world) TokenBySum(_ context.Context, sum enroll.Sum) (record.Token, record.User, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, roles := range userRoles {
		if w.secrets[userText(id)].Sum == sum {
			return record.Token{ID: "in-use", User: id}, record.User{ID: id, Name: userText(id), Roles: roles, Grants: userGrants[id]}, nil
		}
	}
	return record.Token{}, record.User{}, none("token")
}

func (w *world) NodeBySecret(_ context.Context, sum enroll.Sum) (fleet.NodeRecord, error) {
	if w.secrets["node"].Sum == sum {
		return fleet.NodeRecord{ID: "node-7", Owner: ann, Pool: "pool-7"}, nil
	}
	return fleet.NodeRecord{}, none("node")
}

func (w *world) Job(_ context.Context, id ids.JobID, scope record.Scope) (record.Job, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if j, ok := w.jobs[id]; ok && scope.Sees(j.Spec.Owner, j.Pool) {
		return *j, nil
	}
	return record.Job{}, none("job")
}

func (w *world) Jobs(_ context.Context, f record.JobFilter, p record.Page) ([]record.Job, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []record.Job
	if f.State != nil && *f.State == fleet.JobRunning {
		f.State = new(fleet.JobOffered) // as it is stored
	}
	for id, j := range w.jobs {
		if f.Sees(j.Spec.Owner, j.Pool) && (f.App == "" || f.App == j.Spec.App) && (f.State == nil || *f.State == j.State) && (!f.Open || !j.State.Terminal()) &&
			(f.Cause == "" || f.Cause == j.Cause) && (f.Label == nil || slices.Contains(j.Spec.Labels, *f.Label)) && (p.After == "" || id.String() < p.After) {
			list = append(list, *j)
		}
	}
	slices.SortFunc(list, func(a, b record.Job) int { return b.Spec.ID.Compare(a.Spec.ID) })
	return list[:min(len(list), p.Limit)], nil
}

func (w *world) JobAttempts(context.Context, ids.JobID) ([]record.Attempt, error) { return nil, nil }

func (w *world) Passed(context.Context, *record.Job, string) (record.Passed, error) {
	last := worldNow
	return record.Passed{Jobs: 3, At: &last}, nil
}

func (w *world) JobLog(_ context.Context, id ids.JobID) (record.JobLog, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept != nil {
		return *w.kept, nil
	}
	return record.JobLog{}, none("log")
}

func (w *world) IdempotentWork(_ context.Context, user int64, key string) (record.Idempotent, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, ok := w.keys[idempotencyKey{user, key}]
	return found, ok, nil
}

func (w *world) ClaimKey(_ context.Context, user int64, key string, digest [32]byte) (record.Claim, *record.Idempotent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if found, there := w.keys[idempotencyKey{user, key}]; there {
		return record.Claim{}, &found, nil
	}
	w.keys[idempotencyKey{user, key}] = record.Idempotent{RequestDigest: digest}
	return record.Claim{User: user, Key: key, Number: 1}, nil, nil
}

func (w *world) RememberAnswer(_ context.Context, claim record.Claim, answer record.Answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := idempotencyKey{claim.User, claim.Key}
	known := w.keys[key]
	known.Acted, known.Answer = true, &answer
	w.keys[key] = known
	return nil
}

func (w *world) ForgetKey(_ context.Context, claim record.Claim) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.keys, idempotencyKey{claim.User, claim.Key})
	return nil
}

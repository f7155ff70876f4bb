package store_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
	"rockpool/shared/ids"
)

// The lists against a filter in Go, for every combination of filters.
func TestJobLists(t *testing.T) {
	h := newHouse(t, storetest.Slots(64))
	bob := storetest.InsertUser(t, h.db)
	apps := []record.App{h.app, storetest.InsertApp(t, h.db, h.user.ID), storetest.InsertApp(t, h.db, bob.ID), storetest.InsertApp(t, h.db, 0)}
	e, end := &core.Effects{}, &core.Effects{}
	for i := range 40 {
		h.app = apps[i%len(apps)]
		if i%3 == 0 {
			h.submitQueued(e)
			if i%2 == 0 {
				e.Inserts[len(e.Inserts)-1].Row.Decision = &fleet.Decision{Outcome: fleet.OutcomeWaiting, At: now(), Pools: []fleet.Tally{{Pool: "default"}, {Pool: h.node.Pool}}}
			}
			continue
		}
		if jobs := h.submit(e, 1); i%3 == 1 {
			h.finish(end, jobs...)
		}
	}
	h.commit(e)
	h.commit(end)
	queued, offered, succeeded := fleet.JobQueued, fleet.JobRunning, fleet.JobSucceeded
	for _, scope := range []record.Scope{
		{}, {Owner: &h.user.ID}, {Owner: &bob.ID}, {Pools: []string{h.node.Pool}}, {Pools: []string{"default", "other"}}, {Pools: []string{}},
		{Owner: &bob.ID, Pools: []string{"default"}},
	} {
		for _, app := range []string{"", apps[0].ID, apps[2].ID} {
			for _, state := range []*fleet.JobState{nil, &queued, &offered, &succeeded} {
				for _, node := range []string{"", h.node.ID, "nobody"} {
					h.checkList(record.JobFilter{Scope: scope, App: app, State: state, Node: node}, e)
				}
			}
		}
	}
	_, err := h.db.Jobs(ctx, record.JobFilter{}, record.Page{After: "x"})
	wantCode(t, err, fleet.CodeBadRequest)
}

// checkList reads all pages of a list and compares with the batch.
func (h *house) checkList(f record.JobFilter, e *core.Effects) {
	h.t.Helper()
	var want []ids.JobID
	for i := len(e.Inserts) - 1; i >= 0; i-- {
		if job := h.job(e.Inserts[i].Spec.ID); selects(f, job) {
			want = append(want, job.Spec.ID)
		}
	}
	var got []ids.JobID
	page := record.Page{Limit: 7}
	for {
		jobs, err := h.db.Jobs(ctx, f, page)
		h.must(err)
		for _, job := range jobs {
			got = append(got, job.Spec.ID)
		}
		if len(jobs) < 7 {
			break
		}
		page.After = got[len(got)-1].String()
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		h.t.Fatalf("filter %+v gave %d jobs, want %d", f, len(got), len(want))
	}
}

func selects(f record.JobFilter, job record.Job) bool {
	pool := job.Pool
	if job.Decision != nil && pool == "" {
		d, _ := record.DecodeDecision(job.Decision)
		pool = d.Pools[0].Pool
	}
	return f.Sees(job.Spec.Owner, pool) && (f.App == "" || f.App == job.Spec.App) &&
		(f.State == nil || stored(*f.State) == job.State) && (f.Node == "" || f.Node == job.Node)
}

// A job is found by its label, not by a param that looks like it, and by its cause.
func TestJobs_ByCauseAndLabel(t *testing.T) {
	h := newHouse(t, storetest.Slots(8))
	e := &core.Effects{}
	build := fleet.Label{Name: "build", Value: `8"12\u0000`}
	for i, spec := range h.submit(e, 5) {
		switch i {
		case 1:
			spec.Labels = []fleet.Label{{Name: "other", Value: "812"}, build}
			spec.Pool = "gpu"
		case 2:
			spec.Params, spec.Labels = []fleet.Label{build}, []fleet.Label{{Name: "build", Value: "812"}}
		case 3:
			spec.Params = []fleet.Label{build, {Name: "labels", Value: `"labels":[`}}
		case 4:
			spec.Labels, e.Inserts[i].Row.Cause = []fleet.Label{build}, fleet.CauseExitCode
		}
	}
	h.commit(e)
	list := func(f record.JobFilter) (found []ids.JobID) {
		jobs, err := h.db.Jobs(ctx, f, record.Page{})
		h.must(err)
		for i := range jobs {
			found = append(found, jobs[i].Spec.ID)
		}
		return found
	}
	first, last := e.Inserts[1].Spec.ID, e.Inserts[4].Spec.ID
	owner := record.Scope{Owner: &h.user.ID}
	for _, scope := range []record.Scope{{}, owner, {Pools: []string{h.node.Pool}}} {
		if got := list(record.JobFilter{Scope: scope, Label: &build}); !slices.Equal(got, []ids.JobID{last, first}) {
			t.Errorf("%+v by label: %v", scope, got)
		}
		if got := list(record.JobFilter{Scope: scope, Label: &build, Cause: fleet.CauseExitCode}); !slices.Equal(got, []ids.JobID{last}) {
			t.Errorf("%+v by label and cause: %v", scope, got)
		}
	}
	if got := list(record.JobFilter{Label: &fleet.Label{Name: "build"}}); got != nil {
		t.Errorf("by a label without its value: %v", got)
	}
}

func TestJobOfAnotherOwner(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	job := h.submit(e, 1)[0]
	h.commit(e)
	if _, err := h.db.Job(ctx, job.ID, record.Scope{Owner: &h.user.ID}); err != nil {
		t.Fatal(err)
	}
	stranger := h.user.ID + 1
	_, err := h.db.Job(ctx, job.ID, record.Scope{Owner: &stranger})
	wantCode(t, err, fleet.CodeNotFound)
	_, err = h.db.Job(ctx, job.ID, record.Scope{Owner: &stranger, Pools: []string{"default"}})
	wantCode(t, err, fleet.CodeNotFound)
	if _, err := h.db.Job(ctx, job.ID, record.Scope{Pools: []string{"default", h.node.Pool}}); err != nil {
		t.Fatal(err)
	}
	_, err = h.db.Job(ctx, storetest.JobID(time.Now()), record.Scope{})
	wantCode(t, err, fleet.CodeNotFound)
}

func TestArtifacts(t *testing.T) {
	h := newHouse(t)
	stranger := storetest.InsertUser(t, h.db)
	const digest = "sha256:12e6"
	for range 2 {
		h.must(h.db.PutArtifact(ctx, record.Artifact{Digest: digest, Size: 7, Owner: h.user.ID}))
	}
	if a, err := h.db.Artifact(ctx, digest, &h.user.ID); err != nil || a.Size != 7 || a.Owner != h.user.ID {
		t.Fatalf("artifact %+v, %v", a, err)
	}
	_, err := h.db.Artifact(ctx, digest, &stranger.ID)
	wantCode(t, err, fleet.CodeNotFound)
	may := func() error { _, err := h.db.ArtifactForNode(ctx, digest, h.node.ID); return err }
	wantCode(t, may(), fleet.CodeNotFound)
	e, end := &core.Effects{}, &core.Effects{}
	job := h.submit(e, 1)[0]
	job.Inputs = []fleet.Input{{Name: "other", Digest: "sha256:00", Size: 1}, {Name: "reference", Digest: digest, Size: 7}}
	h.commit(e)
	if err := may(); err != nil {
		t.Fatalf("the node of an open job that names it: %v", err)
	}
	_, err = h.db.ArtifactForNode(ctx, digest, "another")
	wantCode(t, err, fleet.CodeNotFound)
	h.finish(end, job)
	h.commit(end)
	wantCode(t, may(), fleet.CodeNotFound)
}

func TestArtifacts_GoWhenNoKeptJobNamesThem(t *testing.T) {
	h := newHouse(t)
	day := 24 * time.Hour
	put := func(digest string) {
		h.must(h.db.PutArtifact(ctx, record.Artifact{Digest: digest, Size: 7, Owner: h.user.ID}))
	}
	use := func(digest string) {
		t.Helper()
		if a, err := h.db.UseArtifact(ctx, digest, &h.user.ID); err != nil || a.Size != 7 {
			t.Fatalf("use %s: %+v, %v", digest, a, err)
		}
	}
	for _, digest := range []string{"new", "unused", "used", "open", "renewed"} {
		put(digest)
	}
	use("used")
	use("open")
	e := &core.Effects{}
	h.submit(e, 1)[0].Inputs = []fleet.Input{{Name: "x", Digest: "open", Size: 7}}
	h.commit(e)
	if bytes, err := h.db.OwnedBytes(ctx, h.user.ID); err != nil || bytes != 35 {
		t.Errorf("the owner's are %d bytes, %v", bytes, err)
	}
	age := func(digest, by string) {
		h.urls.Exec(t, "UPDATE artifacts SET created_at = created_at - $2::interval, used_at = used_at - $2::interval WHERE digest = $1", digest, by)
	}
	for _, digest := range []string{"unused", "used", "open", "renewed"} {
		age(digest, "10 days")
	}
	put("renewed")
	left := func() string {
		return strings.Join(storetest.Query[[]string](t, h.urls, "SELECT array_agg(digest ORDER BY digest) FROM artifacts"), " ")
	}
	now := time.Now()
	h.must(h.db.PruneArtifacts(ctx, now.Add(-7*day), now.Add(-30*day)))
	if got := left(); got != "new open renewed used" {
		t.Errorf("while jobs are kept for 30 days: %s", got)
	}
	h.must(h.db.PruneArtifacts(ctx, now.Add(-7*day), now.Add(-8*day)))
	if got := left(); got != "new open renewed" {
		t.Errorf("once the job's day is gone: %s", got)
	}
	use("open")
	age("open", "-10 days")
	if unknown, err := h.db.UnknownArtifacts(ctx, []string{"open", "used", "new"}); err != nil || len(unknown) != 1 || unknown[0] != "used" {
		t.Errorf("unknown are %v, %v", unknown, err)
	}
	_, err := h.db.UseArtifact(ctx, "used", &h.user.ID)
	wantCode(t, err, fleet.CodeNotFound)
}

func TestOutputs_AreTakenFromTheNodeThatHoldsTheAttempt(t *testing.T) {
	h := newHouse(t)
	const digest = "sha256:aa"
	e, end := &core.Effects{}, &core.Effects{}
	job := h.submit(e, 1)[0]
	put := func(node string, attempt int32) error {
		owner, holds := h.db.HoldsAttempt(ctx, node, job.ID, attempt)
		if holds == nil && owner != h.user.ID {
			t.Errorf("%s/%d: the output is said to be of user %d", node, attempt, owner)
		}
		if err := h.db.PutOutput(ctx, node, job.ID, attempt, record.Artifact{Digest: digest, Size: 7}); (err == nil) != (holds == nil) {
			t.Errorf("%s/%d: holds says %v, put says %v", node, attempt, holds, err)
		}
		return holds
	}
	wantCode(t, put(h.node.ID, 1), fleet.CodeNotFound)
	h.commit(e)
	wantCode(t, put("another", 1), fleet.CodeNotFound)
	wantCode(t, put(h.node.ID, 2), fleet.CodeNotFound)
	_, err := h.db.Artifact(ctx, digest, nil)
	wantCode(t, err, fleet.CodeNotFound)
	for range 2 { // an upload whose answer was lost comes again
		if err := put(h.node.ID, 1); err != nil {
			t.Fatalf("the node that holds it: %v", err)
		}
	}
	if a, err := h.db.Artifact(ctx, digest, &h.user.ID); err != nil || a.Size != 7 || a.Owner != h.user.ID {
		t.Errorf("artifact %+v, %v", a, err)
	}
	h.finish(end, job)
	h.commit(end)
	wantCode(t, put(h.node.ID, 1), fleet.CodeNotFound)
}

// A dump of the whole database holds no secret: neither a token nor a license
// code nor a node's secret, only what they hash to.
func TestAttack_A40_NoSecretsInADump(t *testing.T) {
	urls := storetest.NewURLs(t)
	db := storetest.Open(t, urls.Server)
	ada := storetest.InsertUser(t, db)
	var plain []string
	var sums [][32]byte
	for _, kind := range []string{"rp_token", "RPL-LICENSE", "node", "setup"} {
		secret := fmt.Sprintf("%s-%x", kind, storetest.Sum())
		plain, sums = append(plain, secret), append(sums, sha256.Sum256([]byte(secret)))
	}
	mustAll(t,
		second(db.CreateToken(ctx, storetest.Actor, record.Token{User: ada.ID, Name: "ci"}, sums[0])),
		db.SetSetupToken(ctx, sums[3], time.Now().Add(time.Hour)))
	license, err := db.CreateLicense(ctx, storetest.Actor, record.License{User: ada.ID, Roles: []string{"worker"}, Nodes: 1}, sums[1])
	mustAll(t, err, second(db.RegisterNode(ctx, storetest.Actor, license.ID, "", "", sums[2], "machine")))
	dump := dumpOf(t, urls)
	for i, secret := range plain {
		if strings.Contains(dump, secret[len(secret)-64:len(secret)-48]) {
			t.Errorf("the dump holds the secret %s", secret)
		}
		if !strings.Contains(dump, fmt.Sprintf("%x", sums[i])) {
			t.Errorf("the dump does not even hold the sum of %s: it is not the whole database", secret)
		}
	}
}

func dumpOf(t *testing.T, urls storetest.URLs) string {
	t.Helper()
	tables := storetest.Query[[]string](t, urls, `SELECT array_agg(relname::text) FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`)
	var dump strings.Builder
	for _, table := range tables {
		dump.WriteString(storetest.Query[string](t, urls, "SELECT coalesce(string_agg(t::text, E'\n'), '') FROM "+table+" t"))
	}
	return dump.String()
}

func mustAll(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

package api

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

func (w *world) CreateApp(_ context.Context, actor record.Actor, app record.App) (record.App, error) {
	w.actors = append(w.actors, actor)
	if _, taken := w.apps[app.ID]; taken {
		return app, fleet.Errorf(fleet.CodeConflict, "the app exists")
	}
	app.CreatedAt = worldNow
	w.apps[app.ID] = app
	return app, nil
}

func (w *world) App(_ context.Context, id string) (record.App, error) {
	if app, ok := w.apps[id]; ok {
		return app, nil
	}
	return record.App{}, none("app")
}

func (w *world) Apps(_ context.Context, owner *int64, _ record.Page) (list []record.App, _ error) {
	for _, id := range sortedKeys(w.apps) {
		if mine(owner, w.apps[id].Owner) {
			list = append(list, w.apps[id])
		}
	}
	return list, nil
}

func (w *world) SetShare(_ context.Context, actor record.Actor, id string, share fleet.Share, _ string, ifVersion *int64) (fleet.App, int64, error) {
	w.actors = append(w.actors, actor)
	app, ok := w.apps[id]
	switch {
	case !ok:
		return fleet.App{}, 0, none("app")
	case ifVersion != nil && *ifVersion != app.Version:
		return fleet.App{}, 0, fleet.Errorf(fleet.CodePreconditionFail, "it has changed")
	case share.Weight < 1:
		return fleet.App{}, 0, fleet.Errorf(fleet.CodeUnprocessable, "a weight is 1 to 1,000")
	}
	app.Share, app.Version = share, app.Version+1
	w.apps[id] = app
	return fleet.App{ID: id, Owner: app.Owner, Share: share, Version: app.Version}, app.Version, nil
}

func (w *world) CreateLicense(_ context.Context, actor record.Actor, l record.License, _ enroll.Sum) (record.License, error) {
	w.actors = append(w.actors, actor)
	l.ID, l.CreatedAt = "license-new", worldNow
	w.licenses[l.ID] = l
	return l, nil
}

func (w *world) License(_ context.Context, id string) (record.License, error) {
	if l, ok := w.licenses[id]; ok {
		return l, nil
	}
	return record.License{}, none("license")
}

func (w *world) Licenses(_ context.Context, user *int64, _ record.Page) (list []record.License, _ error) {
	for _, id := range sortedKeys(w.licenses) {
		if mine(user, w.licenses[id].User) {
			list = append(list, w.licenses[id])
		}
	}
	return list, nil
}

func (w *world) RevokeLicense(_ context.Context, actor record.Actor, id, _ string) (record.License, error) {
	w.actors = append(w.actors, actor)
	l, ok := w.licenses[id]
	if !ok {
		return l, none("license")
	}
	at := worldNow
	l.RevokedAt = &at
	return l, nil
}

func (w *world) CreateUser(_ context.Context, actor record.Actor, u record.User, _ string) (record.User, error) {
	w.actors = append(w.actors, actor)
	u.ID, u.CreatedAt = 9, worldNow
	return u, nil
}

func (w *world) User(_ context.Context, id int64) (record.User, error) {
	if roles, ok := userRoles[id]; ok {
		return record.User{ID: id, Name: "u", Roles: roles, Grants: userGrants[id], CreatedAt: worldNow}, nil
	}
	return record.User{}, none("user")
}

func (w *world) Users(_ context.Context, _ record.Page) (list []record.User, _ error) {
	for _, id := range []int64{root, olga, vera, ann, bob} {
		list = append(list, record.User{ID: id, Name: "u", Roles: userRoles[id], CreatedAt: worldNow})
	}
	return list, nil
}

func (w *world) SetUserRoles(_ context.Context, actor record.Actor, id int64, roles []string, grants []record.Grant, _ string) (record.User, error) {
	w.actors = append(w.actors, actor)
	if id == root && !slices.Contains(roles, roleSuperadmin) {
		return record.User{}, fleet.Errorf(fleet.CodeConflict, "the last superadmin stays one")
	}
	return record.User{ID: id, Name: "u", Roles: roles, Grants: grants, CreatedAt: worldNow}, nil
}

const roleSuperadmin = "superadmin"

func (w *world) CreateToken(_ context.Context, actor record.Actor, t record.Token, _ enroll.Sum) (record.Token, error) {
	w.actors = append(w.actors, actor)
	t.ID, t.CreatedAt = "token-new", worldNow
	w.tokens[t.ID] = t
	return t, nil
}

func (w *world) Tokens(_ context.Context, user int64, _ record.Page) (list []record.Token, _ error) {
	for _, id := range sortedKeys(w.tokens) {
		if w.tokens[id].User == user {
			list = append(list, w.tokens[id])
		}
	}
	return list, nil
}

func (w *world) DeleteToken(_ context.Context, actor record.Actor, user int64, id string) error {
	w.actors = append(w.actors, actor)
	if t, ok := w.tokens[id]; !ok || t.User != user {
		return none("token")
	}
	delete(w.tokens, id)
	return nil
}

func (w *world) RedeemSetupToken(_ context.Context, actor record.Actor, sum enroll.Sum, name, _ string, t record.Token, _ enroll.Sum) (record.User, record.Token, error) {
	w.actors = append(w.actors, actor)
	if sum != w.setup.Sum || w.setupUsed {
		return record.User{}, record.Token{}, fleet.Errorf(fleet.CodeUnauthenticated, "the setup token is used, expired or wrong")
	}
	w.setupUsed = true
	t.ID, t.User, t.CreatedAt = "token-first", root, worldNow
	return record.User{ID: root, Name: name, Roles: []string{roleSuperadmin}, CreatedAt: worldNow}, t, nil
}

func (w *world) PutArtifact(_ context.Context, a record.Artifact) error {
	w.artifacts[artifact.Digest(a.Digest)] = a
	return nil
}

func (w *world) Artifact(_ context.Context, digest string, owner *int64) (record.Artifact, error) {
	if a, ok := w.artifacts[artifact.Digest(digest)]; ok && mine(owner, a.Owner) {
		return a, nil
	}
	return record.Artifact{}, none("artifact")
}

func (w *world) UseArtifact(ctx context.Context, digest string, owner *int64) (record.Artifact, error) {
	return w.Artifact(ctx, digest, owner)
}

func (w *world) OwnedBytes(_ context.Context, owner int64) (bytes int64, err error) {
	for _, a := range w.artifacts {
		if a.Owner == owner {
			bytes += a.Size
		}
	}
	return bytes, nil
}

func (w *world) UnknownArtifacts(context.Context, []string) ([]string, error) { return nil, nil }

// ArtifactForNode: the open job on Ann's node names Ann's file.
func (w *world) ArtifactForNode(ctx context.Context, digest, node string) (record.Artifact, error) {
	owner := ann
	if node != "node-7" {
		return record.Artifact{}, none("artifact")
	}
	return w.Artifact(ctx, digest, &owner)
}

// HoldsAttempt: Ann's node holds the first attempt of Ann's job until it has ended.
func (w *world) HoldsAttempt(_ context.Context, node string, job ids.JobID, attempt int32) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if j := w.jobs[job]; node == "node-7" && job == jobIDOf(ann) && attempt == 1 && !j.State.Terminal() {
		return ann, nil
	}
	return 0, none("attempt")
}

func (w *world) PutOutput(ctx context.Context, node string, job ids.JobID, attempt int32, a record.Artifact) error {
	owner, err := w.HoldsAttempt(ctx, node, job, attempt)
	if err != nil {
		return err
	}
	a.Owner = owner
	return w.PutArtifact(ctx, a)
}

func (w *world) Audit(_ context.Context, filter record.AuditFilter, _ record.Page) ([]record.AuditEntry, error) {
	if filter.Action == "nothing" {
		return nil, nil
	}
	return []record.AuditEntry{{Seq: 1, At: worldNow, Action: "user_created", Object: "user:1", After: []byte(`{"name":"admin"}`)}}, nil
}

func (w *world) VerifyAudit(context.Context) (record.AuditEntry, int64, error) {
	return record.AuditEntry{Seq: 1}, 0, nil
}

// loop is the world's dispatch loop: the methods that the store has not.
type loop struct{ *world }

func (l loop) RevokeNode(context.Context, fleet.NodeRecord, string) error { return l.down }
func (l loop) LeaveNode(context.Context, fleet.NodeRecord, string) error  { return l.down }

func (w *world) Submit(_ context.Context, jobs []core.JobInsert) ([]core.Submitted, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down != nil {
		return nil, w.down
	}
	w.submits = append(w.submits, jobs)
	answers := make([]core.Submitted, len(jobs))
	for i := range jobs {
		answers[i] = w.take(&jobs[i])
	}
	return answers, nil
}

func (w *world) take(in *core.JobInsert) core.Submitted {
	answer := core.Submitted{ID: in.Spec.ID, Row: core.JobRow{State: fleet.JobQueued}, Refused: w.refuse}
	key := idempotencyKey{in.Spec.Submitter, in.IdempotencyKey}
	if _, there := w.keys[key]; there && in.IdempotencyKey != "" {
		why := core.RefusedIdempotency
		answer.Refused = &why
	}
	if in.Spec.WhenExhausted == fleet.WhenExhaustedFail {
		d := &fleet.Decision{Outcome: fleet.OutcomeFailed, Pools: []fleet.Tally{{Pool: "pool-7", Nodes: 9}}}
		d.Pools[0].Rejected[fleet.Draining] = 9
		answer.Row = core.JobRow{State: fleet.JobFailed, Cause: fleet.CausePoolExhausted, EndedAt: 1, Decision: d}
	}
	if answer.Refused == nil {
		w.jobs[in.Spec.ID] = &record.Job{Spec: *in.Spec, State: answer.Row.State, Cause: answer.Row.Cause, SubmittedAt: worldNow}
		w.keys[key] = record.Idempotent{Job: in.Spec.ID, RequestDigest: in.RequestDigest}
	}
	return answer
}

func (w *world) Cancel(_ context.Context, id ids.JobID, actor string, _ int64) (fleet.JobState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j, ok := w.jobs[id]
	if !ok || j.State.Terminal() {
		return 0, none("job")
	}
	j.State, j.Cause = fleet.JobCanceled, fleet.CauseCanceledByUser
	return j.State, w.down
}

func (w *world) CancelMany(ctx context.Context, jobs []ids.JobID, actor string, graceMs int64) ([]core.Canceled, error) {
	list := make([]core.Canceled, len(jobs))
	for i, id := range jobs {
		state, err := w.Cancel(ctx, id, actor, graceMs)
		list[i] = core.Canceled{Job: id, State: state, Open: err == nil}
	}
	return list, w.down
}

func (w *world) Resolve(_ context.Context, id ids.JobID, action fleet.ResolveAction, by core.Actor) (fleet.JobState, error) {
	w.actors = append(w.actors, record.Actor{Subject: by.Subject})
	switch j := w.jobs[id]; {
	case j == nil || j.State.Terminal():
		return 0, none("job")
	case j.Cause != fleet.CauseHeld:
		return 0, fleet.Errorf(fleet.CodeConflict, "the job is not held")
	case action == fleet.ResolveFail:
		j.State, j.Cause = fleet.JobFailed, fleet.CauseNodeLost
	default:
		j.Cause = fleet.CauseNodeLost
	}
	return w.jobs[id].State, w.down
}

func (w *world) SubmitAndWait(ctx context.Context, job *core.JobInsert, wait time.Duration, taken func()) (core.Submitted, *core.Ended, error) {
	list := []core.JobInsert{*job}
	answers, err := w.Submit(ctx, list)
	*job = list[0]
	if err != nil {
		return core.Submitted{}, nil, err
	}
	taken()
	if wait == 0 || answers[0].Refused != nil || answers[0].Row.State.Terminal() {
		return answers[0], nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	end, _ := w.Wait(ctx, job.Spec.ID) // no error: the job was taken
	return answers[0], end, nil
}

func (w *world) Wait(ctx context.Context, id ids.JobID) (*core.Ended, error) {
	if w.onWait != nil {
		return nil, w.onWait(ctx, id)
	}
	return nil, nil
}

func (w *world) LiveJobs(context.Context, []ids.JobID) (map[ids.JobID]core.JobView, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.live), w.down
}

func (w *world) Fleet(context.Context) (*core.FleetView, error) {
	view := &core.FleetView{Rev: 1}
	for _, id := range sortedKeys(w.nodes) {
		n := w.nodes[id]
		view.Nodes = append(view.Nodes, &core.NodeView{
			Record: n.NodeRecord, Lease: fleet.LeaseReady, Healthy: true, Reserved: fleet.Vector{Slots: 1},
			Running: []core.Held{{Running: core.Running{Job: jobIDOf(n.Owner), Attempt: 1}, Spec: &fleet.JobSpec{}}},
		})
	}
	for _, id := range sortedKeys(w.pools) {
		view.Pools = append(view.Pools, core.PoolView{Pool: w.pools[id], Nodes: 1, Ready: 1, Canary: w.pools[id].Kind == fleet.KindNamed})
	}
	return view, w.down
}

func (w *world) NodePast(_ context.Context, node string) (core.NodePast, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pasts[node], w.down
}

func (w *world) Explain(_ context.Context, id ids.JobID) (core.Explanation, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j, ok := w.jobs[id]
	if !ok || j.State.Terminal() {
		return core.Explanation{}, false, w.down
	}
	pool := fleet.OwnerPool(j.Spec.Owner)
	return core.Explanation{
		Job: core.JobView{ID: id, State: j.State},
		Now: fleet.Decision{Outcome: fleet.OutcomeWaiting, Rule: fleet.RuleOwnerPool, Pools: []fleet.Tally{{Pool: pool, Nodes: 2}}},
		Nodes: []core.NodeReasons{
			{Node: "node-a", Pool: pool, Reasons: []fleet.Reason{fleet.Draining, fleet.NoSlots}},
			{Node: "node-b", Pool: pool},
		},
	}, true, w.down
}

func (w *world) WallAt(t fleet.Time) time.Time {
	return worldNow.Add(time.Duration(t) * time.Millisecond)
}

func (w *world) PutNode(context.Context, fleet.NodeRecord) error { return w.down }
func (w *world) PutApp(context.Context, fleet.App) error         { return w.down }
func (w *world) PutPool(context.Context, fleet.Pool) error {
	if w.beforePutPool != nil {
		w.beforePutPool()
	}
	return w.down
}

func (w *world) Ready(context.Context) error { return w.notReady }

func (w *world) Database() context.Context { return cmp.Or(w.database, context.Background()) }

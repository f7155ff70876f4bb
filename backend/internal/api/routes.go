package api

import (
	"net/http"
	"slices"

	"rockpool/backend/internal/rest"
)

const (
	get   = http.MethodGet
	head  = http.MethodHead
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete
)

// Statuses that rows share.
var (
	ok      = []int{http.StatusOK}
	created = []int{http.StatusCreated}
	noBody  = []int{http.StatusNoContent}

	dryRun = []string{"dryRun"}

	missing = []int{http.StatusNotFound}
	refused = []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}
)

// table is the whole API. A new row needs its rule in policies/policy.csv; the
// tests walk every row.
var table = slices.Concat(jobRoutes, placementRoutes, fleetRoutes, poolRoutes, alarmRoutes, accountRoutes, artifactRoutes, systemRoutes)

// Routes gives the table, for tests and documents.
func Routes() []Route { return slices.Clone(table) }

var jobRoutes = []Route{
	{Method: post, Path: "/v1/jobs", Object: "job", Action: "submit", Keyed: true, handling: takes((*API).submitJob),
		Summary: "Submit a job. With ?wait the answer waits, at most a minute, for its end; with ?dryRun it is what would be decided, and there is no job.",
		Query:   []string{"wait", "dryRun"}, Answers: rest.Job{}, DryRun: rest.Candidates{}, Status: []int{201, 200}, Fails: []int{404, 422, 429}},
	{Method: post, Path: "/v1/jobs/batch", Object: "job", Action: "submit", Keyed: true, handling: takes((*API).submitBatch),
		Summary: "Submit up to 1,000 jobs. When one is not valid none is taken; each has its own answer.",
		Answers: rest.Batch{}, Status: ok, Fails: []int{404, 422, 429}},
	{Method: get, Path: "/v1/jobs", Object: "job", Action: "read", handling: plain((*API).listJobs),
		Summary: "List jobs, the newest first.", Query: append([]string{"app", "state", "node", "reason", "label"}, pageQuery...),
		Answers: rest.List[rest.Job]{}, Status: ok},
	{Method: get, Path: "/v1/jobs/:id", Object: "job", Action: "read", handling: plain((*API).getJob),
		Summary: "Read a job as it is now. With ?wait the answer waits, at most a minute, for its end.",
		Query:   []string{"wait"}, Answers: rest.Job{}, Status: ok, Fails: missing},
	{Method: post, Path: "/v1/jobs/:id/cancel", Object: "job", Action: "cancel", handling: mayTake((*API).cancelJob),
		Summary: "Ask for a job's end. One that has ended stays as it is.",
		Answers: rest.Job{}, Status: ok, Fails: missing},
	{Method: post, Path: "/v1/jobs/cancel", Object: "job", Action: "cancel", handling: takes((*API).cancelJobs),
		Summary: "Ask for the end of a list of jobs. With ?dryRun nothing is done: the answer is the list that a filter selects now.",
		Query:   dryRun, Answers: rest.CancelSelected{}, Status: ok, Fails: []int{404, 422}},
	{Method: post, Path: "/v1/jobs/:id/retry", Object: "job", Action: "retry", Keyed: true, handling: plain((*API).retryJob),
		Summary: "Submit a job that has ended again, as a new one.",
		Answers: rest.Job{}, Status: []int{201, 200}, Fails: []int{404, 409, 422, 429}},
	{Method: post, Path: "/v1/jobs/:id/resolve", Object: "job", Action: "resolve", handling: takes((*API).resolveJob),
		Summary: "Decide about a job that is held because its node was lost: one more attempt, or its end.",
		Answers: rest.Job{}, Status: ok, Fails: []int{404, 409}},
	{Method: get, Path: "/v1/jobs/:id/decision", Object: "job", Action: "read", handling: plain((*API).jobDecision),
		Summary: "Why the job went where it went, or nowhere, also in words.",
		Answers: rest.Decision{}, Status: ok, Fails: missing},
	{Method: get, Path: "/v1/jobs/:id/explain", Object: "job", Action: "read", handling: plain((*API).explainJob),
		Summary: "Every reason of every node against an open job, as it is now; superadmins see the nodes' ids.",
		Answers: rest.Explanation{}, Status: ok, Fails: []int{404, 409}},
	{Method: get, Path: "/v1/jobs/:id/attempts", Object: "job", Action: "read", handling: plain((*API).jobAttempts),
		Summary: "A job's attempts, the oldest first.",
		Answers: rest.List[rest.Attempt]{}, Status: ok, Fails: missing},
	{Method: get, Path: "/v1/jobs/:id/log", Object: "job", Action: "read", handling: plain((*API).jobLog),
		Summary: "Head and tail of the log that came with the result; with follow, the log as text while it is written.",
		Query:   []string{"follow"}, Answers: rest.JobLog{}, Media: "text/plain", Status: ok, Fails: []int{404, 429}, Streams: true},
}

var placementRoutes = []Route{
	{Method: post, Path: "/v1/placements", Object: "placement", Action: "create", Keyed: true, handling: takes((*API).createPlacement),
		Summary: "Reserve nodes for a client outside. The lasting placement of the same app, role and key is answered as it is.",
		Answers: rest.Placement{}, Status: []int{201, 200}, Fails: []int{404, 422, 429}},
	{Method: get, Path: "/v1/placements", Object: "placement", Action: "read", handling: plain((*API).listPlacements),
		Summary: "List placements, the newest first.", Query: append([]string{"app", "key", "state", "node"}, pageQuery...),
		Answers: rest.List[rest.Placement]{}, Status: ok},
	{Method: get, Path: "/v1/placements/:id", Object: "placement", Action: "read", handling: plain((*API).getPlacement),
		Summary: "Read a placement and its nodes as they are now, and why they are these.",
		Answers: rest.Placement{}, Status: ok, Fails: missing},
	{Method: post, Path: "/v1/placements/:id/renew", Object: "placement", Action: "renew", handling: mayTake((*API).renewPlacement),
		Summary: "Let a placement last its time from now on.",
		Answers: rest.Placement{}, Status: ok, Fails: []int{404, 409}},
	{Method: del, Path: "/v1/placements/:id", Object: "placement", Action: "release", handling: plain((*API).releasePlacement),
		Summary: "End a placement and give its nodes back. One that has ended stays as it is.",
		Answers: rest.Placement{}, Status: ok, Fails: missing},
}

var fleetRoutes = []Route{
	{Method: get, Path: "/v1/nodes", Object: "node", Action: "read", handling: plain((*API).listNodes),
		Summary: "List nodes by id.", Query: append([]string{"pool", "lease"}, pageQuery...),
		Answers: rest.List[rest.Node]{}, Status: ok},
	{Method: get, Path: "/v1/nodes/:id", Object: "node", Action: "read", handling: plain((*API).getNode),
		Summary: "Read a node as it is now; its ETag is the record's version.",
		Answers: rest.Node{}, Status: ok, Fails: missing},
	{Method: get, Path: "/v1/nodes/:id/history", Object: "node", Action: "read", handling: plain((*API).nodeHistory),
		Summary: "What the node was chosen for lately, what waits because of it, and what happened on it, as far as the server saw since it started.",
		Answers: rest.NodeHistory{}, Status: ok, Fails: missing},
	{Method: post, Path: "/v1/admin/nodes", Object: "node", Action: "create", handling: takes((*API).createNode),
		Summary: "Make a node's record; its secret is shown in this answer only.",
		Answers: rest.NewNode{}, Status: created, Fails: []int{409, 422}},
	{Method: put, Path: "/v1/admin/nodes/:id/pool", Object: "node", Action: "move", handling: takes((*API).moveNode),
		Summary: "Move a node to another pool: the very next decision uses it. Running work stays. If-Match is its ETag.",
		Query:   dryRun, Answers: rest.Moved{}, Status: ok, Fails: []int{404, 409, 412, 422}},
	{Method: post, Path: "/v1/admin/nodes/impact", Object: "node", Action: "cordon", handling: takes((*API).tryNodes),
		Summary: "What a move, cordon or drain of several nodes together would do. Nothing is done.",
		Answers: rest.Impact{}, Status: ok, Fails: []int{404, 422}},
	{Method: post, Path: "/v1/admin/nodes/:id/cordon", Object: "node", Action: "cordon", handling: mayTake((*API).cordonNode),
		Summary: "Keep new work from a node; what runs there goes on. If-Match is its ETag.",
		Answers: rest.Node{}, Status: ok, Fails: []int{404, 412}},
	{Method: post, Path: "/v1/admin/nodes/:id/drain", Object: "node", Action: "drain", handling: mayTake((*API).drainNode),
		Summary: "Keep new work from a node; what runs there at the deadline is canceled and placed anew. If-Match is its ETag.",
		Query:   dryRun, Answers: rest.Drained{}, Status: ok, Fails: []int{404, 412}},
	{Method: post, Path: "/v1/admin/nodes/:id/uncordon", Object: "node", Action: "cordon", handling: mayTake((*API).uncordonNode),
		Summary: "Lift the operator's cordon and drain; where none stands nothing changes. Superadmins lift holds of kind auto, deaf and quarantine too. If-Match is its ETag.",
		Answers: rest.Node{}, Status: ok, Fails: []int{404, 409, 412}},
	{Method: post, Path: "/v1/admin/nodes/:id/rotate", Object: "node", Action: "rotate", handling: mayTake((*API).rotateNode),
		Summary: "Have a node make another secret: the old one is good until a session was opened with the new one. If-Match is its ETag.",
		Answers: rest.Node{}, Status: ok, Fails: []int{404, 409, 412}},
	{Method: post, Path: "/v1/admin/nodes/:id/repair", Object: "node", Action: "repair", handling: takes((*API).repairNode),
		Summary: "Choose which claimant of a node in quarantine is the node: it gets another secret, the others are refused for good. If-Match is its ETag.",
		Answers: rest.Node{}, Status: ok, Fails: []int{404, 409, 412, 422}},
	{Method: put, Path: "/v1/node/secret", Object: "node-secret", Action: "put", handling: takes((*API).putNodeSecret),
		Summary: "A node puts the secret that it made for a rotation beside the one that it has.",
		Status:  noBody, Fails: []int{409, 422}},
	{Method: post, Path: "/v1/admin/nodes/:id/leave", Object: "node", Action: "leave", handling: mayTake((*API).leaveNode),
		Summary: "Take a node out of the fleet: its session ends, its work is handled by policy, it comes back only by registering.",
		Answers: rest.Node{}, Status: ok, Fails: missing},
	{Method: post, Path: "/v1/admin/nodes/:id/revoke", Object: "node", Action: "revoke", handling: mayTake((*API).revokeNode),
		Summary: "Take a node's secret away and end its session: it has left.",
		Answers: rest.Node{}, Status: ok, Fails: missing},
	{Method: get, Path: "/v1/pools", Object: "pool", Action: "read", handling: plain((*API).listPools),
		Summary: "List pools by id.", Query: pageQuery, Answers: rest.List[rest.Pool]{}, Status: ok},
	{Method: get, Path: "/v1/pools/:id", Object: "pool", Action: "read", handling: plain((*API).getPool),
		Summary: "Read a pool, what is in it now and who resolves to it.", Answers: rest.Pool{}, Status: ok, Fails: missing},
	{Method: get, Path: "/v1/pools/:id/history", Object: "pool", Action: "read", handling: plain((*API).poolHistory),
		Summary: "How a pool's slots and queue were: a point a minute of the last six hours, the oldest first. It begins with the server's start.",
		Answers: rest.List[rest.PoolPoint]{}, Status: ok, Fails: missing},
	{Method: post, Path: "/v1/pools/:id/release", Object: "pool", Action: "release", handling: mayTake((*API).releasePool),
		Summary: "End a pool's mass loss: the work of its silent nodes goes elsewhere as their leases run out. A conflict when none stands.",
		Answers: rest.Pool{}, Status: ok, Fails: []int{404, 409}},
}

// poolRoutes are of the pools, and of what leads work to them.
var poolRoutes = []Route{
	{Method: get, Path: "/v1/admin/node-pools", Object: "node-pool", Action: "read", handling: plain((*API).listPools),
		Summary: "List pools by id.", Query: pageQuery, Answers: rest.List[rest.Pool]{}, Status: ok},
	{Method: post, Path: "/v1/admin/node-pools", Object: "node-pool", Action: "create", handling: takes((*API).createPool),
		Summary: "Create a named pool. Until something resolves to it, it is a canary pool.",
		Answers: rest.Pool{}, Status: created, Fails: []int{409, 422}},
	{Method: get, Path: "/v1/admin/node-pools/:id", Object: "node-pool", Action: "read", handling: plain((*API).getPool),
		Summary: "Read a pool, what is in it now and who resolves to it; its ETag is the record's version.",
		Answers: rest.Pool{}, Status: ok, Fails: missing},
	{Method: put, Path: "/v1/admin/node-pools/:id", Object: "node-pool", Action: "change", handling: takes((*API).changePool),
		Summary: "Give a pool another name, state or thresholds; what is absent stays. If-Match is its ETag.",
		Query:   dryRun, Answers: rest.PoolChanged{}, Status: ok, Fails: []int{404, 409, 412}},
	{Method: del, Path: "/v1/admin/node-pools/:id", Object: "node-pool", Action: "delete", handling: plain((*API).deletePool),
		Summary: "Delete a named pool that no node, binding or grant refers to; reason is kept in the audit entry. If-Match is its ETag.",
		Query:   []string{"reason"}, Status: noBody, Fails: []int{404, 409, 412}},
	{Method: post, Path: "/v1/admin/node-pools/:id/promote", Object: "node-pool", Action: "promote", handling: takes((*API).promotePool),
		Summary: "Move all nodes of a canary pool to another pool when the checks hold; otherwise it is a conflict with the reasons, and nothing moves.",
		Query:   dryRun, Answers: rest.Promoted{}, Status: ok, Fails: []int{404, 409, 422}},
	{Method: get, Path: "/v1/admin/app-pool-bindings", Object: "binding", Action: "read", handling: plain((*API).listBindings),
		Summary: "List apps by id with their bindings, and where their work goes.", Query: pageQuery,
		Answers: rest.List[rest.AppBindings]{}, Status: ok},
	{Method: get, Path: "/v1/admin/app-pool-bindings/:id", Object: "binding", Action: "read", handling: plain((*API).getBindings),
		Summary: "Read an app's bindings, and where its work goes; the ETag is the app's version.",
		Answers: rest.AppBindings{}, Status: ok, Fails: missing},
	{Method: put, Path: "/v1/admin/app-pool-bindings/:id", Object: "binding", Action: "change", handling: takes((*API).putBinding),
		Summary: "Bind an app's work of one role, or of every role, to pools: the very next decision uses it. Without pools the binding goes. If-Match is its ETag.",
		Answers: rest.AppBindings{}, Status: ok, Fails: []int{404, 412, 422}},
	{Method: get, Path: "/v1/admin/roles", Object: "role", Action: "read", handling: plain((*API).listRoles),
		Summary: "List the roles that nodes and work may have.", Answers: rest.List[rest.Role]{}, Status: ok},
	{Method: post, Path: "/v1/admin/roles", Object: "role", Action: "create", handling: takes((*API).createRole),
		Summary: "Add a role.", Answers: rest.Role{}, Status: created, Fails: []int{409, 422}},
	{Method: get, Path: "/v1/admin/alignment", Object: "alignment", Action: "read", handling: plain((*API).getAlignment),
		Summary: "What will fail before a request does: apps that resolve to no usable node, pools with nodes that nothing resolves to.",
		Answers: rest.Alignment{}, Status: ok},
}

var alarmRoutes = []Route{
	{Method: get, Path: "/v1/admin/alarms", Object: "alarm", Action: "read", handling: plain((*API).listAlarms),
		Summary: "List alarms, the newest first.", Query: append([]string{"state", "kind", "pool"}, pageQuery...),
		Answers: rest.List[rest.Alarm]{}, Status: ok},
	{Method: get, Path: "/v1/admin/alarms/:id", Object: "alarm", Action: "read", handling: plain((*API).getAlarm),
		Summary: "Read an alarm.", Answers: rest.Alarm{}, Status: ok, Fails: missing},
	{Method: post, Path: "/v1/admin/alarms/:id/ack", Object: "alarm", Action: "acknowledge", handling: plain((*API).ackAlarm),
		Summary: "Say that one knows of a lasting alarm. It lasts until its cause is gone.",
		Answers: rest.Alarm{}, Status: ok, Fails: []int{404, 409}},
	{Method: post, Path: "/v1/admin/alarms/:id/silence", Object: "alarm", Action: "acknowledge", handling: takes((*API).silenceAlarm),
		Summary: "Keep a lasting alarm from people's eyes for a while, also when it is raised anew. For 0s it is seen again.",
		Answers: rest.Alarm{}, Status: ok, Fails: []int{404, 409}},
}

var accountRoutes = []Route{
	{Method: get, Path: "/v1/apps", Object: "app", Action: "read", handling: plain((*API).listApps),
		Summary: "List apps by id.", Query: pageQuery, Answers: rest.List[rest.App]{}, Status: ok},
	{Method: get, Path: "/v1/apps/:id", Object: "app", Action: "read", handling: plain((*API).getApp),
		Summary: "Read an app; its ETag is the record's version.", Answers: rest.App{}, Status: ok, Fails: missing},
	{Method: get, Path: "/v1/apps/:id/candidates", Object: "app", Action: "read", handling: plain((*API).appCandidates),
		Summary: "Where the app's work would go now, without a trace; superadmins see the nodes' ids.",
		Query:   []string{"role", "runner", "slots", "backend", "region"}, Answers: rest.Candidates{}, Status: ok, Fails: []int{404, 422}},
	{Method: post, Path: "/v1/admin/apps", Object: "app", Action: "create", handling: takes((*API).createApp),
		Summary: "Create an app for an owner.", Answers: rest.App{}, Status: created, Fails: []int{409, 422}},
	{Method: put, Path: "/v1/admin/apps/:id/share", Object: "app", Action: "share", handling: takes((*API).setShare),
		Summary: "Set an app's weight and bounds: the very next decision uses them. If-Match is the app's ETag.",
		Answers: rest.App{}, Status: ok, Fails: []int{404, 412, 422}},
	{Method: get, Path: "/v1/usage", Object: "usage", Action: "read", handling: plain((*API).listUsage),
		Summary: "Slot-seconds by day, app and pool, and how much of it was fallback; the last 30 days, or ?since and ?until.",
		Query:   []string{"since", "until", "app", "pool"}, Answers: rest.List[rest.Usage]{}, Status: ok, Fails: []int{413}},
	{Method: get, Path: "/v1/licenses", Object: "license", Action: "read", handling: plain((*API).listLicenses),
		Summary: "List licenses, the oldest first.", Query: pageQuery, Answers: rest.List[rest.License]{}, Status: ok},
	{Method: get, Path: "/v1/licenses/:id", Object: "license", Action: "read", handling: plain((*API).getLicense),
		Summary: "Read a license.", Answers: rest.License{}, Status: ok, Fails: missing},
	{Method: post, Path: "/v1/admin/licenses", Object: "license", Action: "create", handling: takes((*API).createLicense),
		Summary: "Create a license for a user; its code is shown in this answer only.",
		Answers: rest.NewLicense{}, Status: created, Fails: []int{409, 422}},
	{Method: post, Path: "/v1/admin/licenses/:id/revoke", Object: "license", Action: "revoke", handling: mayTake((*API).revokeLicense),
		Summary: "No more nodes join by this license; those that did go on.",
		Answers: rest.License{}, Status: ok, Fails: missing},
	{Method: get, Path: "/v1/admin/users", Object: "user", Action: "read", handling: plain((*API).listUsers),
		Summary: "List users by id.", Query: pageQuery, Answers: rest.List[rest.User]{}, Status: ok},
	{Method: get, Path: "/v1/admin/users/:id", Object: "user", Action: "read", handling: plain((*API).getUser),
		Summary: "Read a user.", Answers: rest.User{}, Status: ok, Fails: missing},
	{Method: post, Path: "/v1/admin/users", Object: "user", Action: "create", handling: takes((*API).createUser),
		Summary: "Create a user with the pool pool-<id>.", Answers: rest.User{}, Status: created, Fails: []int{409}},
	{Method: put, Path: "/v1/admin/users/:id/roles", Object: "user", Action: "grant", handling: takes((*API).setRoles),
		Summary: "Set a user's roles. The last superadmin stays one.",
		Answers: rest.User{}, Status: ok, Fails: []int{404, 409}},
	{Method: put, Path: "/v1/admin/users/:id/password", Object: "user", Action: "password", handling: takes((*API).setPassword),
		Summary: "Give a user a new password; the user's console sessions end.", Status: noBody, Fails: missing},
	{Method: post, Path: "/v1/admin/users/:id/tokens", Object: "user-token", Action: "create", handling: takes((*API).createUserToken),
		Summary: "Create an API token for a user; it is shown in this answer only.",
		Answers: rest.NewToken{}, Status: created, Fails: refused},
	{Method: post, Path: "/v1/session", Object: "session", Action: "open", handling: takes((*API).openSession),
		Summary: "Sign in by name and password; the answer's cookie is the credential of a console.",
		Answers: rest.Session{}, Status: ok},
	{Method: get, Path: "/v1/session", Object: "session", Action: "read", handling: plain((*API).getSession),
		Summary: "Who is signed in.", Answers: rest.Session{}, Status: ok},
	{Method: del, Path: "/v1/session", Object: "session", Action: "close", handling: plain((*API).closeSession),
		Summary: "Sign out: the session and its sockets end.", Status: noBody, Fails: []int{409}},
	{Method: put, Path: "/v1/session/password", Object: "session", Action: "password", handling: takes((*API).changePassword),
		Summary: "Change one's own password. All console sessions end but this one, which gets a new cookie.", Status: noBody},
	{Method: get, Path: "/v1/tokens", Object: "token", Action: "read", handling: plain((*API).listTokens),
		Summary: "List one's own API tokens, the oldest first.", Query: pageQuery,
		Answers: rest.List[rest.Token]{}, Status: ok},
	{Method: post, Path: "/v1/tokens", Object: "token", Action: "create", handling: takes((*API).createToken),
		Summary: "Create an API token for oneself; it is shown in this answer only.",
		Answers: rest.NewToken{}, Status: created, Fails: []int{409, 422}},
	{Method: del, Path: "/v1/tokens/:id", Object: "token", Action: "delete", handling: plain((*API).deleteToken),
		Summary: "Take one of one's own API tokens out of use.", Status: noBody, Fails: missing},
	{Method: post, Path: "/v1/setup", Object: "setup", Action: "redeem", handling: takes((*API).redeemSetup),
		Summary: "Exchange the one-time setup token for the first superadmin, with a password or an API token.",
		Answers: rest.SetupDone{}, Status: created, Fails: []int{401, 409, 429}},
}

var artifactRoutes = []Route{
	{Method: post, Path: "/v1/artifacts", Object: "artifact", Action: "upload", handling: plain((*API).postArtifact),
		Summary: "Upload a file; the answer names its digest. ?digest and Content-Digest are checked.",
		Query:   []string{"digest"}, Answers: rest.Artifact{}, Status: created, Fails: []int{413, 422, 507}, Streams: true},
	{Method: put, Path: "/v1/artifacts/:digest", Object: "artifact", Action: "put", handling: plain((*API).putArtifact),
		Summary: "Upload a file under its digest, which is checked. A node names ?job and ?attempt: an output of one that it holds, which is the app owner's.",
		Query:   []string{"job", "attempt"}, Answers: rest.Artifact{}, Status: created, Fails: []int{404, 413, 422, 507}, Streams: true},
	{Method: get, Path: "/v1/artifacts/:digest", Object: "artifact", Action: "read", handling: plain((*API).getArtifact),
		Summary: "Download a file. A node gets the inputs of the jobs that are open on it.",
		Media:   "application/octet-stream", Status: []int{200, 206, 304}, Fails: []int{404, 416}, Streams: true},
	{Method: head, Path: "/v1/artifacts/:digest", Object: "artifact", Action: "read", handling: plain((*API).getArtifact),
		Summary: "Is the file there, and how large is it?", Status: []int{200, 206, 304}, Fails: []int{404, 416}, Streams: true},
	{Method: head, Path: "/v1/uploads/:digest", Object: "artifact", Action: "put", handling: plain((*API).uploadOffset),
		Summary: "How much of one's upload in parts is there? Upload-Offset says it; 0 when there is none. A node names ?job and ?attempt.",
		Query:   []string{"job", "attempt"}, Status: noBody, Fails: missing},
	{Method: patch, Path: "/v1/uploads/:digest", Object: "artifact", Action: "put", handling: plain((*API).patchUpload),
		Summary: "Upload the next bytes of a file, from Upload-Offset on. 204 says how many are there, 201 that all are and that the digest is true. Another offset than what is there is 409.",
		Query:   []string{"job", "attempt"}, Answers: rest.Artifact{}, Status: []int{201, 204}, Fails: []int{404, 409, 413, 422, 507}, Streams: true},
}

var systemRoutes = []Route{
	{Method: get, Path: "/v1/admin/audit", Object: "audit", Action: "read", handling: plain((*API).listAudit),
		Summary: "List audit entries, the newest first; those that have the texts asked for.", Query: append([]string{"action", "object", "actor", "reason", "text"}, pageQuery...),
		Answers: rest.List[rest.AuditEntry]{}, Status: ok},
	{Method: get, Path: "/v1/admin/audit/isolation", Object: "audit", Action: "verify", handling: plain((*API).auditIsolation),
		Summary: "Read the kept history again: did work run on a node outside its pools without a record of fallback?",
		Query:   []string{"since"}, Answers: rest.Isolation{}, Status: ok},
	{Method: get, Path: "/v1/admin/audit/verify", Object: "audit", Action: "verify", handling: plain((*API).verifyAudit),
		Summary: "Check the whole chain of audit entries.", Answers: rest.AuditVerified{}, Status: ok},
	{Method: get, Path: "/v1/channel", Object: "channel", Action: "open", handling: plain((*API).openChannel),
		Summary: "Upgrade to the WebSocket channel: a node with its secret or a license code, a console with its cookie.",
		Status:  []int{101}, Fails: []int{426, 429}, Streams: true, Delegated: true},
	{Method: get, Path: "/v1/openapi.json", Object: "openapi", Action: "read", handling: plain((*API).getOpenAPI),
		Summary: "This document.", Media: "application/json", Status: ok},
	{Method: get, Path: "/v1/version", Object: "version", Action: "read", handling: plain((*API).getVersion),
		Summary: "What runs here.", Answers: rest.Version{}, Status: ok},
	{Method: get, Path: "/livez", Object: "health", Action: "read", handling: plain((*API).livez),
		Summary: "The process answers.", Answers: rest.Health{}, Status: ok},
	{Method: get, Path: "/readyz", Object: "health", Action: "read", handling: plain((*API).readyz),
		Summary: "The server can do its work.", Answers: rest.Health{}, Status: []int{200, 503}},
}

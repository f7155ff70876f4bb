package api

import (
	"context"
	"time"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// Store is what the API needs of the database, by resource. Errors are
// *fleet.Error: not_found for a missing row and for another owner's, conflict,
// unavailable. An owner of nil filters nothing. Every write takes its audit
// entry into its transaction.
type Store interface {
	JobStore
	PlacementStore
	IdempotencyStore
	NodeStore
	NodeChanges
	PoolStore
	PromotionStore
	BindingStore
	RoleStore
	AlarmStore
	UsageStore
	AppStore
	LicenseStore
	UserStore
	TokenStore
	PasswordStore
	SetupStore
	ArtifactStore
	OutputStore
	AuditStore
}

// JobStore reads jobs.
type JobStore interface {
	Job(ctx context.Context, id ids.JobID, scope record.Scope) (record.Job, error)
	Jobs(ctx context.Context, filter record.JobFilter, page record.Page) ([]record.Job, error) // newest first
	JobAttempts(ctx context.Context, id ids.JobID) ([]record.Attempt, error)                   // superseded ones
	JobLog(ctx context.Context, id ids.JobID) (record.JobLog, error)
	Passed(ctx context.Context, job *record.Job, pool string) (record.Passed, error)
}

// PlacementStore reads placements.
type PlacementStore interface {
	Placement(ctx context.Context, id ids.JobID, scope record.Scope) (record.Placement, error)
	Placements(ctx context.Context, filter record.PlacementFilter, page record.Page) ([]record.Placement, error) // newest first
}

// IdempotencyStore finds an earlier POST of the same user with the same key. Of one
// that makes no work the key is claimed before: the claim goes along with the actor,
// and ends with an answer that is remembered, or forgotten.
type IdempotencyStore interface {
	IdempotentWork(ctx context.Context, user int64, key string) (record.Idempotent, bool, error)
	ClaimKey(ctx context.Context, user int64, key string, digest [32]byte) (record.Claim, *record.Idempotent, error)
	RememberAnswer(ctx context.Context, claim record.Claim, answer record.Answer) error
	ForgetKey(ctx context.Context, claim record.Claim) error
}

// NodeStore reads nodes.
type NodeStore interface {
	Node(ctx context.Context, id string) (record.Node, error)
	Nodes(ctx context.Context, scope record.Scope, page record.Page) ([]record.Node, error)
	NodeInventory(ctx context.Context, id string) (*record.Inventory, error)
	NodeFacts(ctx context.Context, id string) (record.NodeFacts, error)
}

// NodeChanges writes nodes' records.
type NodeChanges interface {
	CreateNode(ctx context.Context, actor record.Actor, node record.Node, secretSum [32]byte) (record.Node, error)
	MoveNode(ctx context.Context, actor record.Actor, node, pool, reason string, ifVersion *int64) (from string, moved fleet.NodeRecord, err error)
	LeaveNode(ctx context.Context, actor record.Actor, node, reason string) (fleet.NodeRecord, error)
	RevokeNode(ctx context.Context, actor record.Actor, node, reason string) (fleet.NodeRecord, error)
	DrainNode(ctx context.Context, actor record.Actor, node string, deadline *time.Time, reason string, ifVersion *int64) (fleet.NodeRecord, error)
	CordonNode(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error)
	RotateNode(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error)
	RepairNode(ctx context.Context, actor record.Actor, node, keep, reason string, ifVersion *int64) (fleet.NodeRecord, error)
	SetNextSecret(ctx context.Context, node, rotation string, sum [32]byte) (fleet.NodeRecord, error)
	UncordonNode(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error)
}

// PoolStore reads and writes pools. An edit gets the pool as it is.
type PoolStore interface {
	Pool(ctx context.Context, id string) (fleet.Pool, error)
	ThresholdsChanged(ctx context.Context, pool string) (*record.Change, error) // nil: never
	CreatePool(ctx context.Context, actor record.Actor, pool fleet.Pool, reason string) (fleet.Pool, error)
	ChangePool(ctx context.Context, actor record.Actor, id string, edit func(*fleet.Pool) error, reason string, ifVersion *int64) (fleet.Pool, error)
	DeletePool(ctx context.Context, actor record.Actor, id, reason string, ifVersion *int64) error
}

// PromotionStore counts the canary jobs that succeeded on a pool, of those submitted
// since then, and moves nodes from one pool to another, all or none.
type PromotionStore interface {
	CanaryJobs(ctx context.Context, pool string, since time.Time) (int64, error)
	MoveNodes(ctx context.Context, actor record.Actor, from, to string, nodes []string, action, reason string) ([]fleet.NodeRecord, error)
}

// BindingStore reads and writes apps' bindings. A binding without pools is taken away.
type BindingStore interface {
	Bindings(ctx context.Context, app string) ([]fleet.Binding, error)
	BindingsOf(ctx context.Context, apps []string) (map[string][]fleet.Binding, error)
	PutBinding(ctx context.Context, actor record.Actor, app string, binding fleet.Binding, reason string, ifVersion *int64) (fleet.App, int64, error)
}

// RoleStore reads and creates roles.
type RoleStore interface {
	Roles(ctx context.Context) ([]record.Role, error)
	CreateRole(ctx context.Context, actor record.Actor, name, reason string) (record.Role, error)
}

// AppStore reads, creates and changes apps.
type AppStore interface {
	CreateApp(ctx context.Context, actor record.Actor, app record.App) (record.App, error)
	App(ctx context.Context, id string) (record.App, error)
	Apps(ctx context.Context, owner *int64, page record.Page) ([]record.App, error)
	SetShare(ctx context.Context, actor record.Actor, app string, share fleet.Share, reason string, ifVersion *int64) (fleet.App, int64, error)
}

// LicenseStore reads, creates and revokes licenses.
type LicenseStore interface {
	CreateLicense(ctx context.Context, actor record.Actor, license record.License, codeSum [32]byte) (record.License, error)
	License(ctx context.Context, id string) (record.License, error)
	Licenses(ctx context.Context, user *int64, page record.Page) ([]record.License, error)
	RevokeLicense(ctx context.Context, actor record.Actor, id, reason string) (record.License, error)
}

// UserStore reads and writes users. CreateUser makes the user's pool too; an empty
// hash: no password.
type UserStore interface {
	CreateUser(ctx context.Context, actor record.Actor, user record.User, passwordHash string) (record.User, error)
	User(ctx context.Context, id int64) (record.User, error)
	Users(ctx context.Context, page record.Page) ([]record.User, error)
	SetUserRoles(ctx context.Context, actor record.Actor, id int64, roles []string, grants []record.Grant, reason string) (record.User, error)
}

// TokenStore reads and writes API tokens.
type TokenStore interface {
	CreateToken(ctx context.Context, actor record.Actor, token record.Token, secretSum [32]byte) (record.Token, error)
	Tokens(ctx context.Context, user int64, page record.Page) ([]record.Token, error)
	DeleteToken(ctx context.Context, actor record.Actor, user int64, id string) error
}

// PasswordStore writes passwords' hashes and console sessions.
type PasswordStore interface {
	access.PasswordStore
	SetPassword(ctx context.Context, actor record.Actor, user int64, hash, reason string) error
	CreateConsoleSession(ctx context.Context, actor record.Actor, user int64, sum [32]byte, expires time.Time) error
	EndConsoleSession(ctx context.Context, actor record.Actor, user int64, sum [32]byte) error
}

// SetupStore makes the first superadmin, once.
type SetupStore interface {
	RedeemSetupToken(ctx context.Context, actor record.Actor, sum [32]byte, userName, passwordHash string, token record.Token, tokenSum [32]byte) (record.User, record.Token, error)
}

// ArtifactStore keeps whose artifacts there are; the bytes are on the disk.
type ArtifactStore interface {
	PutArtifact(ctx context.Context, artifact record.Artifact) error
	Artifact(ctx context.Context, digest string, owner *int64) (record.Artifact, error)
	UseArtifact(ctx context.Context, digest string, owner *int64) (record.Artifact, error) // keeps it for a job's sake
	ArtifactForNode(ctx context.Context, digest, node string) (record.Artifact, error)
}

// OutputStore takes the outputs of an attempt that a node holds, for their owner:
// not_found when it does not, or not any more.
type OutputStore interface {
	HoldsAttempt(ctx context.Context, node string, job ids.JobID, attempt int32) (owner int64, err error)
	PutOutput(ctx context.Context, node string, job ids.JobID, attempt int32, artifact record.Artifact) error
}

// AlarmStore reads alarms, in times of the dispatch loop's clock.
type AlarmStore interface {
	Alarms(ctx context.Context, filter record.AlarmFilter, page record.Page) ([]fleet.Alarm, error) // newest first
	Alarm(ctx context.Context, id int64, scope record.Scope) (fleet.Alarm, error)
}

// UsageStore adds up what work took.
type UsageStore interface {
	Usage(ctx context.Context, since, until time.Time, filter record.UsageFilter) ([]record.Usage, error)
}

// AuditStore reads the audit chain and checks it, badSeq 0: the chain is whole. The
// audit of isolation reads the history of work.
type AuditStore interface {
	Audit(ctx context.Context, filter record.AuditFilter, page record.Page) ([]record.AuditEntry, error)
	AuditIsolation(ctx context.Context, since *time.Time) (record.Isolation, error)
	VerifyAudit(ctx context.Context) (head record.AuditEntry, badSeq int64, err error)
}

// clock is where the API takes its time from.
type clock = func() time.Time

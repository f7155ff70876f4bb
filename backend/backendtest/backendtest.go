// Package backendtest is for tests outside of backend: the REST client, the
// documents, the load generator's scripted nodes and its rulers under names that they may
// import.
package backendtest

import (
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/load"
	"rockpool/backend/internal/rest"
)

// The client of a server, and what it asks and answers.
type (
	Client           = client.Client
	ClientOptions    = client.Options
	JobFilter        = client.JobFilter
	PlacementFilter  = client.PlacementFilter
	NodeFilter       = client.NodeFilter
	Page             = client.Page
	Problem          = client.Problem
	Reason           = rest.Reason
	Job              = rest.Job
	JobRequest       = rest.JobRequest
	JobLog           = rest.JobLog
	Attempt          = rest.Attempt
	Decision         = rest.Decision
	Demands          = rest.Demands
	Duration         = rest.Duration
	Scalar           = rest.Scalar
	Node             = rest.Node
	Hold             = rest.Hold
	Claimant         = rest.Claimant
	MoveRequest      = rest.MoveRequest
	Moved            = rest.Moved
	DrainRequest     = rest.DrainRequest
	Drained          = rest.Drained
	Pool             = rest.Pool
	Isolation        = rest.Isolation
	Grant            = rest.Grant
	Placement        = rest.Placement
	PlacementRequest = rest.PlacementRequest
	ShareRequest     = rest.ShareRequest
	Share            = rest.Share
	CancelSelection  = rest.CancelSelection
	PromoteChecks    = rest.PromoteChecks
	PromoteRequest   = rest.PromoteRequest
	Alarm            = rest.Alarm
	AlarmFilter      = client.AlarmFilter
	Preview          = client.Preview
	BindingRequest   = rest.BindingRequest
	Binding          = rest.Binding
	UnresolvedPool   = rest.UnresolvedPool
	MisalignedApp    = rest.MisalignedApp
	PoolChange       = rest.PoolChange
	PoolRequest      = rest.PoolRequest
	RoleRequest      = rest.RoleRequest
	Pair             = rest.Pair
	User             = rest.User
	UserRequest      = rest.UserRequest
	RolesRequest     = rest.RolesRequest
	App              = rest.App
	AppRequest       = rest.AppRequest
	License          = rest.License
	LicenseRequest   = rest.LicenseRequest
	NewLicense       = rest.NewLicense
	SetupRequest     = rest.SetupRequest
	SetupDone        = rest.SetupDone
	Token            = rest.Token
	TokenRequest     = rest.TokenRequest
	NewToken         = rest.NewToken
	Artifact         = rest.Artifact
	AuditEntry       = rest.AuditEntry
	AuditVerified    = rest.AuditVerified
	Health           = rest.Health
	Frozen           = rest.Frozen
)

// A node whose every move the caller decides, over a real socket.
type (
	ScriptedNode        = load.Node
	ScriptedNodeOptions = load.NodeOptions
	ScriptedSession     = load.Session
)

// A fleet of scripted nodes in a process of its own: `rockpool load fleet`.
type (
	Fleet       = load.Fleet
	FleetOrder  = load.FleetOrder
	FleetReport = load.FleetReport
)

// Commands to a fleet.
const (
	FleetReports = load.FleetReports
	FleetOpened  = load.FleetOpened
	FleetForgets = load.FleetForgets
	FleetEnds    = load.FleetEnds
)

// StartFleet runs rockpool, which program names, as a fleet.
func StartFleet(program string, order FleetOrder) (*Fleet, error) {
	return load.StartFleet(program, order)
}

// ProcessTime is the CPU time of a process alone.
func ProcessTime(pid int) (time.Duration, error) { return load.ProcessTime(pid) }

// TreeTime is the CPU time of a process and its children.
func TreeTime(pid int) (time.Duration, error) { return load.TreeTime(pid) }

// Children are the process ids of a process's children that live.
func Children(pid int) ([]int, error) { return load.Children(pid) }

// Resident is a process's memory in bytes, shared pages and all.
func Resident(pid int) (int64, error) { return load.Resident(pid) }

// NewScriptedNode makes a node; it does not connect.
func NewScriptedNode(o ScriptedNodeOptions) *ScriptedNode { return load.NewNode(o) }

// NewClient makes a client; it does not connect.
func NewClient(o ClientOptions) (*Client, error) { return client.New(o) }

// Ended reports a job in a state that never changes again.
func Ended(job Job) bool { return client.Ended(job) }

package fleet

import "rockpool/shared/ids"

// AlarmKind is what an alarm is about.
type AlarmKind string

// The kinds of alarms.
const (
	AlarmPoolExhausted   AlarmKind = "pool_exhausted"        // work of this fingerprint finds no candidate
	AlarmQueueWait       AlarmKind = "queue_wait"            // the pool's oldest job waits past its threshold
	AlarmFreeSlots       AlarmKind = "free_slots"            // too few free slots while work waits
	AlarmNodesNotReady   AlarmKind = "nodes_not_ready"       // too large a share of the pool's nodes
	AlarmMassLoss        AlarmKind = "mass_loss"             // most of the pool's nodes fell silent at once
	AlarmNodeLost        AlarmKind = "node_lost"             // a node's lease ran out
	AlarmNodeFlapping    AlarmKind = "node_flapping"         // a node came and went too often
	AlarmRejectingOffers AlarmKind = "node_rejecting_offers" // a node declined or failed to start one job after the other
	AlarmNodeDeaf        AlarmKind = "node_deaf"             // a node heartbeats and answers no offers
	AlarmDuplicate       AlarmKind = "duplicate_identity"    // two processes came with a node's secret
	AlarmRestoredBackup  AlarmKind = "restored_backup"       // nodes know of sessions that the database does not
)

// AlarmKinds lists all kinds.
func AlarmKinds() []AlarmKind {
	return []AlarmKind{
		AlarmPoolExhausted, AlarmQueueWait, AlarmFreeSlots, AlarmNodesNotReady, AlarmMassLoss, AlarmNodeLost, AlarmNodeFlapping, AlarmRejectingOffers, AlarmNodeDeaf,
		AlarmDuplicate, AlarmRestoredBackup,
	}
}

// Severity ranks alarms for people.
type Severity string

// Critical: work is refused or lost its place. Warning: it may soon.
const (
	SeverityCritical Severity = "critical"
	SeverityWarning  Severity = "warning"
)

// Severity of the kind.
func (k AlarmKind) Severity() Severity {
	switch k {
	case AlarmPoolExhausted, AlarmNodesNotReady, AlarmMassLoss, AlarmDuplicate, AlarmRestoredBackup:
		return SeverityCritical
	}
	return SeverityWarning
}

// Fingerprint tells one alarm from another: what happens again under the same
// one is counted, not raised anew. Pool is the first pool resolved. Fields that
// a kind has no use for are empty.
type Fingerprint struct {
	Kind AlarmKind
	Role string
	Pool string
	App  string
	Node string
}

// MaxAlarmWaiting bounds the waiting work that an alarm names.
const MaxAlarmWaiting = 50

// Alarm is one thing that is wrong, from when it was raised until it resolved
// itself. People acknowledge or silence it; they can't resolve it.
type Alarm struct {
	ID int64 // the shard's epoch x 2^20 + a number: unique for ever
	Fingerprint
	Count      int64 // how often it was seen
	RaisedAt   Time
	LastAt     Time // when it was last seen
	ResolvedAt Time // 0: it lasts
	Waiting    []ids.JobID
	WaitingNow int64  // all of them
	Detail     string // one line for people: the newest reasons

	AckedBy       string
	AckedAt       Time // 0: nobody has
	SilencedBy    string
	SilencedUntil Time // it is kept from people's eyes until then, also when raised anew
}

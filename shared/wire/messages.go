// Package wire is the channel's language: framing, the messages of rockpool.v1
// and their limits (docs/protocol.md). It is the only package that touches
// msgpack, and every decode is preceded by the pre-scan of wire/prescan.
//
// A message's body is a struct here, never `any`. Keys and meanings never
// change; new keys are optional. Integers stay below 2^53, ids are strings,
// labels are lists of pairs, durations are milliseconds.
package wire

// Protocol versions that this build speaks; hello and welcome agree on one.
const (
	ProtoMin = 1
	ProtoMax = 1
	// Subprotocol is what the WebSocket upgrade must agree on.
	Subprotocol = "rockpool.v1"
	// ChannelPath is the one endpoint of agents and consoles.
	ChannelPath = "/v1/channel"
	// NodeSecretHeader carries a new agent's own secret beside its license code.
	NodeSecretHeader = "Rockpool-Node-Secret"
)

// Agree gives the protocol of a session with somebody who speaks from lowest to
// highest: the newest that both know. False: there is none.
func Agree(lowest, highest int64) (proto int64, ok bool) {
	proto = min(highest, ProtoMax)
	return proto, proto >= max(lowest, ProtoMin)
}

// Type names a message (key "t").
type Type string

// The messages of the agent's side of the channel.
const (
	TypeHello        Type = "hello"
	TypeWelcome      Type = "welcome"
	TypeRefused      Type = "refused"
	TypeHeartbeat    Type = "heartbeat"
	TypeHeartbeatAck Type = "heartbeat_ack"
	TypeOffer        Type = "offer"
	TypeAccept       Type = "accept"
	TypeDecline      Type = "decline"
	TypeStart        Type = "start"
	TypeVoid         Type = "void"
	TypeProgress     Type = "progress"
	TypeResult       Type = "result"
	TypeResultAck    Type = "result_ack"
	TypeCancel       Type = "cancel"
	TypeLogRequest   Type = "log_request"
	TypeLog          Type = "log"
	TypeInventory    Type = "inventory"
	TypeRotate       Type = "rotate"
	TypeRotated      Type = "rotated"
	TypeGoodbye      Type = "goodbye"
	TypeError        Type = "error"
)

// Pair is one label, endpoint or parameter. Lists of pairs stand where a map
// would let a hostile key such as __proto__ reach a browser.
type Pair struct {
	Name  string `msgpack:"n"`
	Value string `msgpack:"v"`
}

// Amount is so much of one named thing: a resource in units, a memory domain in MiB.
type Amount struct {
	Name   string `msgpack:"n"`
	Amount int64  `msgpack:"a"`
}

// Capacity is what a node claims to have, or a job demands. Slots count whole
// slots, Resources are units by name, Memory is MiB by domain.
type Capacity struct {
	Slots     int64    `msgpack:"slots"`
	Resources []Amount `msgpack:"resources,omitempty"`
	Memory    []Amount `msgpack:"memory,omitempty"`
}

// Phase of an attempt on its node.
type Phase string

// An accepted attempt waits for start; a running one has had it; a stopping one
// is being canceled. What is finished stands in the spool, not in the list.
const (
	PhaseAccepted Phase = "accepted"
	PhaseRunning  Phase = "running"
	PhaseStopping Phase = "stopping"
)

// AttemptRef names one attempt of one job: the key on which all correctness rests.
type AttemptRef struct {
	Job     string `msgpack:"job"`
	Attempt int64  `msgpack:"attempt"`
}

// RunningWork is one line of what a node runs.
type RunningWork struct {
	Job     string `msgpack:"job"`
	Attempt int64  `msgpack:"attempt"`
	Phase   Phase  `msgpack:"phase"`
	Percent int64  `msgpack:"percent,omitempty"`
}

// Hello opens a session, within 10 s of the upgrade. It has no pool: the
// control plane decides that. NodeID is a wish, heard at a first registration only.
// Chain is what the newest welcome gave: a copied state directory shows by it.
type Hello struct {
	NodeID       string        `msgpack:"node_id,omitempty"`
	ProtoMin     int64         `msgpack:"proto_min"`
	ProtoMax     int64         `msgpack:"proto_max"`
	AgentVersion string        `msgpack:"agent_version"`
	OS           string        `msgpack:"os"`
	Arch         string        `msgpack:"arch"`
	MachineID    string        `msgpack:"machine_id"`
	BootID       string        `msgpack:"boot_id"`
	LastEpoch    int64         `msgpack:"last_epoch"`
	Chain        string        `msgpack:"chain,omitempty"`
	Role         string        `msgpack:"role"`
	Region       string        `msgpack:"region,omitempty"`
	Endpoints    []Pair        `msgpack:"endpoints,omitempty"`
	Backend      string        `msgpack:"backend"`
	Capacity     Capacity      `msgpack:"capacity"`
	Runners      []string      `msgpack:"runners"`
	Labels       []Pair        `msgpack:"labels,omitempty"`
	Running      []RunningWork `msgpack:"running,omitempty"`
	Spooled      int64         `msgpack:"spooled"`
}

// Limits of a session, told in welcome and enforced by both sides. Bytes and items.
type Limits struct {
	Frame  int64 `msgpack:"frame"`
	String int64 `msgpack:"string"`
	List   int64 `msgpack:"list"`
}

// Times of the lease, in milliseconds; the server owns them.
type Times struct {
	Heartbeat    int64 `msgpack:"heartbeat"`
	Suspect      int64 `msgpack:"suspect"`
	Lost         int64 `msgpack:"lost"`
	RedialWindow int64 `msgpack:"redial_window"`
}

// Hold is one reason why a node gets no new work.
type Hold struct {
	Kind   string `msgpack:"kind"`
	Owner  string `msgpack:"owner"`
	Reason string `msgpack:"reason,omitempty"`
}

// Welcome answers hello. Pool is for the node's information only. Chain is what the
// node says in its next hello; it stores it before it sends a heartbeat.
type Welcome struct {
	Proto  int64        `msgpack:"proto"`
	NodeID string       `msgpack:"node_id"`
	Epoch  int64        `msgpack:"epoch"`
	Chain  string       `msgpack:"chain,omitempty"`
	Limits Limits       `msgpack:"limits"`
	Times  Times        `msgpack:"times"`
	Pool   string       `msgpack:"pool"`
	Holds  []Hold       `msgpack:"holds,omitempty"`
	Void   []AttemptRef `msgpack:"void,omitempty"`
}

// Refused answers a hello that can't be taken. The codes are those of REST.
type Refused struct {
	Code         string `msgpack:"code"`
	Detail       string `msgpack:"detail"`
	RetryAfterMs int64  `msgpack:"retry_after_ms,omitempty"`
	Fatal        bool   `msgpack:"fatal,omitempty"`
}

// Health as the node sees itself; a node with OK false gets no offers.
type Health struct {
	OK      bool     `msgpack:"ok"`
	Reasons []string `msgpack:"reasons,omitempty"`
}

// Heartbeat says what is true of the node now; latest wins.
type Heartbeat struct {
	Accepting bool          `msgpack:"accepting"`
	Reason    string        `msgpack:"reason,omitempty"`
	Running   []RunningWork `msgpack:"running,omitempty"`
	Spooled   int64         `msgpack:"spooled"`
	Health    Health        `msgpack:"health"`
	LoadMilli int64         `msgpack:"load,omitempty"`   // load average x 1000
	MemoryMiB int64         `msgpack:"memory,omitempty"` // MiB in use
	// RoundTrip is how long the answer to an earlier heartbeat of the session took, in
	// milliseconds, 1 at least; 0: none was measured.
	RoundTrip int64 `msgpack:"round_trip,omitempty"`
	// Unsaved: the node could not store the chain value of its welcome yet, and shows
	// the one before if it starts anew now.
	Unsaved bool `msgpack:"unsaved,omitempty"`
	// At is what the node's wall clock says, in milliseconds since 1970; 0: it tells
	// none. It is compared for people to see and for nothing else.
	At int64 `msgpack:"at,omitempty"`
}

// Reconnect asks the agent to dial anew after a delay (a planned stop).
type Reconnect struct {
	DelayMs int64 `msgpack:"delay_ms"`
}

// CancelRef is a cancel repeated in a heartbeat's acknowledgement.
type CancelRef struct {
	Job     string `msgpack:"job"`
	Attempt int64  `msgpack:"attempt"`
	GraceMs int64  `msgpack:"grace_ms"`
}

// HeartbeatAck is level-triggered: what must be true of the node is repeated
// here until it is. OK false means that the session is unknown: register again.
type HeartbeatAck struct {
	OK        bool         `msgpack:"ok"`
	LeaseMs   int64        `msgpack:"lease_ms"`
	Holds     []Hold       `msgpack:"holds,omitempty"`
	Cancel    []CancelRef  `msgpack:"cancel,omitempty"`
	Void      []AttemptRef `msgpack:"void,omitempty"`
	Reconnect *Reconnect   `msgpack:"reconnect,omitempty"`
}

// Input is a file that the agent fetches into the job's directory before start.
// Digest is "sha256:" and 64 hex digits, Size its length in bytes.
type Input struct {
	Name   string `msgpack:"n"`
	Digest string `msgpack:"digest"`
	Size   int64  `msgpack:"size"`
}

// Payload fills the declared parameters and inputs of a runner, nothing else.
type Payload struct {
	Params []Pair  `msgpack:"params,omitempty"`
	Inputs []Input `msgpack:"inputs,omitempty"`
}

// RunLimits bound one attempt. RunMs 0: the runner's own timeout alone.
type RunLimits struct {
	RunMs int64 `msgpack:"run_ms,omitempty"`
}

// Offer is committed to this node before it is sent. DeadlineMs is how long an
// answer is waited for.
type Offer struct {
	Job        string    `msgpack:"job"`
	Attempt    int64     `msgpack:"attempt"`
	App        string    `msgpack:"app"`
	Runner     string    `msgpack:"runner"`
	Backend    string    `msgpack:"backend,omitempty"`
	Payload    Payload   `msgpack:"payload"`
	Demands    Capacity  `msgpack:"demands"`
	Limits     RunLimits `msgpack:"limits"`
	DeadlineMs int64     `msgpack:"deadline_ms"`
}

// Accept answers an offer; work begins only after Start.
type Accept struct {
	Job     string `msgpack:"job"`
	Attempt int64  `msgpack:"attempt"`
}

// Decline answers an offer that the node can't take.
type Decline struct {
	Job     string `msgpack:"job"`
	Attempt int64  `msgpack:"attempt"`
	Reason  string `msgpack:"reason"`
}

// Start lets an accepted attempt begin. A second one for the same attempt changes nothing.
type Start struct {
	Job     string `msgpack:"job"`
	Attempt int64  `msgpack:"attempt"`
}

// Void tells the node to forget an attempt, and to stop it if it runs.
type Void struct {
	Job     string `msgpack:"job"`
	Attempt int64  `msgpack:"attempt"`
}

// Progress is latest-wins and never written to the database.
type Progress struct {
	Job     string `msgpack:"job"`
	Attempt int64  `msgpack:"attempt"`
	Percent int64  `msgpack:"percent"`
	Note    string `msgpack:"note,omitempty"`
}

// ResultStatus is how an attempt ended on its node.
type ResultStatus string

// The ends of an attempt that a node can report.
const (
	ResultSucceeded ResultStatus = "succeeded"
	ResultFailed    ResultStatus = "failed"
	ResultTimedOut  ResultStatus = "timed_out"
	ResultCanceled  ResultStatus = "canceled"
)

// Output is one declared output file of an attempt.
type Output struct {
	Name   string `msgpack:"n"`
	Digest string `msgpack:"digest"`
	Size   int64  `msgpack:"size"`
}

// Result of an attempt: spooled on the node's disk before it is sent, resent
// until acknowledged. Output is a JSON document or empty; Head and Tail are the
// two ends of the log, together at most 64 KiB with Output.
type Result struct {
	Job      string       `msgpack:"job"`
	Attempt  int64        `msgpack:"attempt"`
	Status   ResultStatus `msgpack:"status"`
	Reason   string       `msgpack:"reason,omitempty"`    // a reason code of core/fleet
	Detail   string       `msgpack:"detail,omitempty"`    // one line for people
	ExitCode *int64       `msgpack:"exit_code,omitempty"` // none: no program ran
	Output   []byte       `msgpack:"output,omitempty"`
	Head     []byte       `msgpack:"head,omitempty"`
	Tail     []byte       `msgpack:"tail,omitempty"`
	LogBytes int64        `msgpack:"log_bytes,omitempty"` // of the whole log, kept or not
	Outputs  []Output     `msgpack:"outputs,omitempty"`
	FetchMs  int64        `msgpack:"fetch_ms,omitempty"`
	RunMs    int64        `msgpack:"run_ms,omitempty"`
}

// Verdict on a result; each frees the spool.
type Verdict string

// The verdicts of design rule "exactly one accepted result".
const (
	VerdictStored    Verdict = "stored"
	VerdictDuplicate Verdict = "duplicate"
	VerdictFenced    Verdict = "fenced"
	VerdictCanceled  Verdict = "canceled"
)

// ResultAck answers a result.
type ResultAck struct {
	Job     string  `msgpack:"job"`
	Attempt int64   `msgpack:"attempt"`
	Verdict Verdict `msgpack:"verdict"`
}

// Cancel asks for TERM, then after the grace KILL, to the whole process group.
type Cancel struct {
	Job     string `msgpack:"job"`
	Attempt int64  `msgpack:"attempt"`
	GraceMs int64  `msgpack:"grace_ms"`
}

// LogStream names what of an attempt's output is asked for.
type LogStream string

// LogOutput is stdout and stderr together, as they came.
const LogOutput LogStream = "output"

// LogRequest asks for at most Max bytes of a running attempt's log, from Offset on.
// One request is open for an attempt: the latest one counts.
type LogRequest struct {
	Job     string    `msgpack:"job"`
	Attempt int64     `msgpack:"attempt"`
	Stream  LogStream `msgpack:"stream"`
	Offset  int64     `msgpack:"offset"`
	Max     int64     `msgpack:"max"`
}

// Log answers a LogRequest, which is answered once, and nothing else is sent.
// Offset is where Bytes begin: beyond the asked one when the node does not keep
// what stood between. No bytes: there was nothing new for a while, or End.
type Log struct {
	Job     string    `msgpack:"job"`
	Attempt int64     `msgpack:"attempt"`
	Stream  LogStream `msgpack:"stream"`
	Offset  int64     `msgpack:"offset"`
	Bytes   []byte    `msgpack:"bytes,omitempty"`
	End     bool      `msgpack:"end,omitempty"` // the attempt does not run here any more
}

// GoodbyeKind says why a node closes its session.
type GoodbyeKind string

// Left frees the node's id without an alarm; the others expect a return.
const (
	GoodbyeStop    GoodbyeKind = "stop"
	GoodbyeUpgrade GoodbyeKind = "upgrade"
	GoodbyeLeft    GoodbyeKind = "left"
)

// Goodbye is the last message of a planned end.
type Goodbye struct {
	Kind GoodbyeKind `msgpack:"kind"`
}

// Error tells the other side what was wrong with a message.
type Error struct {
	Code         string `msgpack:"code"`
	Detail       string `msgpack:"detail"`
	Fatal        bool   `msgpack:"fatal,omitempty"`
	RetryAfterMs int64  `msgpack:"retry_after_ms,omitempty"`
}

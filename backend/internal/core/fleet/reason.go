package fleet

// Reason says why a node is not a candidate for a piece of work. The order is
// the order in which the first one counts.
type Reason uint8

// Why a node (or its whole pool) is not a candidate.
const (
	PoolDisabled Reason = iota
	PoolDraining
	WrongRole
	LeaseNotReady
	Unhealthy
	Quarantine
	Draining
	Cordoned
	AutoHold
	Deaf
	Reserved // for a larger piece of work that has waited long
	NoRunner
	WrongBackend
	WrongRegion
	Excluded // failed, declined or left an offer of this very job unanswered
	NoSlots
	NoResource // printed as resource:<name>
	NoMemory   // printed as memory:<domain>
	NumReasons
)

var reasonNames = [NumReasons]string{
	PoolDisabled: "pool_disabled", PoolDraining: "pool_draining", WrongRole: "role", LeaseNotReady: "lease",
	Unhealthy: "unhealthy", Quarantine: "quarantine", Draining: "draining", Cordoned: "cordoned", AutoHold: "auto_hold", Deaf: "deaf",
	Reserved: "reserved",
	NoRunner: "runner", WrongBackend: "backend", WrongRegion: "region", Excluded: "excluded", NoSlots: "slots",
	NoResource: "resource", NoMemory: "memory",
}

var reasonWords = [NumReasons]string{
	PoolDisabled: "in a disabled pool", PoolDraining: "in a draining pool", WrongRole: "of another role",
	LeaseNotReady: "not connected", Unhealthy: "unhealthy", Quarantine: "in quarantine", Draining: "draining",
	Cordoned: "cordoned", AutoHold: "on automatic hold", Deaf: "deaf to offers", Reserved: "reserved for a larger job", NoRunner: "without the runner", WrongBackend: "without the backend",
	WrongRegion: "in another region", Excluded: "excluded for this job", NoSlots: "without a free slot",
	NoResource: "without the resource", NoMemory: "without the memory",
}

func (r Reason) String() string { return reasonNames[r] }

// Words is the reason as it follows a number of nodes in a sentence.
func (r Reason) Words() string { return reasonWords[r] }

// Cause is why a job is in its state: for a queued job why it waits, for a
// terminal one why it ended so. The empty cause needs no explanation.
type Cause string

// Causes of the control plane. A node reports the ones below them.
const (
	CauseNone              Cause = ""
	CausePoolExhausted     Cause = "pool_exhausted"     // no node of the resolved pools can take it now
	CauseNodeLost          Cause = "node_lost"          // its node was lost or denied it
	CauseDeclined          Cause = "declined"           // the node declined the offer
	CauseUnanswered        Cause = "unanswered"         // the node did not answer the offer
	CauseCanceledByUser    Cause = "canceled"           // somebody asked for it
	CauseAttemptsUsedUp    Cause = "attempts_used_up"   // maxAttempts counted attempts have ended
	CauseNotBefore         Cause = "not_before"         // its time has not come
	CauseBackoff           Cause = "backoff"            // the pause after a failed attempt
	CauseHeld              Cause = "held"               // its node was lost and a person must resolve it
	CauseQuota             Cause = "quota"              // its app has all the slots that it may have
	CauseQueueTimeout      Cause = "queue_timeout"      // it waited longer than it may
	CauseDrained           Cause = "drained"            // its node is drained: the offer was taken back, or the deadline passed
	CauseAssignmentRefused Cause = "assignment_refused" // the database refused the assignment: the node had moved, was held or full
)

// Causes that a node reports with a result.
const (
	CauseExitCode         Cause = "exit_code"          // the tool ended with another exit code than the runner's success rule
	CauseSignaled         Cause = "signaled"           // the tool was killed by a signal that was not ours
	CauseRunTimeout       Cause = "run_timeout"        // the run limit passed
	CauseStartFailed      Cause = "start_failed"       // the tool could not be started
	CauseInputFailed      Cause = "input_failed"       // an input could not be fetched or did not match its digest
	CauseOutputMissing    Cause = "output_missing"     // a declared output is missing or does not check
	CauseProbeFailed      Cause = "probe_failed"       // what was probed gave no answer, or another one than asked for
	CauseLimitPassed      Cause = "limit_passed"       // it needed more memory or processes than its runner allows
	CauseOutputTooLarge   Cause = "output_too_large"   // an output is over its limit
	CauseOutputFailed     Cause = "output_failed"      // an output could not be handed over to the control plane
	CauseNonFinite        Cause = "non_finite"         // a score or feature is no finite number
	CauseBadParams        Cause = "bad_params"         // the parameters do not fit the runner's declaration
	CauseBadInput         Cause = "bad_input"          // an input is no archive that the node unpacks
	CauseDiskFull         Cause = "disk_full"          // the node's disk had no room
	CauseNodeShuttingDown Cause = "node_shutting_down" // the agent stopped before the end
	CauseAgentRestarted   Cause = "agent_restarted"    // the agent's process ended during the attempt
)

// retryable causes are the fleet's fault, not the work's: the job gets another
// attempt while it has some left.
var retryable = map[Cause]bool{
	CauseNodeLost: true, CauseNodeShuttingDown: true, CauseAgentRestarted: true,
	CauseStartFailed: true, CauseInputFailed: true, CauseOutputFailed: true, CauseDiskFull: true,
}

// Retryable reports a cause that gives the job another attempt.
func (c Cause) Retryable() bool { return retryable[c] }

// NodeCauses lists what a result may name; anything else a node says becomes
// the status's own default.
func NodeCauses() []Cause {
	return []Cause{
		CauseExitCode, CauseSignaled, CauseRunTimeout, CauseStartFailed, CauseInputFailed, CauseOutputMissing,
		CauseProbeFailed, CauseLimitPassed, CauseOutputTooLarge, CauseOutputFailed, CauseNonFinite, CauseBadParams, CauseBadInput, CauseDiskFull, CauseNodeShuttingDown, CauseAgentRestarted,
	}
}

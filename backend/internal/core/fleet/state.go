package fleet

// JobState is where a job is in its life.
type JobState uint8

// The states of a job. Terminal is final: the first commit wins.
const (
	JobQueued JobState = iota // waits, with a reason
	JobOffered
	JobRunning // lives in memory only: the row of a running job says offered
	JobCanceling
	JobSucceeded
	JobFailed
	JobTimedOut
	JobCanceled
	JobExpired
	JobDead // attempts used up
)

var jobStateNames = [...]string{
	JobQueued: "queued", JobOffered: "offered", JobRunning: "running", JobCanceling: "canceling",
	JobSucceeded: "succeeded", JobFailed: "failed", JobTimedOut: "timed_out",
	JobCanceled: "canceled", JobExpired: "expired", JobDead: "dead",
}

func (s JobState) String() string { return jobStateNames[s] }

// Terminal reports a state that never changes again.
func (s JobState) Terminal() bool { return s >= JobSucceeded }

// JobStates lists all states in their order.
func JobStates() []JobState {
	all := make([]JobState, len(jobStateNames))
	for i := range all {
		all[i] = JobState(i)
	}
	return all
}

// ParseJobState reads a state's name.
func ParseJobState(name string) (JobState, bool) {
	for i, n := range jobStateNames {
		if n == name {
			return JobState(i), true
		}
	}
	return 0, false
}

// jobMoves is the job's state machine: which state may follow which.
var jobMoves = [...][]JobState{
	JobQueued:    {JobOffered, JobRunning, JobCanceling, JobCanceled, JobFailed, JobExpired, JobDead},
	JobOffered:   {JobQueued, JobOffered, JobRunning, JobCanceling, JobCanceled, JobSucceeded, JobFailed, JobTimedOut, JobExpired, JobDead},
	JobRunning:   {JobQueued, JobOffered, JobCanceling, JobSucceeded, JobFailed, JobTimedOut, JobDead},
	JobCanceling: {JobCanceled},
	JobDead:      nil,
}

// MayBecome reports whether the job's state machine allows the step.
// A queued job becomes running when its lost node returns before another
// attempt was assigned, and takes a result in the same way through running. An
// offered job is canceled at once while its offer has not gone out, and expires
// when its offer comes back and it has waited for as long as it may.
func (s JobState) MayBecome(next JobState) bool {
	for _, n := range jobMoves[s] {
		if n == next {
			return true
		}
	}
	return false
}

// AttemptOutcome is how an attempt ended (or that it has not).
type AttemptOutcome uint8

// The ends of an attempt. Declined and unanswered ones never started and do not
// count against maxAttempts; orphaned ones may have been started and do.
const (
	AttemptOpen AttemptOutcome = iota
	AttemptEnded
	AttemptDeclined
	AttemptUnanswered
	AttemptOrphaned
)

var attemptOutcomeNames = [...]string{
	AttemptOpen: "open", AttemptEnded: "ended", AttemptDeclined: "declined",
	AttemptUnanswered: "unanswered", AttemptOrphaned: "orphaned",
}

func (o AttemptOutcome) String() string { return attemptOutcomeNames[o] }

// ParseAttemptOutcome reads an outcome's name.
func ParseAttemptOutcome(name string) (AttemptOutcome, bool) {
	for i, n := range attemptOutcomeNames {
		if n == name {
			return AttemptOutcome(i), true
		}
	}
	return 0, false
}

// LeaseState is what the control plane believes of a node's presence.
type LeaseState uint8

// The states of a lease: ready -> suspect -> lost, any -> left. LeaseNew is a
// node that never had a session since this process or record began.
const (
	LeaseNew LeaseState = iota
	LeaseReady
	LeaseSuspect
	LeaseLost
	LeaseLeft
)

var leaseStateNames = [...]string{
	LeaseNew: "new", LeaseReady: "ready", LeaseSuspect: "suspect", LeaseLost: "lost", LeaseLeft: "left",
}

func (s LeaseState) String() string { return leaseStateNames[s] }

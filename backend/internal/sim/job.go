package sim

import (
	"encoding/binary"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
)

// job is a job under one id: what it will do on its node, and what the store has
// of it.
type job struct {
	number int
	spec   *fleet.JobSpec
	order  int
	asked  Time // when its client first asked
	length Time // it runs so long
	fails  bool // it ends with an exit code

	stored    bool
	row       core.JobRow
	submitted Time // a wall time
	held      string
	hasResult bool
	digest    [32]byte
	attempts  []attempt
	begun     []int32 // attempts that were started, wherever
	acks      int     // results acknowledged as stored
	endedAt   Time
	refusedBy []refusedBy

	// Room for attempts and begun: most jobs have one attempt.
	firstAttempt [1]attempt
	firstBegun   [1]int32
}

// attempt is an assignment that the store has taken.
type attempt struct {
	number     int32
	node       string
	pool       string
	fallback   bool // a record of it is there
	superseded string
	outcome    fleet.AttemptOutcome
	at         Time
}

// refusedBy is when a node declined the job.
type refusedBy struct {
	node *node
	at   Time
}

func (j *job) attempt(number int32) *attempt {
	for i := range j.attempts {
		if j.attempts[i].number == number {
			return &j.attempts[i]
		}
	}
	return nil
}

// newID makes the id of the n-th job: a version 7 UUID by the virtual clock.
func newID(now Time, n int) (id ids.JobID) {
	binary.BigEndian.PutUint64(id[:8], uint64(now+wallBase)<<16)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	id[6], id[8] = 0x70, 0x80
	return id
}

// outcomeOn is how long an attempt runs on a node, and how it ends.
func (j *job) outcomeOn(n *node, attempt int32) (Time, *fleet.Result) {
	ref := nodecore.Ref{Job: j.spec.ID, Attempt: attempt}
	res := &fleet.Result{Status: fleet.ResultSucceeded, RunMs: int64(j.length)}
	length := j.length
	switch {
	case n.spoils == "start_failed":
		res.Status, res.Cause, length = fleet.ResultFailed, fleet.CauseStartFailed, 5
	case n.spoils == "exit_code", j.fails:
		res.Status, res.Cause, res.ExitCode = fleet.ResultFailed, fleet.CauseExitCode, new(int64(1))
	}
	return length, n.resultOf(attempt, res, ref)
}

// resultOf marks a result as this node's of this attempt, so that whoever accepts
// it can be checked.
func (n *node) resultOf(attempt int32, res *fleet.Result, ref nodecore.Ref) *fleet.Result {
	binary.BigEndian.PutUint32(res.Digest[0:], uint32(n.index))
	binary.BigEndian.PutUint32(res.Digest[4:], uint32(attempt))
	binary.BigEndian.PutUint32(res.Digest[8:], uint32(number(ref.Job)))
	res.Digest[12] = byte(res.Status)
	return res
}

func resultOf(res *fleet.Result) (node int, attempt int32) {
	return int(binary.BigEndian.Uint32(res.Digest[0:])), int32(binary.BigEndian.Uint32(res.Digest[4:]))
}

package session

import (
	"crypto/sha256"
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
)

// resultOf is what a node reports of an attempt. Its digest is that of the body
// as it came, so that a resent result is told from another one of the same attempt.
func resultOf(m wire.Message) (core.Attempt, *fleet.Result, error) {
	r, err := wire.Decode[wire.Result](m)
	if err != nil {
		return core.Attempt{}, nil, err
	}
	if len(r.Output) > 0 && !wire.IsDocument(r.Output) {
		// The database would not take it, and a refused message would be sent again
		// for ever: the attempt ends for what it is.
		r.Status, r.Reason, r.Output = wire.ResultFailed, string(fleet.CauseOutputMissing), nil
		r.Detail = "the output is no JSON document in UTF-8"
	}
	status := statusOf(r.Status)
	return attemptOf(r.Job, r.Attempt), &fleet.Result{
		Status: status, Cause: causeOf(status, fleet.Cause(r.Reason)), Detail: r.Detail, ExitCode: r.ExitCode,
		Output: r.Output, Head: r.Head, Tail: r.Tail, LogBytes: r.LogBytes, Outputs: outputsOf(r.Outputs),
		FetchMs: r.FetchMs, RunMs: r.RunMs, Digest: sha256.Sum256(m.Body),
	}, nil
}

func statusOf(s wire.ResultStatus) fleet.ResultStatus {
	switch s {
	case wire.ResultSucceeded:
		return fleet.ResultSucceeded
	case wire.ResultTimedOut:
		return fleet.ResultTimedOut
	case wire.ResultCanceled:
		return fleet.ResultCanceled
	}
	return fleet.ResultFailed
}

// defaultCauses stand when a node names no cause, or one that is not a node's to name.
var defaultCauses = map[fleet.ResultStatus]fleet.Cause{
	fleet.ResultSucceeded: fleet.CauseNone,
	fleet.ResultFailed:    fleet.CauseExitCode,
	fleet.ResultTimedOut:  fleet.CauseRunTimeout,
	fleet.ResultCanceled:  fleet.CauseCanceledByUser,
}

func causeOf(status fleet.ResultStatus, named fleet.Cause) fleet.Cause {
	if status == fleet.ResultSucceeded || !slices.Contains(fleet.NodeCauses(), named) {
		return defaultCauses[status]
	}
	return named
}

func outputsOf(list []wire.Output) []fleet.Output {
	var all []fleet.Output
	for _, o := range list {
		all = append(all, fleet.Output(o))
	}
	return all
}

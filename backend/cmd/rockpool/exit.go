package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

// The exit codes. Scripts rely on them: none changes its meaning.
const (
	exitOK        = 0
	exitError     = 1
	exitNotPlaced = 2
	exitJobFailed = 3
	exitTimedOut  = 4
	exitUsage     = 64
)

const exitCodesInWords = "Exit codes: 0 ok, 1 error, 2 not placed, 3 job failed, 4 wait timed out, 64 usage."

// exitCodesInFull is the same for the reference.
const exitCodesInFull = `| code | |
|---|---|
| 0 | ok |
| 1 | error: one line on standard error says which, with the problem's code and the request's id |
| 2 | not placed: no node of the job's pools could take it, and it waits (pool_exhausted) or ended so |
| 3 | job failed: it ended in another state than succeeded |
| 4 | wait timed out: the job, or the drain, goes on |
| 64 | usage: the command line is wrong, and nothing was asked |
`

// outcome ends a command that did its work with a code of its own.
type outcome struct {
	code int
	text string
}

func (o *outcome) Error() string { return o.text }

// usageError is a command line that nobody could carry out.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// jobOutcome is how a job that was waited for ends the command: nil when it succeeded.
func jobOutcome(job rest.Job) error {
	if client.Succeeded(job) {
		return nil
	}
	state := job.State
	if job.Reason != nil {
		state += " (" + *job.Reason + ")"
	}
	switch {
	case client.NotPlaced(job):
		return &outcome{exitNotPlaced, fmt.Sprintf("job %s is not placed: %s; see: rockpool job explain %s", job.ID, state, job.ID)}
	case client.Ended(job):
		return &outcome{exitJobFailed, fmt.Sprintf("job %s ended %s", job.ID, joinDetail(state, job.Detail))}
	}
	return &outcome{exitTimedOut, fmt.Sprintf("job %s is still %s; go on with: rockpool job wait %s", job.ID, state, job.ID)}
}

func joinDetail(text, detail string) string {
	if detail == "" {
		return text
	}
	return text + ": " + detail
}

// fail prints the error as one line and returns the exit code that it means.
func fail(errs io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(errs, "rockpool: %s\n", clean(strings.ReplaceAll(describe(err), "\n", "; "))) // of joined errors
	return exitCode(err)
}

func exitCode(err error) int {
	if done := (*outcome)(nil); errors.As(err, &done) {
		return done.code
	}
	if problem := (*client.Problem)(nil); errors.As(err, &problem) && problem.Code == string(fleet.CodePoolExhausted) {
		return exitNotPlaced
	}
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	return exitError
}

// describe says what is wrong: a problem's detail first, then what a person who
// is asked for help needs, its code and the request's id.
func describe(err error) string {
	text, notes := err.Error(), []string(nil)
	if problem := (*client.Problem)(nil); errors.As(err, &problem) {
		said := problem.Detail
		if said == "" {
			said = problem.Title
		}
		text = strings.Replace(text, problem.Error(), said, 1)
		notes = append(notes, problem.Code)
		if problem.RequestID != "" {
			notes = append(notes, "request "+problem.RequestID)
		}
	} else if status := (*client.StatusError)(nil); errors.As(err, &status) && status.RequestID != "" {
		notes = append(notes, "request "+status.RequestID)
	} else if errors.As(err, &usageError{}) {
		notes = append(notes, "see rockpool --help")
	}
	if len(notes) == 0 {
		return text
	}
	return text + " (" + strings.Join(notes, ", ") + ")"
}

package api

import (
	"context"
	"encoding/json"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

// liveDocs are the documents of rows, each as it is now: what lives in memory
// only (running, since when, how far) is laid over open ones.
func (a *API) liveDocs(ctx context.Context, rows []record.Job) ([]rest.Job, error) {
	var open []ids.JobID
	for i := range rows {
		if !rows[i].State.Terminal() {
			open = append(open, rows[i].Spec.ID)
		}
	}
	var live map[ids.JobID]core.JobView
	if len(open) > 0 {
		var err error
		if live, err = a.dispatch.LiveJobs(ctx, open); err != nil {
			return nil, err
		}
	}
	docs := make([]rest.Job, len(rows))
	for i := range rows {
		if view, ok := live[rows[i].Spec.ID]; ok && !rows[i].State.Terminal() {
			a.overlay(&rows[i], &view)
			docs[i] = *jobDoc(&rows[i])
			if view.State == fleet.JobRunning {
				docs[i].Percent = &view.Percent
			}
			continue
		}
		docs[i] = *jobDoc(&rows[i])
	}
	return docs, nil
}

// overlay brings a row up to what memory knows; it may be a commit ahead. An end
// is told once it is committed: nobody shall see it taken back by a crash.
func (a *API) overlay(row *record.Job, view *core.JobView) {
	if view.State.Terminal() {
		if row.State != fleet.JobOffered || row.Attempt != view.Attempt || view.StartedAt == 0 {
			return
		}
		view.State, view.Cause = fleet.JobRunning, fleet.CauseNone
	}
	row.State, row.Cause, row.Attempt = view.State, view.Cause, view.Attempt
	row.Node, row.Pool, row.Fallback = view.Node, view.Pool, view.Fallback
	row.NotBefore, row.Waits = a.wall(view.NotBefore), view.Waits
	if view.StartedAt != 0 {
		row.StartedAt = a.wall(view.StartedAt)
	}
}

func (a *API) wall(t fleet.Time) *time.Time {
	if t == 0 {
		return nil
	}
	at := a.dispatch.WallAt(t)
	return &at
}

func jobDoc(j *record.Job) *rest.Job {
	id := j.Spec.ID.String()
	path := jobPath(id)
	doc := &rest.Job{
		ID: id, App: j.Spec.App, Role: j.Spec.Role, Runner: j.Spec.Runner, State: j.State.String(),
		Reason: causeText(j.Cause), Detail: j.Detail, Priority: j.Spec.Priority, Attempt: j.Attempt,
		Node: j.Node, Pool: j.Pool, Fallback: j.Fallback, CreatedAt: rest.At(j.SubmittedAt),
		AssignedAt: rest.AtPtr(j.AssignedAt), StartedAt: rest.AtPtr(j.StartedAt), EndedAt: rest.AtPtr(j.EndedAt),
		ExitCode: j.ExitCode, Labels: pairs(j.Spec.Labels), Asks: asksOf(j),
		Links: rest.JobLinks{Decision: path + "/decision", Log: path + "/log"},
	}
	fillWaits(doc, j)
	if json.Valid(j.Output) { // the bytes are a node's
		doc.Output = j.Output
	}
	if len(j.Outputs) > 0 {
		doc.Outputs = make(map[string]string, len(j.Outputs))
		for _, file := range j.Outputs {
			doc.Outputs[file.Name] = file.Digest
		}
	}
	if j.Cause == fleet.CausePoolExhausted {
		if kept, err := record.DecodeDecision(j.Decision); err == nil {
			doc.Reasons = reasonsOf(&kept.Decision)
		}
	}
	return doc
}

// fillWaits says how long the job has waited, and for what. Jobs of before there was
// a ledger have the time to their newest assignment.
func fillWaits(doc *rest.Job, j *record.Job) {
	if j.Cause == fleet.CauseNotBefore || j.Cause == fleet.CauseBackoff {
		doc.NotBefore = rest.AtPtr(j.NotBefore)
	}
	if j.Spec.RetryOf != (ids.JobID{}) {
		doc.RetryOf = j.Spec.RetryOf.String()
	}
	waits := rest.Waits(j.Waits)
	queued := waits.Pool + waits.Fairness + waits.Backoff + waits.Quota + waits.Hold + waits.Offer
	if queued > 0 {
		doc.Waits = &waits
	} else if j.AssignedAt != nil {
		queued = max(0, j.AssignedAt.Sub(j.SubmittedAt).Milliseconds())
	}
	doc.QueuedMs = &queued
}

func asksOf(j *record.Job) rest.JobAsks {
	spec := &j.Spec
	var memory int64
	for _, m := range spec.Demands.Memory {
		memory += m.Amount
	}
	return rest.JobAsks{
		Slots: spec.Demands.Slots, MemoryMib: memory, Backend: spec.Backend, Region: spec.Region,
		QueueTimeout: rest.Duration(time.Duration(spec.QueueTimeoutMs) * time.Millisecond),
		RunTimeout:   rest.Duration(time.Duration(spec.RunTimeoutMs) * time.Millisecond),
		OnNodeLost:   string(spec.OnNodeLost), MaxAttempts: spec.MaxAttempts, Counted: j.Counted,
	}
}

// jobOf is the document of a new job whose row was just committed, with the result
// that ended it, or nil: what readJob would find.
func (a *API) jobOf(insert *core.JobInsert, row *core.JobRow, result *fleet.Result) *rest.Job {
	job := &record.Job{
		Spec: *insert.Spec, State: row.State, Cause: row.Cause, Detail: row.Detail, Attempt: row.Attempt, Counted: row.Counted,
		Node: row.Node, Pool: row.Pool, Fallback: row.Fallback, SubmittedAt: a.dispatch.WallAt(insert.At),
		AssignedAt: a.wall(row.AssignedAt), StartedAt: a.wall(row.StartedAt), EndedAt: a.wall(row.EndedAt),
		NotBefore: a.wall(row.NotBefore), Waits: row.Waits,
	}
	if result != nil {
		job.ExitCode, job.Output, job.Outputs = result.ExitCode, result.Output, result.Outputs
	}
	doc := jobDoc(job)
	if row.Cause == fleet.CausePoolExhausted && row.Decision != nil {
		doc.Reasons = reasonsOf(row.Decision)
	}
	return doc
}

func attemptDoc(at *record.Attempt) (rest.Attempt, error) {
	doc := rest.Attempt{
		Attempt: at.Attempt, Node: at.Node, Pool: at.Pool, Fallback: at.Fallback, Outcome: at.Outcome.String(),
		Reason: causeText(at.Cause), AssignedAt: rest.AtPtr(at.AssignedAt), StartedAt: rest.AtPtr(at.StartedAt),
		EndedAt: rest.AtPtr(at.EndedAt),
	}
	if len(at.Decision) == 0 {
		return doc, nil
	}
	kept, err := record.DecodeDecision(at.Decision)
	if err != nil {
		return doc, err
	}
	decision := decisionDoc(&kept.Decision, kept.At)
	doc.Decision = &decision
	return doc, nil
}

func causeText(c fleet.Cause) *string {
	if c == fleet.CauseNone {
		return nil
	}
	text := string(c)
	return &text
}

func pairs(labels []fleet.Label) []rest.Pair {
	if len(labels) == 0 {
		return nil
	}
	list := make([]rest.Pair, len(labels))
	for i, l := range labels {
		list[i] = rest.Pair{l.Name, l.Value}
	}
	return list
}

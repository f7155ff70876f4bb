package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

// Bounds of what a client may ask to wait for.
const (
	maxWait  = time.Minute      // a longer ?wait is cut to it
	maxGrace = 10 * time.Minute // of a cancel
)

// wait reads ?wait: how long to hold the answer for the job's end; 0: not at all.
func (c *call) wait() (time.Duration, error) {
	text := c.QueryParam("wait")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, badRequest(`wait is a duration such as "30s"`)
	}
	return min(d, maxWait), nil
}

// awaitEnd waits at most d for the job's end. That it has not come is no error; its
// row tells then, and also of one that had ended before.
func (a *API) awaitEnd(c *call, id ids.JobID, d time.Duration) (*core.Ended, error) {
	ctx, cancel := context.WithTimeout(c.ctx(), d)
	defer cancel()
	end, err := a.dispatch.Wait(ctx, id)
	if err != nil && c.ctx().Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return end, err
}

func (a *API) getJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	wait, err := c.wait()
	if err != nil {
		return err
	}
	if wait > 0 {
		if err := a.awaitOpen(c, id, wait); err != nil {
			return err
		}
	}
	doc, err := a.readJob(c, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

// awaitOpen waits at most d for the end of a job that is open and that the caller
// may see; of others the row tells at once.
func (a *API) awaitOpen(c *call, id ids.JobID, d time.Duration) error {
	live, err := a.dispatch.LiveJobs(c.ctx(), []ids.JobID{id})
	if err != nil {
		return err
	}
	view, open := live[id]
	if !open {
		return nil
	}
	if !c.sees(view.Owner, view.Pool) { // one that waits is in no pool yet: the row says whose queue it is in
		if _, err := a.store.Job(c.ctx(), id, c.rows()); err != nil {
			return err
		}
	}
	_, err = a.awaitEnd(c, id, d)
	return err
}

// afterWait is the job after its end or the wait, whichever is first. A new one's end
// needs no look at its row: that is what was just committed. The job as it was taken
// stays the answer when it can't be read.
func (a *API) afterWait(c *call, job *takenJob, d time.Duration) *rest.Job {
	if job.end != nil {
		return a.jobOf(job.insert, &job.end.Row, job.end.Result)
	}
	id, open := job.id()
	if d == 0 || !open {
		return a.doc(job)
	}
	if job.insert == nil {
		if _, err := a.awaitEnd(c, id, d); err != nil {
			return a.doc(job)
		}
	}
	if now, err := a.readJob(c, id); err == nil {
		return now
	}
	return a.doc(job)
}

// readJob is a job that the caller may see, as it is now.
func (a *API) readJob(c *call, id ids.JobID) (*rest.Job, error) {
	row, err := a.store.Job(c.ctx(), id, c.rows())
	if err != nil {
		return nil, err
	}
	docs, err := a.liveDocs(c.ctx(), []record.Job{row})
	if err != nil {
		return nil, err
	}
	return &docs[0], nil
}

func (a *API) listJobs(c *call) error {
	page, err := c.page(afterJob)
	if err != nil {
		return err
	}
	filter, err := c.jobFilter()
	if err != nil {
		return err
	}
	docs, err := a.jobDocs(c, filter, page)
	if err != nil {
		return err
	}
	key := func(j *rest.Job) string { return j.ID }
	list := listOf(docs, page, key, func(j *rest.Job) *rest.Job { return j })
	if filter.State != nil {
		list.Items = slices.DeleteFunc(list.Items, func(j *rest.Job) bool { return j.State != filter.State.String() })
	}
	return c.JSON(http.StatusOK, list)
}

// jobDocs reads a page of jobs, each as it is now.
func (a *API) jobDocs(c *call, filter record.JobFilter, page record.Page) ([]rest.Job, error) {
	rows, err := a.store.Jobs(c.ctx(), filter, page)
	if err != nil {
		return nil, err
	}
	return a.liveDocs(c.ctx(), rows)
}

// jobFilter reads app, state, node, reason and label. Running lives in memory only: its rows
// are stored as offered, and the list is sifted by the live state, so that a page
// may be short before the last.
func (c *call) jobFilter() (record.JobFilter, error) {
	filter := record.JobFilter{Scope: c.rows(), App: c.QueryParam("app"), Node: c.QueryParam("node")}
	for _, n := range []struct{ key, value string }{{"app", filter.App}, {"node", filter.Node}} {
		if n.value != "" && ids.CheckName(n.value) != nil {
			return filter, badRequest("%s is no name", n.key)
		}
	}
	if text := c.QueryParam("state"); text != "" {
		state, ok := fleet.ParseJobState(text)
		if !ok {
			return filter, badRequest("state must be one of %v", fleet.JobStates())
		}
		filter.State = &state
	}
	if text := c.QueryParam("reason"); text != "" {
		if !isToken(text, ids.MaxName) {
			return filter, badRequest("reason is one word, as jobs have it")
		}
		filter.Cause = fleet.Cause(text)
	}
	if text := c.QueryParam("label"); text != "" {
		name, value, both := strings.Cut(text, "=")
		if !both || !isToken(name, ids.MaxName) {
			return filter, badRequest("label is name=value")
		}
		filter.Label = &fleet.Label{Name: name, Value: value}
	}
	return filter, nil
}

func (a *API) cancelJob(c *call, in *rest.CancelRequest) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	grace := time.Duration(deref(in.Grace, 0))
	if grace < 0 || grace > maxGrace {
		return badRequest("grace must be 0s to %s", rest.Duration(maxGrace))
	}
	if _, err := a.store.Job(c.ctx(), id, c.rows()); err != nil {
		return err
	}
	// A job that has ended stays as it is: cancel says so by its state.
	if _, err := a.dispatch.Cancel(c.ctx(), id, c.who.Subject(), grace.Milliseconds()); err != nil && !isNotFound(err) {
		return err
	}
	doc, err := a.readJob(c, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

func (a *API) jobLog(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	follow, err := c.flag("follow")
	if err != nil {
		return err
	}
	if _, err := a.store.Job(c.ctx(), id, c.rows()); err != nil {
		return err
	}
	if follow {
		return a.followLog(c, id)
	}
	log, err := a.store.JobLog(c.ctx(), id)
	if err != nil && !isNotFound(err) { // a job without a result has an empty log
		return err
	}
	return c.JSON(http.StatusOK, rest.JobLog{
		Job: id.String(), Attempt: log.Attempt, Head: string(log.Head), Tail: string(log.Tail), Bytes: log.Bytes,
		Truncated: log.Bytes > int64(len(log.Head)+len(log.Tail)),
	})
}

func (a *API) jobAttempts(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	job, err := a.store.Job(c.ctx(), id, c.rows())
	if err != nil {
		return err
	}
	superseded, err := a.store.JobAttempts(c.ctx(), id)
	if err != nil {
		return err
	}
	list := rest.List[rest.Attempt]{Items: make([]rest.Attempt, 0, len(superseded)+1)}
	for i := range superseded {
		doc, err := attemptDoc(&superseded[i])
		if err != nil {
			return err
		}
		list.Items = append(list.Items, doc)
	}
	if job.Attempt > 0 {
		if err := a.start(c, &job); err != nil {
			return err
		}
		doc, err := attemptDoc(newestAttempt(&job))
		if err != nil {
			return err
		}
		list.Items = append(list.Items, doc)
	}
	return c.JSON(http.StatusOK, list)
}

// start puts in when the row's attempt began: until its end only memory knows.
func (a *API) start(c *call, row *record.Job) error {
	if row.State.Terminal() {
		return nil
	}
	live, err := a.dispatch.LiveJobs(c.ctx(), []ids.JobID{row.Spec.ID})
	if err != nil {
		return err
	}
	if view := live[row.Spec.ID]; view.Attempt == row.Attempt && view.StartedAt != 0 {
		row.StartedAt = a.wall(view.StartedAt)
	}
	return nil
}

// newestAttempt is the attempt that stands on the job's own row.
func newestAttempt(j *record.Job) *record.Attempt {
	at := &record.Attempt{
		Attempt: j.Attempt, Node: j.Node, Pool: j.Pool, Fallback: j.Fallback, Outcome: j.Outcome, Decision: j.Decision,
		AssignedAt: j.AssignedAt, StartedAt: j.StartedAt,
	}
	if j.Outcome != fleet.AttemptOpen {
		at.Cause, at.EndedAt = j.Cause, j.EndedAt
	}
	return at
}

func isNotFound(err error) bool {
	var known *fleet.Error
	return errors.As(err, &known) && known.Code == fleet.CodeNotFound
}

func jobPath(id string) string { return "/v1/jobs/" + id }

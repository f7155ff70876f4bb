package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

// JobFilter selects jobs for a list; empty fields select everything.
type JobFilter struct {
	App    string
	State  string
	Node   string
	Reason string
	Label  string // name=value
}

// SubmitJob submits a job. With a key (empty: none) the same call sent again
// answers the same job, and is repeated over a 503.
func (c *Client) SubmitJob(ctx context.Context, req rest.JobRequest, key string) (rest.Job, error) {
	var job rest.Job
	err := c.do(ctx, call{method: "POST", path: route("v1", "jobs"), body: req, header: keyed(key)}, &job)
	return job, err
}

// RunJob submits a job and waits for its end, in one request: the server holds its
// answer at most for wait (a minute). Ended tells whether it has ended.
func (c *Client) RunJob(ctx context.Context, req rest.JobRequest, wait time.Duration) (rest.Job, error) {
	var job rest.Job
	query := url.Values{"wait": {wait.String()}}
	err := c.do(ctx, call{method: "POST", path: route("v1", "jobs"), query: query, body: req, wait: wait}, &job)
	return job, err
}

// SubmitJobs submits up to rest.MaxBatch jobs in one go; key as in SubmitJob.
func (c *Client) SubmitJobs(ctx context.Context, jobs []rest.JobRequest, key string) (rest.Batch, error) {
	var batch rest.Batch
	in := call{method: "POST", path: route("v1", "jobs", "batch"), body: rest.BatchRequest{Jobs: jobs}, header: keyed(key)}
	err := c.do(ctx, in, &batch)
	return batch, err
}

// SubmitBrief is SubmitJobs whose answer has the jobs' ids alone.
func (c *Client) SubmitBrief(ctx context.Context, jobs []rest.JobRequest, key string) (rest.Batch, error) {
	var batch rest.Batch
	in := call{method: "POST", path: route("v1", "jobs", "batch"), body: rest.BatchRequest{Jobs: jobs, Brief: true}, header: keyed(key)}
	err := c.do(ctx, in, &batch)
	return batch, err
}

func keyed(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{rest.HeaderIdempotencyKey: key}
}

// Job reads a job as it is now.
func (c *Client) Job(ctx context.Context, id string) (rest.Job, error) {
	return get[rest.Job](ctx, c, route("v1", "jobs", id))
}

// Jobs lists jobs, the newest first.
func (c *Client) Jobs(ctx context.Context, f JobFilter, page Page) (rest.List[rest.Job], error) {
	return list[rest.Job](ctx, c, route("v1", "jobs"), page.query("app", f.App, "state", f.State, "node", f.Node, "reason", f.Reason, "label", f.Label))
}

// CancelJob asks for a job's end; grace (nil: the server's) is the time until
// its tool is killed.
func (c *Client) CancelJob(ctx context.Context, id string, grace *rest.Duration) (rest.Job, error) {
	return post[rest.Job](ctx, c, route("v1", "jobs", id, "cancel"), rest.CancelRequest{Grace: grace})
}

// CancelJobs asks for the end of a list of jobs; a dry run gives the list that the
// selection's filter has now, and does nothing.
func (c *Client) CancelJobs(ctx context.Context, selection rest.CancelSelection, dry bool) (rest.CancelSelected, error) {
	in := call{method: http.MethodPost, path: route("v1", "jobs", "cancel"), body: selection}
	return changing[rest.CancelSelected](ctx, c, in, 0, dry)
}

// TryJob says what would be decided about a job now, and submits none.
func (c *Client) TryJob(ctx context.Context, req rest.JobRequest) (rest.Candidates, error) {
	in := call{method: http.MethodPost, path: route("v1", "jobs"), body: req}
	return changing[rest.Candidates](ctx, c, in, 0, true)
}

// RetryJob submits a job that has ended again, as a new one; key as in SubmitJob.
func (c *Client) RetryJob(ctx context.Context, id, key string) (rest.Job, error) {
	var job rest.Job
	err := c.do(ctx, call{method: http.MethodPost, path: route("v1", "jobs", id, "retry"), header: keyed(key)}, &job)
	return job, err
}

// ResolveJob decides about a job that is held: requeue or fail.
func (c *Client) ResolveJob(ctx context.Context, id, action string) (rest.Job, error) {
	return post[rest.Job](ctx, c, route("v1", "jobs", id, "resolve"), rest.ResolveRequest{Action: action})
}

// Decision says why a job went where it went, or nowhere.
func (c *Client) Decision(ctx context.Context, id string) (rest.Decision, error) {
	return get[rest.Decision](ctx, c, route("v1", "jobs", id, "decision"))
}

// Explanation gives every reason of every node against a job, as it is now.
func (c *Client) Explanation(ctx context.Context, id string) (rest.Explanation, error) {
	return get[rest.Explanation](ctx, c, route("v1", "jobs", id, "explain"))
}

// Attempts lists a job's attempts, the oldest first.
func (c *Client) Attempts(ctx context.Context, id string) (rest.List[rest.Attempt], error) {
	return list[rest.Attempt](ctx, c, route("v1", "jobs", id, "attempts"), nil)
}

// JobLog reads the log that came with a job's result.
func (c *Client) JobLog(ctx context.Context, id string) (rest.JobLog, error) {
	return get[rest.JobLog](ctx, c, route("v1", "jobs", id, "log"))
}

// Bounds of waiting for a job.
const (
	longPoll = 30 * time.Second       // that one request asks the server to wait
	pollGap  = 200 * time.Millisecond // when the server answered without waiting
)

// WaitJob waits until the job has ended or limit is over, and returns it as it
// was last seen: Ended tells which. The error is a failed read's, or ctx's.
func (c *Client) WaitJob(ctx context.Context, id string, limit time.Duration) (rest.Job, error) {
	deadline := time.Now().Add(limit)
	for {
		asked := time.Now()
		hold := max(0, min(deadline.Sub(asked), longPoll))
		job, err := c.jobWithin(ctx, id, hold)
		now := time.Now()
		if err != nil || Ended(job) || !now.Before(deadline) {
			return job, err
		}
		if now.Sub(asked) < hold && !pause(ctx, min(pollGap, deadline.Sub(now))) {
			return job, ctx.Err()
		}
	}
}

func (c *Client) jobWithin(ctx context.Context, id string, hold time.Duration) (rest.Job, error) {
	in := call{method: "GET", path: route("v1", "jobs", id), wait: hold}
	if hold > 0 {
		in.query = url.Values{"wait": {rest.Duration(hold).String()}}
	}
	var job rest.Job
	err := c.do(ctx, in, &job)
	return job, err
}

// Ended reports a job in a state that never changes again.
func Ended(job rest.Job) bool {
	state, known := fleet.ParseJobState(job.State)
	return known && state.Terminal()
}

// Succeeded reports a job that ended with an accepted result of success.
func Succeeded(job rest.Job) bool { return job.State == fleet.JobSucceeded.String() }

// NotPlaced reports a job that no node of its pools could take, whether it waits
// for one or ended so.
func NotPlaced(job rest.Job) bool {
	return job.Reason != nil && *job.Reason == string(fleet.CausePoolExhausted)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type jobCommand struct {
	Submit   jobSubmit   `cmd:"" help:"Submit a job."`
	Get      jobGet      `cmd:"" help:"Show a job."`
	List     jobList     `cmd:"" help:"List jobs."`
	Wait     jobWait     `cmd:"" help:"Wait for a job's end and show it; exits 2, 3 or 4 when it did not succeed."`
	Logs     jobLogs     `cmd:"" help:"Print the log that came with a job's result, or with --follow the one that is being written."`
	Attempts jobAttempts `cmd:"" help:"List a job's attempts, the oldest first."`
	Cancel   jobCancel   `cmd:"" help:"Cancel jobs: by id, or those that a filter selects, after a look at the list."`
	Retry    jobRetry    `cmd:"" help:"Submit a job that has ended again, as a new one."`
	Resolve  jobResolve  `cmd:"" help:"Decide about a job that is held because its node was lost."`
	Explain  jobExplain  `cmd:"" help:"Say why a job went where it went, or nowhere."`
}

type jobGet struct {
	ID string `arg:"" help:"Job."`
}

// Run shows the job.
func (c *jobGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	job, err := server.Job(ctx, c.ID)
	if err != nil {
		return err
	}
	return showJob(d, job)
}

type jobList struct {
	App    string `placeholder:"APP" help:"Only of this app."`
	State  string `placeholder:"STATE" help:"Only in this state."`
	Node   string `placeholder:"NODE" help:"Only on this node."`
	Reason string `placeholder:"REASON" help:"Only with this reason."`
	Label  string `placeholder:"NAME=VALUE" help:"Only with this label."`
	paging
}

// Run lists jobs.
func (c *jobList) Run(ctx context.Context, d *desk, server *client.Client) error {
	read := func(ctx context.Context, page client.Page) (rest.List[rest.Job], error) {
		return server.Jobs(ctx, client.JobFilter{App: c.App, State: c.State, Node: c.Node, Reason: c.Reason, Label: c.Label}, page)
	}
	head := columns("ID", "APP", "RUNNER", "STATE", "REASON", "ATTEMPT", "NODE", "POOL", "CREATED")
	return showList(ctx, d, c.paging, read, head, func(g *grid, j rest.Job) {
		g.row(j.ID, j.App, j.Runner, j.State, j.Reason, j.Attempt, j.Node, j.Pool, j.CreatedAt)
	})
}

// defaultWait is how long a command waits when it is not told.
const defaultWait = 30 * time.Second

type jobWait struct {
	ID      string        `arg:"" help:"Job."`
	Timeout time.Duration `default:"30s" help:"How long to wait."`
}

// Validate refuses a wait of no time.
func (c *jobWait) Validate() error {
	if c.Timeout <= 0 {
		return errors.New("--timeout must be above 0")
	}
	return nil
}

// Run waits for the job's end.
func (c *jobWait) Run(ctx context.Context, d *desk, server *client.Client) error {
	return waitAndShow(ctx, d, server, c.ID, c.Timeout)
}

// waitAndShow waits, prints the job as it is then, and ends as it ended.
func waitAndShow(ctx context.Context, d *desk, server *client.Client, id string, limit time.Duration) error {
	job, err := server.WaitJob(ctx, id, limit)
	if err != nil {
		return fmt.Errorf("wait for job %s: %w", id, err)
	}
	if err := showJob(d, job); err != nil {
		return err
	}
	return jobOutcome(job)
}

type jobAttempts struct {
	ID string `arg:"" help:"Job."`
}

// Run lists the attempts.
func (c *jobAttempts) Run(ctx context.Context, d *desk, server *client.Client) error {
	read := func(ctx context.Context, _ client.Page) (rest.List[rest.Attempt], error) {
		return server.Attempts(ctx, c.ID)
	}
	head := columns("ATTEMPT", "NODE", "POOL", "OUTCOME", "REASON", "ASSIGNED", "STARTED", "ENDED")
	return showList(ctx, d, paging{}, read, head, func(g *grid, a rest.Attempt) {
		g.row(a.Attempt, a.Node, placedIn(a.Pool, a.Fallback), a.Outcome, a.Reason, a.AssignedAt, a.StartedAt, a.EndedAt)
	})
}

type jobLogs struct {
	ID     string `arg:"" help:"Job."`
	Follow bool   `short:"f" help:"Print the log while it is written, until its attempt's end; waits for one that has not begun."`
}

// Run prints the log; what is not printable reads as its escape (-o json has it
// as it is).
func (c *jobLogs) Run(ctx context.Context, d *desk, server *client.Client) error {
	if c.Follow {
		return c.follow(ctx, d, server)
	}
	log, err := server.JobLog(ctx, c.ID)
	if err != nil {
		return err
	}
	if d.json {
		return d.showJSON(log)
	}
	text := log.Head
	if log.Truncated {
		text += fmt.Sprintf("\n[of %d bytes the middle is not kept]\n", log.Bytes)
	}
	if text += log.Tail; text == "" {
		return nil
	}
	return d.say(strings.TrimSuffix(text, "\n"))
}

type jobRetry struct {
	ID             string       `arg:"" help:"Job."`
	Wait           optionalWait `placeholder:"30s" help:"Wait for the new job's end, as of job submit."`
	IdempotencyKey string       `placeholder:"KEY" help:"The same key again answers the same new job (default: a new one)."`
}

// Run submits the job again.
func (c *jobRetry) Run(ctx context.Context, d *desk, server *client.Client) error {
	job, err := server.RetryJob(ctx, c.ID, newKey(c.IdempotencyKey))
	if err != nil {
		return err
	}
	return showOrWait(ctx, d, server, job, c.Wait)
}

type jobResolve struct {
	ID     string `arg:"" help:"Job."`
	Action string `arg:"" enum:"requeue,fail" help:"requeue: one more attempt; fail: it ends."`
}

// Run decides about the job.
func (c *jobResolve) Run(ctx context.Context, d *desk, server *client.Client) error {
	job, err := server.ResolveJob(ctx, c.ID, c.Action)
	if err != nil {
		return err
	}
	return showJob(d, job)
}

// showOrWait prints a new job, or waits for its end when told to.
func showOrWait(ctx context.Context, d *desk, server *client.Client, job rest.Job, wait optionalWait) error {
	if wait == 0 {
		return showJob(d, job)
	}
	return waitAndShow(ctx, d, server, job.ID, time.Duration(wait))
}

// showJob prints one job.
func showJob(d *desk, j rest.Job) error {
	var g grid
	g.fact("id", j.ID)
	g.fact("app", j.App)
	g.fact("runner", j.Runner)
	g.fact("asks", asksText(j.Asks))
	g.fact("state", j.State)
	g.fact("reason", j.Reason)
	g.fact("detail", j.Detail)
	for _, r := range j.Reasons {
		g.fact("nodes", fmt.Sprintf("%s: %d %s", r.Pool, r.Nodes, r.Reason))
	}
	g.fact("attempt", attemptText(j))
	g.fact("node", j.Node)
	g.fact("pool", placedIn(j.Pool, j.Fallback))
	if j.Percent != nil {
		g.fact("progress", fmt.Sprintf("%d %%", *j.Percent))
	}
	g.fact("retry of", j.RetryOf)
	g.fact("not before", j.NotBefore)
	g.fact("waited", waitsText(j.Waits))
	g.fact("created", j.CreatedAt)
	g.fact("started", j.StartedAt)
	g.fact("ended", j.EndedAt)
	g.fact("exit code", j.ExitCode)
	g.fact("output", string(j.Output))
	for _, name := range slices.Sorted(maps.Keys(j.Outputs)) {
		g.fact("file", name+" "+j.Outputs[name])
	}
	return d.show(j, g)
}

func placedIn(pool string, fallback bool) string {
	if fallback {
		return pool + " (fallback)"
	}
	return pool
}

// attemptText is the newest attempt, and how many of all count.
func attemptText(j rest.Job) string {
	switch {
	case j.Attempt == 0:
		return ""
	case j.Asks.MaxAttempts == 0:
		return fmt.Sprint(j.Attempt)
	}
	return fmt.Sprintf("%d (%d of %d counted)", j.Attempt, j.Asks.Counted, j.Asks.MaxAttempts)
}

// asksText is what a job reserves, and what its node must have.
func asksText(a rest.JobAsks) string {
	var list []string
	if a.Slots > 0 {
		list = append(list, fmt.Sprintf("slots %d", a.Slots))
	}
	if a.MemoryMib > 0 {
		list = append(list, fmt.Sprintf("memory %d MiB", a.MemoryMib))
	}
	for _, must := range []struct{ name, value string }{{"backend", a.Backend}, {"region", a.Region}} {
		if must.value != "" {
			list = append(list, must.name+" "+must.value)
		}
	}
	return strings.Join(list, ", ")
}

// waitsText is what a job waited for, and how long: pool 3s, offer 12ms.
func waitsText(w *rest.Waits) string {
	if w == nil {
		return ""
	}
	var list []string
	for _, part := range []struct {
		name string
		ms   int64
	}{{"pool", w.Pool}, {"fairness", w.Fairness}, {"backoff", w.Backoff}, {"quota", w.Quota}, {"hold", w.Hold}, {"offer", w.Offer}} {
		if part.ms > 0 {
			list = append(list, part.name+" "+rest.Duration(time.Duration(part.ms)*time.Millisecond).String())
		}
	}
	return strings.Join(list, ", ")
}

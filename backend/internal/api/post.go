package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

func (a *API) submitJob(c *call, in *rest.JobRequest) error {
	wait, err := c.wait()
	if err != nil {
		return err
	}
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	if err := a.mayName(c, in.Pool); err != nil {
		return err
	}
	spec, err := specOf(in)
	if err != nil {
		return err
	}
	if dry {
		return a.tryJob(c, spec)
	}
	posted, err := c.posted("", in)
	if err != nil {
		return err
	}
	return a.submit(c, spec, posted, wait)
}

// tryJob answers what would be decided about a job now. Nothing is done.
func (a *API) tryJob(c *call, spec *fleet.JobSpec) error {
	if err := a.newFinder(c).complete(spec); err != nil {
		return err
	}
	doc, err := a.candidates(c, spec)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

// submit hands the job to the loop and answers it, at its end if that comes in time.
func (a *API) submit(c *call, spec *fleet.JobSpec, posted posting, wait time.Duration) error {
	job, err := a.takeJob(c, spec, posted, wait)
	if err != nil {
		return err
	}
	doc := a.afterWait(c, job, wait)
	if job.insert == nil {
		c.Response().Header().Set(rest.HeaderIdempotencyReplayed, "true")
		c.Response().Header().Set(echo.HeaderLocation, jobPath(doc.ID))
		return c.JSON(http.StatusOK, doc)
	}
	return c.created(jobPath(doc.ID), doc)
}

// mayName refuses a pool's name from whoever may not send canary jobs, and tells
// nothing of the pool.
func (a *API) mayName(c *call, pool string) error {
	if pool == "" || a.may(c, "canary", "job") {
		return nil
	}
	return fleet.Errorf(fleet.CodePoolNotAllowed, "work does not name its pool: its app's binding or owner says it")
}

// takenJob is what came of one submitted job: a new one with its row, and its end where
// that was waited for and has come; or, without an insert, that of an earlier POST with
// the same key.
type takenJob struct {
	insert  *core.JobInsert
	row     *core.JobRow
	end     *core.Ended
	earlier *rest.Job
}

// doc is the job as it was taken.
func (a *API) doc(job *takenJob) *rest.Job {
	if job.insert == nil {
		return job.earlier
	}
	return a.jobOf(job.insert, job.row, nil)
}

// id is the job's, and open that it had not ended when it was taken.
func (job *takenJob) id() (id ids.JobID, open bool) {
	if job.insert != nil {
		return job.insert.Spec.ID, !job.row.State.Terminal()
	}
	id, err := ids.ParseJobID(job.earlier.ID)
	state, _ := fleet.ParseJobState(job.earlier.State)
	return id, err == nil && !state.Terminal()
}

// takeJob hands one job to the loop and returns it as it was committed, with its end
// if that comes within wait, or the job of an earlier POST with the same key. The key is
// held until the commit: whoever sends it again finds the job then.
func (a *API) takeJob(c *call, spec *fleet.JobSpec, posted posting, wait time.Duration) (*takenJob, error) {
	unlock, err := a.alone(c, posted)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if doc, err := a.earlier(c, posted); doc != nil || err != nil {
		return &takenJob{earlier: doc}, err
	}
	if err := a.newFinder(c).complete(spec); err != nil {
		return nil, err
	}
	insert := &a.inserts(c, []*fleet.JobSpec{spec})[0]
	insert.IdempotencyKey, insert.RequestDigest = posted.key, posted.digest
	answer, end, err := a.dispatch.SubmitAndWait(c.ctx(), insert, wait, unlock)
	if err != nil {
		return nil, err
	}
	job, err := a.taken(c, insert, &answer)
	if err == nil {
		job.end = end
	}
	return job, err
}

// taken is what came of one submitted job. When another process took the same
// key meanwhile, its job is the answer.
func (a *API) taken(c *call, insert *core.JobInsert, answer *core.Submitted) (*takenJob, error) {
	if answer.Refused == nil {
		return &takenJob{insert: insert, row: &answer.Row}, nil
	}
	if *answer.Refused == core.RefusedIdempotency {
		doc, err := a.earlier(c, posting{key: insert.IdempotencyKey, digest: insert.RequestDigest})
		if doc != nil || err != nil {
			return &takenJob{earlier: doc}, err
		}
	}
	return nil, refusedInsert(*answer.Refused, answer.RetryAfter)
}

// refusedInsert is why new work was not taken, and after how long there may be room.
func refusedInsert(why core.RefusedWhy, after fleet.Time) error {
	switch why {
	case core.RefusedData:
		return unprocessable("the database can't keep this job as it is")
	case core.RefusedQueueFull:
		return &fleet.Error{
			Code: fleet.CodeQueueFull, RetryAfter: after,
			Detail: "too many jobs of this app, or of too many kinds, wait for its pool: send it again when some have begun",
		}
	case core.RefusedOpenJobs:
		return &fleet.Error{
			Code: fleet.CodeRateLimited, RetryAfter: after,
			Detail: "the app has as many open jobs as it may have: send it again when some have ended",
		}
	}
	return fleet.Errorf(fleet.CodeUnavailable, fmt.Sprintf("the job was not taken (refusal %d): send it again", why))
}

// inserts are the jobs for the dispatch loop, with their ids.
func (a *API) inserts(c *call, specs []*fleet.JobSpec) []core.JobInsert {
	jobs := make([]core.JobInsert, len(specs))
	for i, spec := range specs {
		spec.ID, spec.Submitter = a.jobIDs.next(), c.who.User.ID
		jobs[i].Spec = spec
	}
	return jobs
}

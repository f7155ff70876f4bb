package api

import (
	"errors"
	"net/http"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func (a *API) submitBatch(c *call, in *rest.BatchRequest) error {
	if len(in.Jobs) == 0 || len(in.Jobs) > rest.MaxBatch {
		return badRequest("jobs has %d entries, 1 to %d are allowed", len(in.Jobs), rest.MaxBatch)
	}
	posted, err := c.posted("", in)
	if err != nil {
		return err
	}
	specs, err := a.specsOf(c, in.Jobs)
	if err != nil {
		return err
	}
	inserts, answers, err := a.takeBatch(c, specs, posted)
	if err != nil {
		return err
	}
	batch := rest.Batch{Items: make([]rest.BatchItem, len(answers))}
	for i := range answers {
		if in.Brief {
			batch.Items[i] = a.briefItem(c, &inserts[i], &answers[i], i)
		} else {
			batch.Items[i] = a.batchItem(c, &inserts[i], &answers[i], i)
		}
	}
	return c.JSON(http.StatusOK, batch)
}

// takeBatch hands the jobs to the loop. Those that an earlier POST with the same
// key brought come back refused, one by one, and are answered as they were.
func (a *API) takeBatch(c *call, specs []*fleet.JobSpec, posted posting) ([]core.JobInsert, []core.Submitted, error) {
	unlock, err := a.alone(c, posted)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	if _, _, err := a.before(c, posted.item(0)); err != nil { // another batch under the key takes nothing
		return nil, nil, err
	}
	inserts := a.inserts(c, specs)
	for i := range inserts {
		item := posted.item(i)
		inserts[i].IdempotencyKey, inserts[i].RequestDigest = item.key, item.digest
	}
	answers, err := a.dispatch.Submit(c.ctx(), inserts)
	return inserts, answers, err
}

// specsOf checks all jobs of a batch; when one is not valid none is taken, and
// the error names each that is not.
func (a *API) specsOf(c *call, jobs []rest.JobRequest) ([]*fleet.JobSpec, error) {
	specs := make([]*fleet.JobSpec, len(jobs))
	find := a.newFinder(c)
	var bad []rest.ItemProblem
	for i := range jobs {
		spec, err := find.specOf(&jobs[i])
		var known *fleet.Error
		switch {
		case err == nil:
			specs[i] = spec
		case !errors.As(err, &known) || known.Code == fleet.CodeUnavailable:
			return nil, err
		default:
			bad = append(bad, badItem(i, err))
		}
	}
	if len(bad) > 0 {
		return nil, &itemsError{code: fleet.Code(bad[0].Code), items: bad}
	}
	return specs, nil
}

func (a *API) batchItem(c *call, insert *core.JobInsert, answer *core.Submitted, index int) rest.BatchItem {
	job, err := a.taken(c, insert, answer)
	switch {
	case err != nil:
		p := badItem(index, err)
		return rest.BatchItem{Status: fleet.Code(p.Code).Status(), Problem: &p}
	case job.insert == nil:
		return rest.BatchItem{Status: http.StatusOK, Job: a.doc(job)}
	}
	return rest.BatchItem{Status: http.StatusCreated, Job: a.doc(job)}
}

// briefItem names the job instead of showing it: who submits thousands may not want
// to read them all back.
func (a *API) briefItem(c *call, insert *core.JobInsert, answer *core.Submitted, index int) rest.BatchItem {
	if answer.Refused == nil {
		return rest.BatchItem{Status: http.StatusCreated, ID: answer.ID.String()}
	}
	item := a.batchItem(c, insert, answer, index)
	if item.Job != nil {
		item.ID, item.Job = item.Job.ID, nil
	}
	return item
}

// badItem says what is wrong with one job of a batch.
func badItem(index int, err error) rest.ItemProblem {
	p := problemOf(err)
	item := rest.ItemProblem{Index: index, Code: p.Code, Detail: p.Detail}
	if p.Status == http.StatusTooManyRequests {
		item.RetryAfter = retryAfter(err)
	}
	return item
}

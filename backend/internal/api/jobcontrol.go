package api

import (
	"net/http"
	"slices"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

// maxSelected is how many jobs one selection may have.
const maxSelected = 1000

// retryJob submits a job that has ended again, as a new one.
func (a *API) retryJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	posted, err := c.posted(jobPath(id.String())+"/retry", nil)
	if err != nil {
		return err
	}
	row, err := a.store.Job(c.ctx(), id, c.rows())
	if err != nil {
		return err
	}
	if !row.State.Terminal() {
		return fleet.Errorf(fleet.CodeConflict, "the job has not ended: it is "+row.State.String())
	}
	if err := a.mayName(c, row.Spec.Pool); err != nil {
		return err
	}
	spec := row.Spec
	spec.RetryOf, spec.NotBeforeMs = id, 0
	if err := a.newFinder(c).inputs(&spec); err != nil {
		return err
	}
	return a.submit(c, &spec, posted, 0)
}

// resolveJob takes a person's word about a job whose node was lost.
func (a *API) resolveJob(c *call, in *rest.ResolveRequest) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	action := fleet.ResolveAction(in.Action)
	if action != fleet.ResolveRequeue && action != fleet.ResolveFail {
		return badRequest("action must be requeue or fail")
	}
	row, err := a.store.Job(c.ctx(), id, c.rows())
	if err != nil {
		return err
	}
	_, err = a.dispatch.Resolve(c.ctx(), row.Spec.ID, action, c.by())
	if isNotFound(err) {
		return fleet.Errorf(fleet.CodeConflict, "the job has ended")
	}
	if err != nil {
		return err
	}
	doc, err := a.readJob(c, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

// cancelJobs asks for the end of the jobs that the request names. A filter selects
// in a dry run alone: between the look and the word its jobs could be others.
func (a *API) cancelJobs(c *call, in *rest.CancelSelection) error {
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	filter, filtered, err := c.selection(in)
	if err != nil {
		return err
	}
	switch {
	case filtered && !dry:
		return badRequest("a filter selects with ?dryRun=true: send the ids that it answers")
	case filtered && len(in.IDs) > 0:
		return badRequest("name jobs by ids or by a filter, not by both")
	case filtered:
		return a.answerSelected(c, filter)
	}
	grace := time.Duration(deref(in.Grace, 0))
	if grace < 0 || grace > maxGrace {
		return badRequest("grace must be 0s to %s", rest.Duration(maxGrace))
	}
	list, err := parseJobs(in.IDs)
	if err != nil {
		return err
	}
	if !dry {
		err = a.cancelSeen(c, list, grace)
	}
	if err != nil {
		return err
	}
	items, err := a.selectedItems(c, list)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, rest.CancelSelected{Applied: !dry, Items: items})
}

// selection reads a request's filter, of open jobs.
func (c *call) selection(in *rest.CancelSelection) (filter record.JobFilter, filtered bool, err error) {
	filter = record.JobFilter{Scope: c.rows(), App: in.App, Open: true}
	if in.App != "" && ids.CheckName(in.App) != nil {
		return filter, false, badRequest("app is no name")
	}
	if in.State != "" {
		state, known := fleet.ParseJobState(in.State)
		if !known || state.Terminal() {
			return filter, false, badRequest("state must be one of jobs that have not ended")
		}
		filter.State = &state
	}
	if in.Label != nil {
		filter.Label = &fleet.Label{Name: in.Label[0], Value: in.Label[1]}
	}
	return filter, in.App != "" || in.State != "" || in.Label != nil, nil
}

// parseJobs reads ids, each once.
func parseJobs(texts []string) ([]ids.JobID, error) {
	if len(texts) == 0 || len(texts) > maxSelected {
		return nil, badRequest("ids: 1 to %d jobs", maxSelected)
	}
	list := make([]ids.JobID, 0, len(texts))
	for i, text := range texts {
		id, err := ids.ParseJobID(text)
		if err != nil {
			return nil, badRequest("ids[%d] is no job's id", i)
		}
		if slices.Contains(list, id) {
			return nil, badRequest("ids: %s stands there twice", text)
		}
		list = append(list, id)
	}
	return list, nil
}

// answerSelected lists the open jobs that a filter selects now, the newest first.
func (a *API) answerSelected(c *call, filter record.JobFilter) error {
	doc := rest.CancelSelected{Items: []rest.CanceledItem{}}
	for page := (record.Page{Limit: record.MaxPage}); len(doc.Items) < maxSelected; {
		jobs, err := a.jobDocs(c, filter, page)
		if err != nil {
			return err
		}
		for i := range jobs {
			if state, _ := fleet.ParseJobState(jobs[i].State); !state.Terminal() && (filter.State == nil || state == *filter.State) && len(doc.Items) < maxSelected {
				doc.Items = append(doc.Items, rest.CanceledItem{ID: jobs[i].ID, State: jobs[i].State})
			}
		}
		if len(jobs) < page.Limit {
			break
		}
		page.After = jobs[len(jobs)-1].ID
	}
	return c.JSON(http.StatusOK, doc)
}

// cancelSeen cancels those of the jobs that are open and that the caller may see.
func (a *API) cancelSeen(c *call, list []ids.JobID, grace time.Duration) error {
	live, err := a.dispatch.LiveJobs(c.ctx(), list)
	if err != nil {
		return err
	}
	var seen []ids.JobID
	for _, id := range list {
		if view, open := live[id]; open && c.owns(view.Owner) {
			seen = append(seen, id)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	_, err = a.dispatch.CancelMany(c.ctx(), seen, c.who.Subject(), grace.Milliseconds())
	return err
}

// selectedItems are the jobs as they are now, in their order.
func (a *API) selectedItems(c *call, list []ids.JobID) ([]rest.CanceledItem, error) {
	rows := make([]record.Job, 0, len(list))
	for _, id := range list {
		row, err := a.store.Job(c.ctx(), id, c.rows())
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	docs, err := a.liveDocs(c.ctx(), rows)
	if err != nil {
		return nil, err
	}
	items := make([]rest.CanceledItem, len(list))
	for i, id := range list {
		items[i] = rest.CanceledItem{ID: id.String(), Code: string(fleet.CodeNotFound)}
		if len(docs) > 0 && docs[0].ID == items[i].ID {
			items[i].State, items[i].Code = docs[0].State, ""
			docs = docs[1:]
		}
	}
	return items, nil
}

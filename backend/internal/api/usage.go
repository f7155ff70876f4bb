package api

import (
	"net/http"
	"time"

	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

const (
	usageSpan = 30 * 24 * time.Hour // when ?since is absent
	maxUsage  = 366 * 24 * time.Hour
)

// listUsage adds up what work took: by day, app and pool.
func (a *API) listUsage(c *call) error {
	since, until, err := a.window(c)
	if err != nil {
		return err
	}
	filter := record.UsageFilter{Scope: c.rows(), App: c.QueryParam("app"), Pool: c.QueryParam("pool")}
	for _, n := range []struct{ key, value string }{{"app", filter.App}, {"pool", filter.Pool}} {
		if n.value != "" && ids.CheckName(n.value) != nil {
			return badRequest("%s is no name", n.key)
		}
	}
	rows, err := a.store.Usage(c.ctx(), since, until, filter)
	if err != nil {
		return err
	}
	list := rest.List[rest.Usage]{Items: make([]rest.Usage, len(rows))}
	for i := range rows {
		list.Items[i] = usageDoc(&rows[i])
	}
	return c.JSON(http.StatusOK, list)
}

// window reads ?since and ?until: the last 30 days where they are absent.
func (a *API) window(c *call) (since, until time.Time, err error) {
	until = a.now()
	if at, err := a.moment(c, "until"); err != nil || at != nil {
		if err != nil {
			return since, until, err
		}
		until = *at
	}
	since = until.Add(-usageSpan)
	if at, err := a.moment(c, "since"); err != nil || at != nil {
		if err != nil {
			return since, until, err
		}
		since = *at
	}
	if !since.Before(until) || until.Sub(since) > maxUsage {
		return since, until, badRequest("since is before until, by %d days at most", maxUsage/(24*time.Hour))
	}
	return since, until, nil
}

// moment reads a parameter that names a moment: a day such as 2026-11-29 (UTC), a
// time, or how long ago: 12h, 30d. nil: it is absent.
func (a *API) moment(c *call, name string) (*time.Time, error) {
	text := c.QueryParam(name)
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			at = at.UTC()
			return &at, nil
		}
	}
	var ago rest.Duration
	if err := ago.UnmarshalText([]byte(text)); err == nil && ago >= 0 {
		at := a.now().Add(-time.Duration(ago))
		return &at, nil
	}
	return nil, badRequest(`%s is a day such as "2026-11-29", a time such as "2026-11-29T15:04:05Z", or how long ago: "12h", "30d"`, name)
}

func usageDoc(u *record.Usage) rest.Usage {
	return rest.Usage{
		Day: u.Day.Format(time.DateOnly), App: u.App, Pool: u.Pool, Attempts: u.Attempts,
		SlotSeconds: u.SlotSeconds, FallbackSlotSeconds: u.FallbackSlotSeconds,
		Placements: u.Placements, PlacementSlotSeconds: u.PlacementSlotSeconds, PlacementFallbackSlotSeconds: u.PlacementFallbackSlotSeconds,
	}
}

// auditIsolation reads the kept history again: did work run on a node outside its
// pools without a record of fallback?
func (a *API) auditIsolation(c *call) error {
	since, err := a.moment(c, "since")
	if err != nil {
		return err
	}
	found, err := a.store.AuditIsolation(c.ctx(), since)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, isolationDoc(&found))
}

func isolationDoc(i *record.Isolation) rest.Isolation {
	doc := rest.Isolation{
		Holds: i.Found == 0, From: rest.AtPtr(i.From), To: rest.AtPtr(i.To), Jobs: i.Jobs, Attempts: i.Attempts,
		Placements: i.Placements, Fallbacks: i.Fallbacks, Undecided: i.Undecided, Tolerance: rest.Duration(i.Tolerance), Crossings: make([]rest.Crossing, len(i.Crossings)), Found: i.Found,
	}
	for n, x := range i.Crossings {
		doc.Crossings[n] = rest.Crossing{Attempt: x.Attempt, Node: x.Node, Pool: x.Pool, Detail: x.Detail}
		if x.Placement {
			doc.Crossings[n].Placement = x.Job.String()
		} else {
			doc.Crossings[n].Job = x.Job.String()
		}
	}
	return doc
}

package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

const maxSilence = 30 * 24 * time.Hour

func (a *API) listAlarms(c *call) error {
	page, err := c.page(afterNumber)
	if err != nil {
		return err
	}
	filter, err := c.alarmFilter()
	if err != nil {
		return err
	}
	rows, err := a.store.Alarms(c.ctx(), filter, page)
	if err != nil {
		return err
	}
	key := func(row *fleet.Alarm) string { return strconv.FormatInt(row.ID, 10) }
	return c.JSON(http.StatusOK, listOf(rows, page, key, a.alarmDoc))
}

func (c *call) alarmFilter() (record.AlarmFilter, error) {
	filter := record.AlarmFilter{Scope: c.rows(), Kind: fleet.AlarmKind(c.QueryParam("kind")), Pool: c.QueryParam("pool")}
	if filter.Pool != "" && ids.CheckName(filter.Pool) != nil {
		return filter, badRequest("pool is no name")
	}
	if filter.Kind != "" && !slices.Contains(fleet.AlarmKinds(), filter.Kind) {
		return filter, badRequest("kind must be one of %v", fleet.AlarmKinds())
	}
	switch c.QueryParam("state") {
	case "":
	case "lasting":
		filter.Lasting = true
	case "resolved":
		filter.Resolved = true
	default:
		return filter, badRequest("state must be lasting or resolved")
	}
	return filter, nil
}

func (a *API) getAlarm(c *call) error {
	row, err := a.alarm(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, a.alarmDoc(&row))
}

// alarm is the path's alarm, if the caller may see it.
func (a *API) alarm(c *call) (fleet.Alarm, error) {
	id, ok := parseUser(c.param("id"))
	if !ok {
		return fleet.Alarm{}, notFound("alarm")
	}
	row, err := a.store.Alarm(c.ctx(), id, c.rows())
	if isNotFound(err) {
		return row, notFound("alarm")
	}
	return row, err
}

// ackAlarm notes that somebody knows of it; it lasts until it resolves itself.
func (a *API) ackAlarm(c *call) error {
	return a.tellAlarm(c, "", func(ctx context.Context, id int64, by core.Actor) error {
		return a.dispatch.AckAlarm(ctx, id, by, c.who.User.Name)
	})
}

// silenceAlarm keeps it from people's eyes for a while, also when it is raised anew.
func (a *API) silenceAlarm(c *call, in *rest.SilenceRequest) error {
	span := time.Duration(deref(in.For, -1))
	if span < 0 || span > maxSilence {
		return badRequest("for must be 0s to %s; 0s ends a silence", rest.Duration(maxSilence))
	}
	return a.tellAlarm(c, in.Reason, func(ctx context.Context, id int64, by core.Actor) error {
		return a.dispatch.SilenceAlarm(ctx, id, a.now().Add(span), by, c.who.User.Name, in.Reason)
	})
}

// tellAlarm tells the loop something of a lasting alarm, and answers the alarm as it
// is committed.
func (a *API) tellAlarm(c *call, reason string, tell func(ctx context.Context, id int64, by core.Actor) error) error {
	if err := checkLine("reason", reason, maxReason); err != nil {
		return err
	}
	row, err := a.alarm(c)
	if err != nil {
		return err
	}
	err = tell(c.ctx(), row.ID, c.by())
	if isNotFound(err) {
		return fleet.Errorf(fleet.CodeConflict, "the alarm has resolved itself")
	}
	if err != nil {
		return err
	}
	return a.getAlarm(c)
}

func (a *API) alarmDoc(row *fleet.Alarm) rest.Alarm {
	doc := rest.Alarm{
		ID: strconv.FormatInt(row.ID, 10), Kind: string(row.Kind), Severity: string(row.Kind.Severity()), Role: row.Role, Pool: row.Pool,
		App: row.App, Node: row.Node, Count: row.Count, RaisedAt: rest.At(a.dispatch.WallAt(row.RaisedAt)), LastAt: rest.At(a.dispatch.WallAt(row.LastAt)),
		ResolvedAt: rest.AtPtr(a.wall(row.ResolvedAt)), Detail: row.Detail, Waiting: make([]string, len(row.Waiting)), WaitingNow: row.WaitingNow,
		AcknowledgedBy: row.AckedBy, AcknowledgedAt: rest.AtPtr(a.wall(row.AckedAt)),
	}
	for i, job := range row.Waiting {
		doc.Waiting[i] = job.String()
	}
	if until := a.wall(row.SilencedUntil); until != nil && until.After(a.now()) {
		doc.SilencedBy, doc.SilencedUntil = row.SilencedBy, rest.AtPtr(until)
	}
	return doc
}

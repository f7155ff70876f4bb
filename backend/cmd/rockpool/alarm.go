package main

import (
	"context"
	"errors"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type alarmCommand struct {
	List    alarmList    `cmd:"" help:"List alarms, the newest first."`
	Get     alarmGet     `cmd:"" help:"Show an alarm, and the work that waits for its end."`
	Ack     alarmAck     `cmd:"" help:"Say that one knows of an alarm; it lasts until its cause is gone."`
	Silence alarmSilence `cmd:"" help:"Keep an alarm from people's eyes for a while, also when it is raised anew."`
}

type alarmList struct {
	State string `enum:",lasting,resolved" default:"" placeholder:"lasting|resolved" help:"Only in this state."`
	Kind  string `placeholder:"KIND" help:"Only of this kind."`
	Pool  string `placeholder:"POOL" help:"Only of this pool."`
	paging
}

// Run lists alarms.
func (c *alarmList) Run(ctx context.Context, d *desk, server *client.Client) error {
	read := func(ctx context.Context, page client.Page) (rest.List[rest.Alarm], error) {
		return server.Alarms(ctx, client.AlarmFilter{State: c.State, Kind: c.Kind, Pool: c.Pool}, page)
	}
	head := columns("ID", "SEVERITY", "KIND", "POOL", "ROLE", "APP", "NODE", "COUNT", "WAITING", "RAISED", "RESOLVED", "SEEN BY")
	return showList(ctx, d, c.paging, read, head, func(g *grid, a rest.Alarm) {
		g.row(a.ID, a.Severity, a.Kind, a.Pool, a.Role, a.App, a.Node, a.Count, a.WaitingNow, a.RaisedAt, a.ResolvedAt, seenBy(a))
	})
}

type alarmGet struct {
	ID string `arg:"" help:"Alarm."`
}

// Run shows the alarm.
func (c *alarmGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	return showAlarm(d)(server.Alarm(ctx, c.ID))
}

type alarmAck struct {
	ID string `arg:"" help:"Alarm."`
}

// Run acknowledges the alarm.
func (c *alarmAck) Run(ctx context.Context, d *desk, server *client.Client) error {
	return showAlarm(d)(server.AckAlarm(ctx, c.ID))
}

type alarmSilence struct {
	ID     string        `arg:"" help:"Alarm."`
	For    rest.Duration `required:"" placeholder:"2h" help:"For how long, such as 2h or 3d, up to 30d; 0s ends a silence."`
	Reason string        `placeholder:"TEXT" help:"Why, for the audit entry."`
}

// Validate refuses a silence into the past.
func (c *alarmSilence) Validate() error {
	if c.For < 0 {
		return errors.New("--for must be 0s or more")
	}
	return nil
}

// Run silences the alarm.
func (c *alarmSilence) Run(ctx context.Context, d *desk, server *client.Client) error {
	return showAlarm(d)(server.SilenceAlarm(ctx, c.ID, rest.SilenceRequest{For: &c.For, Reason: c.Reason}))
}

// showAlarm prints an alarm that was answered.
func showAlarm(d *desk) func(rest.Alarm, error) error {
	return func(a rest.Alarm, err error) error {
		if err != nil {
			return err
		}
		return d.show(a, alarmFacts(a))
	}
}

func alarmFacts(a rest.Alarm) grid {
	var g grid
	g.fact("id", a.ID)
	g.fact("kind", a.Kind)
	g.fact("severity", a.Severity)
	g.fact("detail", a.Detail)
	g.fact("pool", a.Pool)
	g.fact("role", a.Role)
	g.fact("app", a.App)
	g.fact("node", a.Node)
	g.fact("count", a.Count)
	g.fact("raised", a.RaisedAt)
	g.fact("last", a.LastAt)
	g.fact("resolved", a.ResolvedAt)
	g.fact("acknowledged by", a.AcknowledgedBy)
	g.fact("silenced by", a.SilencedBy)
	g.fact("silenced until", a.SilencedUntil)
	g.fact("waiting", a.WaitingNow)
	for _, job := range a.Waiting {
		g.fact("job", job)
	}
	return g
}

func seenBy(a rest.Alarm) string {
	if a.SilencedUntil != nil {
		return a.SilencedBy + " (silenced)"
	}
	return a.AcknowledgedBy
}

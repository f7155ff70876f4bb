package client

import (
	"context"
	"net/http"

	"rockpool/backend/internal/rest"
)

// AlarmFilter selects alarms for a list; zero values select everything.
type AlarmFilter struct {
	State string // lasting, resolved
	Kind  string
	Pool  string
}

// Alarms lists alarms, the newest first.
func (c *Client) Alarms(ctx context.Context, f AlarmFilter, page Page) (rest.List[rest.Alarm], error) {
	return list[rest.Alarm](ctx, c, route("v1", "admin", "alarms"), page.query("state", f.State, "kind", f.Kind, "pool", f.Pool))
}

// Alarm reads an alarm.
func (c *Client) Alarm(ctx context.Context, id string) (rest.Alarm, error) {
	return get[rest.Alarm](ctx, c, route("v1", "admin", "alarms", id))
}

// AckAlarm says that one knows of a lasting alarm.
func (c *Client) AckAlarm(ctx context.Context, id string) (rest.Alarm, error) {
	var alarm rest.Alarm
	err := c.do(ctx, call{method: http.MethodPost, path: route("v1", "admin", "alarms", id, "ack")}, &alarm)
	return alarm, err
}

// SilenceAlarm keeps a lasting alarm from people's eyes for a while.
func (c *Client) SilenceAlarm(ctx context.Context, id string, req rest.SilenceRequest) (rest.Alarm, error) {
	return post[rest.Alarm](ctx, c, route("v1", "admin", "alarms", id, "silence"), req)
}

package dispatch

import (
	"context"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// Alarms are those that last, by id.
func (l *Loop) Alarms(ctx context.Context) ([]fleet.Alarm, error) {
	return ask(ctx, l, true, func(d *core.Dispatch, _ fleet.Time, _ *core.Effects, answer func([]fleet.Alarm, error)) {
		answer(d.Alarms(), nil)
	})
}

// AckAlarm notes that the person called name knows of a lasting alarm, and
// returns when that is committed. Of an alarm that does not last: not_found.
func (l *Loop) AckAlarm(ctx context.Context, id int64, by core.Actor, name string) error {
	return l.tellAlarm(ctx, func(d *core.Dispatch, now fleet.Time, out *core.Effects) bool {
		return d.AckAlarm(now, id, by, name, out)
	})
}

// SilenceAlarm keeps a lasting alarm from people's eyes until then, also when it
// is raised anew, and returns when that is committed; a time that has passed ends
// a silence. Of an alarm that does not last: not_found.
func (l *Loop) SilenceAlarm(ctx context.Context, id int64, until time.Time, by core.Actor, name, reason string) error {
	return l.tellAlarm(ctx, func(d *core.Dispatch, now fleet.Time, out *core.Effects) bool {
		return d.SilenceAlarm(now, id, l.cfg.Clock.At(until), by, name, reason, out)
	})
}

func (l *Loop) tellAlarm(ctx context.Context, tell func(d *core.Dispatch, now fleet.Time, out *core.Effects) bool) error {
	_, err := ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func(struct{}, error)) {
		if !tell(d, now, out) {
			answer(struct{}{}, fleet.Errorf(fleet.CodeNotFound, "no alarm of that id lasts"))
			return
		}
		l.onCommit(func(o *outcome) { answer(struct{}{}, o.err) })
	})
	return err
}

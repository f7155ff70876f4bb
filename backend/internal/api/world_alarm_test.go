package api

import (
	"context"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

func (w *world) Alarms(_ context.Context, f record.AlarmFilter, p record.Page) (list []fleet.Alarm, _ error) {
	for _, owner := range []int64{bob, ann} {
		a := w.alarms[owner]
		if f.Sees(owner, a.Pool) && (f.Kind == "" || f.Kind == a.Kind) && (f.Pool == "" || f.Pool == a.Pool) && !(f.Lasting && a.ResolvedAt != 0) && !(f.Resolved && a.ResolvedAt == 0) {
			list = append(list, *a)
		}
	}
	return list[:min(len(list), p.Limit)], nil
}

func (w *world) Alarm(_ context.Context, id int64, scope record.Scope) (fleet.Alarm, error) {
	if a, ok := w.alarms[id]; ok && scope.Sees(id, a.Pool) {
		return *a, nil
	}
	return fleet.Alarm{}, none("alarm")
}

// lasting is an alarm that has not resolved.
func (w *world) lasting(id int64) (*fleet.Alarm, error) {
	if a, ok := w.alarms[id]; ok && a.ResolvedAt == 0 {
		return a, nil
	}
	return nil, none("lasting alarm")
}

func (w *world) AckAlarm(_ context.Context, id int64, by core.Actor, name string) error {
	w.actors = append(w.actors, record.Actor{Subject: by.Subject, Address: by.Address, RequestID: by.RequestID})
	a, err := w.lasting(id)
	if err == nil {
		a.AckedBy, a.AckedAt = name, 5
	}
	return err
}

func (w *world) SilenceAlarm(_ context.Context, id int64, until time.Time, by core.Actor, name, _ string) error {
	w.actors = append(w.actors, record.Actor{Subject: by.Subject, Address: by.Address, RequestID: by.RequestID})
	a, err := w.lasting(id)
	if err == nil {
		a.SilencedBy, a.SilencedUntil = name, fleet.Time(until.Sub(worldNow).Milliseconds())
	}
	return err
}

func (w *world) Frozen(context.Context) (core.Freeze, error) { return w.frozen, w.down }

func (w *world) ReleasePool(_ context.Context, pool string, by core.Actor, _ string) error {
	w.actors = append(w.actors, record.Actor{Subject: by.Subject, Address: by.Address, RequestID: by.RequestID})
	if pool == fleet.PoolDefault {
		return fleet.Errorf(fleet.CodeNotFound, "none stands")
	}
	return nil
}

func (w *world) LiftHold(_ context.Context, node string, kind fleet.HoldKind, owner fleet.HoldOwner, by core.Actor, _ string) error {
	w.actors = append(w.actors, record.Actor{Subject: by.Subject, Address: by.Address, RequestID: by.RequestID})
	n := w.nodes[node]
	if n == nil || len(n.Holds) != 1 || n.Holds[0].Kind != kind || n.Holds[0].Owner != owner {
		return none("hold")
	}
	n.Holds = nil
	return nil
}

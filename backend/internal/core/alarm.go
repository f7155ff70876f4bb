package core

import (
	"slices"

	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
)

// newAlarm raises one; its owner writes it. An ended one whose silence went over
// to it is written here.
func (d *Dispatch) newAlarm(now fleet.Time, f fleet.Fingerprint, n int64, out *Effects) *alarm.Case {
	c, before := d.alarms.Raise(now, f, n)
	if before != nil {
		d.putAlarm(before, out)
	}
	return c
}

// endAlarm resolves an alarm, if it lasts.
func (d *Dispatch) endAlarm(now fleet.Time, c *alarm.Case, out *Effects) {
	if c.Lasts() {
		d.alarms.Resolve(now, c)
		c.WaitingNow, c.Waiting = 0, nil
		d.putAlarm(c, out)
	}
}

// writeAlarm writes the alarm as it is now, in the batch that is being filled:
// only here are its words made.
func (d *Dispatch) writeAlarm(now fleet.Time, c *alarm.Case, out *Effects) {
	switch {
	case c.Kind == fleet.AlarmPoolExhausted:
		d.cohortOf(cohortKey{app: c.App, role: c.Role, pool: c.Pool}).describe(d, now, &c.Alarm)
	case c.Node == "" && c.Kind != fleet.AlarmRestoredBackup:
		d.gaugeOf(c.Pool).describe(d, now, &c.Alarm)
	}
	d.putAlarm(c, out)
}

// putAlarm brings the batch up to the alarm: one entry an alarm.
func (d *Dispatch) putAlarm(c *alarm.Case, out *Effects) {
	d.rev++
	c.Written()
	if gen := d.number(out); c.Batch != gen {
		c.Batch, c.At = gen, len(out.Alarms)
		out.Alarms = append(out.Alarms, AlarmWrite{})
	}
	out.Alarms[c.At].Alarm = c.Alarm
}

// Alarms lists those that last, by id, as they were written last.
func (d *Dispatch) Alarms() []fleet.Alarm {
	lasting := d.alarms.Lasting()
	list := make([]fleet.Alarm, len(lasting))
	for i, c := range lasting {
		list[i] = c.Alarm
	}
	return list
}

// AckAlarm notes that the person called name knows of a lasting alarm; false:
// there is none of that id.
func (d *Dispatch) AckAlarm(now fleet.Time, id int64, by Actor, name string, out *Effects) bool {
	c := d.alarms.Ack(now, id, name)
	if c == nil {
		return false
	}
	d.writeAlarm(now, c, out)
	noteAlarm(c, AuditAlarmAcknowledged, by, "", out)
	return true
}

// SilenceAlarm keeps a lasting alarm from people's eyes until then, also when it
// is raised anew; until now or earlier: no longer. False: there is none of that id.
func (d *Dispatch) SilenceAlarm(now fleet.Time, id int64, until fleet.Time, by Actor, name, reason string, out *Effects) bool {
	c := d.alarms.Silence(now, id, until, name)
	if c == nil {
		return false
	}
	d.writeAlarm(now, c, out)
	noteAlarm(c, AuditAlarmSilenced, by, reason, out)
	return true
}

func noteAlarm(c *alarm.Case, action string, by Actor, detail string, out *Effects) {
	out.Audits = append(out.Audits, AuditNote{Action: action, Node: c.Node, Alarm: c.ID, Detail: detail, By: &by})
}

// recallAlarms gives everything its alarms back after a Load.
func (d *Dispatch) recallAlarms(now fleet.Time, snap *Snapshot) {
	d.alarms.Load(snap.Epoch, snap.NewestAlarm, snap.Alarms)
	for _, c := range d.alarms.Lasting() {
		switch n := d.nodes[c.Node]; {
		case n != nil:
			n.alarms = append(n.alarms, c)
		case c.Node != "":
		case c.Kind == fleet.AlarmPoolExhausted:
			d.recallCohort(now, c)
		case c.Kind == fleet.AlarmRestoredBackup:
			d.awaitRestored(now)
		default:
			g := d.gaugeOf(c.Pool)
			g.alarms[slices.Index(gaugeKinds[:], c.Kind)] = c
			if c.Kind == fleet.AlarmMassLoss {
				g.recallMass(now, c.RaisedAt)
			}
		}
	}
}

// reviewAlarms ends, after a Load, those of which nothing is left: their work
// waits no more, or their node is back or gone. What else they are about is seen
// by the next look.
func (d *Dispatch) reviewAlarms(now fleet.Time, out *Effects) {
	for _, c := range slices.Clone(d.alarms.Lasting()) {
		switch {
		case c.Node != "":
			d.reviewNode(now, c, out)
		case c.Kind == fleet.AlarmPoolExhausted && (c.WaitingNow > 0 || now-c.LastAt >= quiet):
			d.relieved(now, d.cohortOf(cohortKey{app: c.App, role: c.Role, pool: c.Pool}), out)
		}
	}
}

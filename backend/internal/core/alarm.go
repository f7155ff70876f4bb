package core

import (
	"slices"

	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
)

// raise begins an alarm, or counts it when it lasts already. A new one is
// written in the batch that is being filled, another within a second.
func (d *Dispatch) raise(now fleet.Time, f fleet.Fingerprint, detail string, out *Effects) *alarm.Case {
	if c := d.alarms.Find(f); c != nil {
		c.Detail = detail
		d.alarms.Again(now, c, 1)
		return c
	}
	c := d.alarms.Raise(now, f)
	c.Detail = detail
	d.writeAlarm(c, out)
	return c
}

// endAlarm resolves an alarm, if it lasts.
func (d *Dispatch) endAlarm(now fleet.Time, c *alarm.Case, out *Effects) {
	if c.Lasts() {
		d.alarms.Resolve(now, c)
		d.writeAlarm(c, out)
	}
}

// writeAlarm brings the batch up to the alarm as it is: one entry an alarm.
func (d *Dispatch) writeAlarm(c *alarm.Case, out *Effects) {
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
	d.writeAlarm(c, out)
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
	d.writeAlarm(c, out)
	noteAlarm(c, AuditAlarmSilenced, by, reason, out)
	return true
}

func noteAlarm(c *alarm.Case, action string, by Actor, detail string, out *Effects) {
	out.Audits = append(out.Audits, AuditNote{Action: action, Node: c.Node, Alarm: c.ID, Detail: detail, By: &by})
}

// reviewAlarms looks, after a Load, whether what the alarms are about still is.
func (d *Dispatch) reviewAlarms(now fleet.Time, out *Effects) {
	for _, c := range slices.Clone(d.alarms.Lasting()) {
		if c.Node != "" {
			d.reviewNode(now, c, out)
		}
	}
}

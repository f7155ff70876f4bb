package core

import (
	"strconv"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/identity"
)

// alarmDuplicate tells of two processes with one identity, and where they are.
func (d *Dispatch) alarmDuplicate(now fleet.Time, n *node, out *Effects) {
	var from []string
	for _, c := range n.rec.Identity.Claimants {
		from = append(from, c.ID+" at "+c.Address)
	}
	detail := quarantineReason + ": " + strings.Join(from, ", ")
	if identity.Strange(&n.rec.Identity) {
		detail += strangeDetail
	}
	d.alarmNode(now, fleet.AlarmDuplicate, n, detail, out)
}

// strangeDetail tells what a value may mean that the database never knew.
const strangeDetail = "; one shows a value that the database does not know of: the database was restored from a backup, or the node's secret was stolen: " +
	"compare address and machine of each with the node's before you keep one"

// restoredQuiet is how long nothing may be seen of a restored backup for its alarm
// to end.
const restoredQuiet = fleet.Time(3600_000)

var restoredPrint = fleet.Fingerprint{Kind: fleet.AlarmRestoredBackup}

// alarmRestored tells that a node had sessions that the database does not know of:
// one alarm for the whole fleet, counted by node.
func (d *Dispatch) alarmRestored(now fleet.Time, n *node, last int64, out *Effects) {
	detail := "node " + n.rec.ID + " has had session " + strconv.FormatInt(last, 10) + ", the database knows of " +
		strconv.FormatInt(max(n.epoch, n.rec.Epoch), 10) + ": it was restored from a backup"
	c := d.alarms.Find(restoredPrint)
	if c == nil {
		c = d.newAlarm(now, restoredPrint, 1, out)
		c.Detail = detail
		d.putAlarm(c, out)
		d.awaitRestored(now)
		return
	}
	c.Detail = detail
	d.alarms.Again(now, c, 1)
}

func (d *Dispatch) awaitRestored(now fleet.Time) {
	d.timers.add(timer{at: now + restoredQuiet, kind: restoredDue})
}

// restoredDue ends the alarm when nothing was seen of it for long.
func (d *Dispatch) restoredDue(now fleet.Time, out *Effects) {
	switch c := d.alarms.Find(restoredPrint); {
	case c == nil:
	case now-c.LastSeen() >= restoredQuiet:
		d.endAlarm(now, c, out)
	default:
		d.timers.add(timer{at: c.LastSeen() + restoredQuiet, kind: restoredDue})
	}
}

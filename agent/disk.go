package agent

import (
	"errors"
	"log/slog"

	"rockpool/agent/internal/durable"
	"rockpool/agent/internal/identity"
	"rockpool/agent/internal/link"
	"rockpool/agent/internal/spool"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// disk does the slow writes of the loop, one after the other in the order in which
// they were asked for: a registration is stored before a result is handed in under
// its session. What was asked for while it was busy comes as one list: the results
// of a list are made safe together.
type disk struct {
	spool *spool.Spool
	id    *identity.Identity
	link  *link.Link
	log   *slog.Logger

	room int64 // bytes that must be free for new work
	full bool

	asked chan []diskTask
	done  chan []diskDone
	over  chan struct{} // closed when nobody waits for done any more
}

// diskTask is one of: store a registration, look whether the secret was changed and
// whether there is room, spool a result, hand one in, take one out.
type diskTask struct {
	remember *identity.Record
	watch    bool
	put      *wire.Result
	handIn   int64 // connection; 0: none
	remove   bool
	ref      nodecore.Ref
}

// diskDone is what came of storing a registration or a result, that a result can't
// be read, that the secret was changed, or that there is no room or some again.
type diskDone struct {
	changed    bool
	room       bool // it has changed: full says how
	full       bool
	remembered *identity.Record
	ref        nodecore.Ref
	err        error // of storing
	unreadable bool
}

// run works until asked is closed.
func (d *disk) run() {
	for tasks := range d.asked {
		var added []diskDone
		for _, task := range tasks {
			if task.put != nil {
				added = append(added, diskDone{ref: task.ref, err: d.add(task.ref, *task.put)})
				continue
			}
			d.do(task)
		}
		if len(added) > 0 {
			d.sync(added)
			d.report(added...)
		}
	}
}

func (d *disk) do(task diskTask) {
	switch {
	case task.remember != nil:
		d.remember(*task.remember)
	case task.watch:
		if d.id.Changed() {
			d.report(diskDone{changed: true})
		}
		d.lookForRoom()
		if err := d.spool.Rest(); err != nil {
			d.log.Warn("an empty file of the spool stays", "error", err)
		}
	case task.remove:
		if err := d.spool.Remove(task.ref); err != nil {
			d.log.Warn("a result that is acknowledged stays on the disk", "job", task.ref.Job, "error", err)
		}
	default:
		d.handIn(task.handIn, task.ref)
	}
}

// remember stores a registration. Until that is done the node sends no heartbeat
// under a new chain value: after a crash it would look like a copy of itself.
func (d *disk) remember(r identity.Record) {
	err := d.id.Remember(r)
	if err != nil {
		d.log.Error("the registration can't be stored: it is tried again", "error", err)
	}
	d.report(diskDone{remembered: &r, err: err})
	if err := d.id.Confirm(); err != nil {
		d.log.Error("the new secret does not take the old one's place yet: it is tried again with the next session", "error", err)
	}
}

// lookForRoom compares what is free with what there must be. Once there was too
// little an eighth more has to be free, so that the node does not waver.
func (d *disk) lookForRoom() {
	_, free, err := durable.Space(d.id.Dir())
	if err != nil {
		d.log.Warn("nobody knows how much of the disk is free", "error", err)
		return
	}
	least := d.room
	if d.full {
		least += least / 8
	}
	if full := free < least; full != d.full {
		d.full = full
		d.log.Warn("the disk of the state directory", "full", full, "free_bytes", free, "disk_free", d.room)
		d.report(diskDone{room: true, full: full})
	}
}

func (d *disk) add(ref nodecore.Ref, r wire.Result) error {
	err := d.spool.Add(ref, r)
	if err != nil {
		d.log.Error("a result can't be spooled: it is tried again", "job", ref.Job, "attempt", ref.Attempt, "error", err)
	}
	return err
}

// sync makes the results safe that were added.
func (d *disk) sync(added []diskDone) {
	err := d.spool.Sync()
	if err == nil {
		return
	}
	d.log.Error("results can't be spooled: they are tried again", "results", len(added), "error", err)
	for i := range added {
		added[i].err = err
	}
}

func (d *disk) handIn(conn int64, ref nodecore.Ref) {
	r, err := d.spool.Get(ref)
	if errors.Is(err, spool.ErrUnreadable) {
		d.log.Error("a result is lost", "job", ref.Job, "attempt", ref.Attempt, "error", err)
		d.report(diskDone{ref: ref, unreadable: true})
		return
	}
	if err == nil {
		err = d.link.Send(conn, r)
	}
	if err != nil && !errors.Is(err, wsconn.ErrClosed) {
		d.log.Warn("a result is not handed in: it is sent again", "job", ref.Job, "attempt", ref.Attempt, "error", err)
	}
}

func (d *disk) report(done ...diskDone) {
	select {
	case d.done <- done:
	case <-d.over:
	}
}

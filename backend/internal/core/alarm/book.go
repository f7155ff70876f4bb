package alarm

import (
	"cmp"
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// numbers lie between the alarms of one epoch of the shard and the next one's.
const numbers = 1 << 20

// Book is the alarms that last, and the silences that outlast theirs.
type Book struct {
	newest    int64 // id of the newest alarm
	cases     map[fleet.Fingerprint]*Case
	lasting   []*Case                     // by id
	silenced  map[fleet.Fingerprint]*Case // ended, and still silenced when that was last looked at
	unwritten []*Case
}

// Case is an alarm as it was written last, with what has been counted since.
type Case struct {
	fleet.Alarm

	count     int64
	last      fleet.Time
	unwritten bool // in Book.unwritten

	// Batch and At are its owner's: where its newest write stands.
	Batch uint64
	At    int
}

// Lasts reports that the alarm has not resolved itself; of nil, that there is none.
func (c *Case) Lasts() bool { return c != nil && c.ResolvedAt == 0 }

// Load begins, or begins again, under the epoch with the alarms that the
// database has: those that last, and ended ones that are still silenced. newest
// is the greatest id of all (0: unknown): none that was given is given again.
func (b *Book) Load(epoch, newest int64, alarms []fleet.Alarm) {
	b.newest = max(b.newest, newest, epoch*numbers)
	b.cases, b.silenced = map[fleet.Fingerprint]*Case{}, map[fleet.Fingerprint]*Case{}
	b.lasting, b.unwritten = nil, nil
	for i := range alarms {
		c := &Case{Alarm: alarms[i], count: alarms[i].Count, last: alarms[i].LastAt}
		b.newest = max(b.newest, c.ID)
		if !c.Lasts() {
			b.silenced[c.Fingerprint] = c
			continue
		}
		b.cases[c.Fingerprint] = c
		b.lasting = append(b.lasting, c)
	}
	slices.SortFunc(b.lasting, func(x, y *Case) int { return cmp.Compare(x.ID, y.ID) })
}

// Find gives the lasting alarm of the fingerprint, or nil.
func (b *Book) Find(f fleet.Fingerprint) *Case { return b.cases[f] }

// Lasting lists the alarms that last, by id. Nobody changes the list.
func (b *Book) Lasting() []*Case { return b.lasting }

// Raise begins an alarm that was seen n times; none of its fingerprint lasts. A
// silence of the one before goes over to it: then that one is to be written too.
func (b *Book) Raise(now fleet.Time, f fleet.Fingerprint, n int64) (c, before *Case) {
	b.newest++
	c = &Case{Alarm: fleet.Alarm{ID: b.newest, Fingerprint: f, Count: n, RaisedAt: now, LastAt: now}, count: n, last: now}
	b.cases[f] = c
	b.lasting = append(b.lasting, c)
	before = b.silenced[f]
	delete(b.silenced, f)
	if before == nil || before.SilencedUntil <= now {
		return c, nil
	}
	c.SilencedBy, c.SilencedUntil = before.SilencedBy, before.SilencedUntil
	before.SilencedUntil = now
	return c, before
}

// Again counts that the alarm was seen n more times.
func (b *Book) Again(now fleet.Time, c *Case, n int64) {
	c.count += n
	c.last = now
	b.Touch(c)
}

// Touch notes that the alarm is not as it was written.
func (b *Book) Touch(c *Case) {
	if !c.unwritten {
		c.unwritten = true
		b.unwritten = append(b.unwritten, c)
	}
}

// Untold reports alarms that are not as they were written.
func (b *Book) Untold() bool { return len(b.unwritten) > 0 }

// Tell calls write for each alarm that is not as it was written, once.
func (b *Book) Tell(write func(*Case)) {
	for _, c := range b.unwritten {
		if c.unwritten && c.Lasts() {
			write(c)
		}
		c.unwritten = false
	}
	clear(b.unwritten)
	b.unwritten = b.unwritten[:0]
}

// Written brings the alarm up to what was counted; its owner writes it now.
func (c *Case) Written() {
	c.Count, c.LastAt, c.unwritten = c.count, c.last, false
}

// LastSeen is when the alarm was last seen, also when that is not written yet.
func (c *Case) LastSeen() fleet.Time { return c.last }

// Resolve ends the alarm. A silence that goes on is kept for the next one.
func (b *Book) Resolve(now fleet.Time, c *Case) {
	c.ResolvedAt = now
	delete(b.cases, c.Fingerprint)
	if at, found := b.find(c.ID); found {
		b.lasting = slices.Delete(b.lasting, at, at+1)
	}
	if c.SilencedUntil > now {
		b.silenced[c.Fingerprint] = c
	}
}

func (b *Book) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(b.lasting, id, func(c *Case, id int64) int { return cmp.Compare(c.ID, id) })
}

// Ack notes that somebody knows of the alarm; nil: no such alarm lasts. The
// first one stays.
func (b *Book) Ack(now fleet.Time, id int64, name string) *Case {
	at, found := b.find(id)
	if !found {
		return nil
	}
	c := b.lasting[at]
	if c.AckedAt == 0 {
		c.AckedBy, c.AckedAt = name, now
	}
	return c
}

// Silence keeps the alarm, and those that are raised anew under its fingerprint,
// from people's eyes until then; a time that has passed ends a silence. nil: no
// such alarm lasts.
func (b *Book) Silence(now fleet.Time, id int64, until fleet.Time, name string) *Case {
	at, found := b.find(id)
	if !found {
		return nil
	}
	c := b.lasting[at]
	if until <= now {
		c.SilencedBy, c.SilencedUntil = "", 0
		return c
	}
	c.SilencedBy, c.SilencedUntil = name, until
	return c
}

// Package core composes the machines that decide: pools, candidates, leases,
// jobs. It is pure: the driver gives `now` and one event at a time, the core
// appends effects, and the driver carries them out and brings their outcome
// back as events. Production and the simulator share it.
package core

// Effects is what a run of events wants done.
//
// Writes (everything but Sends, Recalls and Reload) are durable: the driver
// commits them in one transaction and calls Committed with this same value.
// Nothing that depends on a write is sent before: offers, acknowledgements of
// results and welcomes come out of Committed. Sends may go out at once.
//
// Within one uncommitted Effects a job or placement appears at most once: a later
// step of the same one rewrites the entry that is there. Ends of placements come
// before new ones: they free their keys. The driver begins each batch with
// a zero Effects or one that was Reset, and hands that one value to events until
// it commits it.
type Effects struct {
	Inserts      []JobInsert
	Updates      []JobUpdate
	Attempts     []AttemptRow
	Reservations []Reservation
	Fallbacks    []FallbackRecord
	Sessions     []SessionWrite
	Identities   []IdentityWrite
	Inventories  []InventoryWrite
	Placements   []PlacementWrite
	Holds        []HoldWrite
	Alarms       []AlarmWrite
	Audits       []AuditNote

	Sends   []Send
	Recalls []Recall
	// Unplaced are placements that came to nothing after they were asked for: whoever
	// waits for them is told, once the batch before is committed.
	Unplaced []Unplaced
	// Reload asks the driver to load everything anew from the database: memory
	// was shown to differ from it.
	Reload bool

	gen  uint64 // the core's own number of this batch; 0: not seen yet
	acks []Send // answers to results, sent when the batch is committed
}

// Reset empties e for the next batch and keeps its memory.
func (e *Effects) Reset() {
	e.Inserts, e.Updates, e.Attempts = emptied(e.Inserts), emptied(e.Updates), emptied(e.Attempts)
	e.Reservations, e.Fallbacks, e.Sessions = emptied(e.Reservations), emptied(e.Fallbacks), emptied(e.Sessions)
	e.Identities, e.Inventories, e.Placements = emptied(e.Identities), emptied(e.Inventories), emptied(e.Placements)
	e.Holds, e.Alarms, e.Audits = emptied(e.Holds), emptied(e.Alarms), emptied(e.Audits)
	e.Sends, e.Recalls, e.Unplaced, e.acks = emptied(e.Sends), emptied(e.Recalls), emptied(e.Unplaced), emptied(e.acks)
	e.Reload, e.gen = false, 0
}

// emptied keeps the memory of a list, and nothing of what it led to.
func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// Durable reports whether there is anything to commit.
func (e *Effects) Durable() bool {
	return len(e.Inserts)+len(e.Updates)+len(e.Attempts)+len(e.Reservations)+len(e.Fallbacks)+len(e.Sessions)+len(e.Placements)+
		len(e.Identities)+len(e.Inventories)+len(e.Holds)+len(e.Alarms)+len(e.Audits) > 0
}

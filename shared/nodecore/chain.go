package nodecore

// chain tells a node's state directory from a copy of it: each welcome gives the
// value that the next hello says. It is stored before the first heartbeat, which
// confirms it. While it is being written no other hello is said: the control plane
// would forget the value that is about to stand on the disk. Where it can't be written
// heartbeats say so, and the control plane takes them for no confirmation.
type chain struct {
	due   Time         // could not be written: tried again then; else Never
	held  Time         // the first heartbeat waits until then at most
	stuck bool         // it did not come onto the disk at once: heartbeats go on without
	next  Registration // with the value that is not stored yet
	value string       // stored: what hello says; empty: none yet
}

// storeWait is how long a session's first heartbeat waits for the disk.
const storeWait = 5 * second

func (c *chain) waits() bool   { return c.next.Chain != "" }
func (c *chain) writing() bool { return c.waits() && c.due == Never }

// holds reports that heartbeats wait for the disk.
func (c *chain) holds() bool { return c.waits() && !c.stuck }

// fails reports that the disk does not take the value.
func (c *chain) fails() bool { return c.waits() && c.stuck }

// take has a welcome stored. One without a value leaves what is.
func (c *chain) take(now Time, r Registration, out *Effects) {
	c.held, c.stuck = now+storeWait, false
	c.write(r, out)
}

func (c *chain) write(r Registration, out *Effects) {
	c.next, c.due = r, Never
	out.Welcomed = append(out.Welcomed, r)
}

// drop gives a value up whose session is over before it could be written.
func (c *chain) drop() {
	if !c.writing() {
		c.next, c.due = Registration{}, Never
	}
}

// nextLook is when advance has something to do.
func (c *chain) nextLook() Time {
	if c.holds() {
		return min(c.due, c.held)
	}
	return c.due
}

// advance writes again what could not be written.
func (c *chain) advance(now Time, out *Effects) {
	if c.holds() && now >= c.held {
		c.stuck = true
	}
	if now >= c.due {
		c.write(c.next, out)
	}
}

// Remembered: a registration is stored with this chain value, or could not be; as
// long as its session lives that is tried again.
func (n *Node) Remembered(now Time, value string, ok bool, out *Effects) {
	if !n.advance(now, out) {
		return
	}
	c := &n.keeper.chain
	switch {
	case value != c.next.Chain || !c.writing():
	case ok:
		c.value, c.next = value, Registration{}
	case n.keeper.live():
		c.due, c.stuck = now+storeRetry, true
	default:
		c.next = Registration{}
	}
	n.settle(now, out)
}

package nodecore

// chain tells a node's state directory from a copy of it: each welcome gives the
// value that the next hello says. It is stored before the first heartbeat, which
// confirms it. While it is being written no other hello is said: the control plane
// would forget the value that is about to stand on the disk.
type chain struct {
	value string       // stored: what hello says; empty: none yet
	next  Registration // with the value that is not stored yet
	due   Time         // could not be written: tried again then; else Never
}

func (c *chain) waits() bool   { return c.next.Chain != "" }
func (c *chain) writing() bool { return c.waits() && c.due == Never }

// take has a welcome stored. One without a value leaves what is.
func (c *chain) take(r Registration, out *Effects) {
	c.next, c.due = r, Never
	out.Welcomed = append(out.Welcomed, r)
}

// drop gives a value up whose session is over before it could be written.
func (c *chain) drop() {
	if !c.writing() {
		c.next, c.due = Registration{}, Never
	}
}

// advance writes again what could not be written.
func (c *chain) advance(now Time, out *Effects) {
	if now >= c.due {
		c.take(c.next, out)
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
		c.due = now + storeRetry
	default:
		c.next = Registration{}
	}
	n.settle(now, out)
}

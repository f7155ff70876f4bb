package nodecore

// Offer is an attempt that the control plane has committed to this node.
type Offer struct {
	Ref     Ref
	Runner  string
	Backend string // empty: any
	Slots   int
}

// Welcome opens a session.
type Welcome struct {
	Registration
	Times Times
	Void  []Ref
}

// Ack answers a heartbeat. OK false: the session is unknown.
type Ack struct {
	OK        bool
	Cancel    []Stop
	Void      []Ref
	Reconnect Time // dial anew after so long; negative: not asked for
}

// Refusal answers a hello that can't be taken.
type Refusal struct {
	Code       string
	Detail     string
	RetryAfter Time
	Fatal      bool
}

// Dialed: the connection is up and the subprotocol agreed on.
func (n *Node) Dialed(now Time, conn int64, out *Effects) {
	if !n.advance(now, out) {
		return
	}
	if !n.keeper.dialed(now, conn) {
		out.Hangups = append(out.Hangups, Hangup{Conn: conn, Why: "the dial was given up before"})
	} else {
		out.Sends = append(out.Sends, Send{Kind: SendHello, Conn: conn, State: n.State(), Chain: n.keeper.chain.value})
	}
	n.settle(now, out)
}

// Closed: no connection came of the dial, or it ended by the other side or by a
// failure. The next dial waits for the floor at least.
func (n *Node) Closed(now Time, conn int64, floor Time, out *Effects) {
	if !n.advance(now, out) {
		return
	}
	if n.keeper.state != linkDown && conn == n.keeper.conn {
		n.keeper.lost(now, floor)
	}
	n.settle(now, out)
}

// Woke: the machine was suspended. What the session was worth then is over.
func (n *Node) Woke(now Time, out *Effects) {
	if !n.advance(now, out) {
		return
	}
	if n.keeper.state != linkDown {
		n.keeper.drop(now, "the machine was suspended", out)
		n.keeper.at = now
	}
	n.settle(now, out)
}

// Redial ends the session and begins the next one at once, because what it was
// opened with has changed. Work goes on.
func (n *Node) Redial(now Time, why string, out *Effects) {
	if !n.advance(now, out) {
		return
	}
	if n.keeper.state != linkDown {
		n.keeper.renew(now, why, out)
	}
	n.settle(now, out)
}

// Rotated: the control plane knows the node's new secret. It is told that the node
// knows so, and the next session opens with that one.
func (n *Node) Rotated(now Time, rotation string, out *Effects) {
	if !n.advance(now, out) {
		return
	}
	if n.keeper.live() {
		out.Sends = append(out.Sends, Send{Kind: SendRotated, Conn: n.keeper.conn, ID: rotation})
	}
	if n.keeper.state != linkDown {
		n.keeper.renew(now, "a new secret", out)
	}
	n.settle(now, out)
}

// Welcome opens the session: the spool is handed in under it.
func (n *Node) Welcome(now Time, conn int64, w Welcome, out *Effects) {
	if !n.hears(now, conn, out) || n.keeper.state != linkGreeting {
		return
	}
	n.keeper.welcomed(now, w.Times)
	n.keeper.chain.take(now, w.Registration, out)
	n.tellInventory(out)
	n.spool.renew()
	for _, ref := range w.Void {
		n.slots.voided(ref, n.cfg.StopGrace, out)
	}
	n.settle(now, out)
}

// Refused: hello was not taken.
func (n *Node) Refused(now Time, conn int64, r Refusal, out *Effects) {
	if !n.hears(now, conn, out) {
		return
	}
	floor := r.RetryAfter
	switch {
	case r.Code == codeDuplicate:
		floor = max(floor, duplicateWait)
	case r.Fatal:
		floor = max(floor, refusedWait)
	}
	out.alert("the control plane refuses this node: " + r.Code + ": " + r.Detail)
	out.Hangups = append(out.Hangups, Hangup{Conn: conn, Why: "refused"})
	n.keeper.lost(now, floor)
	n.settle(now, out)
}

// HeartbeatAck: what must be true of the node is made true.
func (n *Node) HeartbeatAck(now Time, conn int64, a Ack, out *Effects) {
	if !n.hearsLive(now, conn, out) {
		return
	}
	if !a.OK {
		n.keeper.drop(now, "the control plane does not know this session", out)
		n.settle(now, out)
		return
	}
	n.keeper.acknowledged(now)
	for _, c := range a.Cancel {
		n.slots.cancel(c.Ref, c.Grace, out)
	}
	for _, ref := range a.Void {
		n.slots.voided(ref, n.cfg.StopGrace, out)
	}
	if a.Reconnect >= 0 {
		n.keeper.replan(now, a.Reconnect)
	}
	n.settle(now, out)
}

// Offer is accepted or declined at once. A repeated one is accepted again; one of
// an attempt that runs or has ended changes nothing.
func (n *Node) Offer(now Time, conn int64, o Offer, out *Effects) {
	if !n.hearsLive(now, conn, out) {
		return
	}
	switch a := n.slots.find(o.Ref); {
	case a != nil && a.phase == PhaseAccepted:
		out.Sends = append(out.Sends, Send{Kind: SendAccept, Conn: conn, Ref: o.Ref})
	case n.slots.known(o.Ref) || n.spool.has(o.Ref):
		out.note("offer ignored: the attempt runs or has ended here: " + o.Ref.Job.String())
	default:
		n.answer(now, conn, o, out)
	}
	n.settle(now, out)
}

func (n *Node) answer(now Time, conn int64, o Offer, out *Effects) {
	reason := n.declines(o)
	if reason == "" && !n.slots.take(o.Ref, o.Slots, now+n.cfg.StartTimeout) {
		reason = ReasonNoSlot
	}
	if reason != "" {
		out.Sends = append(out.Sends, Send{Kind: SendDecline, Conn: conn, Ref: o.Ref, Reason: reason})
		out.Forgets = append(out.Forgets, o.Ref)
		return
	}
	out.Sends = append(out.Sends, Send{Kind: SendAccept, Conn: conn, Ref: o.Ref})
}

// Start lets an accepted attempt begin.
func (n *Node) Start(now Time, conn int64, ref Ref, out *Effects) {
	if n.hearsLive(now, conn, out) {
		n.slots.start(ref, out)
		n.settle(now, out)
	}
}

// Void makes the node forget an attempt.
func (n *Node) Void(now Time, conn int64, ref Ref, out *Effects) {
	if n.hearsLive(now, conn, out) {
		n.slots.voided(ref, n.cfg.StopGrace, out)
		n.settle(now, out)
	}
}

// Cancel asks for an attempt's end.
func (n *Node) Cancel(now Time, conn int64, c Stop, out *Effects) {
	if n.hearsLive(now, conn, out) {
		n.slots.cancel(c.Ref, c.Grace, out)
		n.settle(now, out)
	}
}

// ResultAck frees a result from the spool, whatever the verdict is.
func (n *Node) ResultAck(now Time, conn int64, ref Ref, verdict string, out *Effects) {
	if n.hearsLive(now, conn, out) {
		n.spool.free(ref, verdict, out)
		n.settle(now, out)
	}
}

// Finished: none of the attempt's processes lives any more.
func (n *Node) Finished(now Time, ref Ref, end End, out *Effects) {
	if n.advance(now, out) {
		n.hold.learn(now, end, out)
		n.slots.finished(ref, end.Stopped, out)
		n.settle(now, out)
	}
}

// Stored: the result, which has about so many bytes, is safe on the disk.
func (n *Node) Stored(now Time, ref Ref, bytes int, out *Effects) {
	if !n.advance(now, out) {
		return
	}
	if n.slots.stored(ref) {
		n.spool.put(ref, bytes)
	}
	n.settle(now, out)
}

// StoreFailed: the result could not be written; it is tried again.
func (n *Node) StoreFailed(now Time, ref Ref, out *Effects) {
	if n.advance(now, out) {
		n.slots.storeFailed(ref, now+storeRetry)
		n.settle(now, out)
	}
}

// Disk: the disk of the state directory has too little room for more work, or has
// room again.
func (n *Node) Disk(now Time, full bool, out *Effects) {
	if n.advance(now, out) {
		n.diskFull = full
		n.settle(now, out)
	}
}

// Unreadable: a result of the spool can't be read and is out of it.
func (n *Node) Unreadable(now Time, ref Ref, out *Effects) {
	if n.advance(now, out) {
		n.spool.free(ref, "unreadable", out)
		n.settle(now, out)
	}
}

// hears lets time pass and reports whether the connection is the one that counts.
func (n *Node) hears(now Time, conn int64, out *Effects) bool {
	if !n.advance(now, out) {
		return false
	}
	if n.keeper.speaks(conn) {
		return true
	}
	n.settle(now, out)
	return false
}

func (n *Node) hearsLive(now Time, conn int64, out *Effects) bool {
	return n.hears(now, conn, out) && n.keeper.live()
}

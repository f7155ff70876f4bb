package nodecore

// Stop begins the node's end: no new work, running attempts get the stop timeout.
// A second call ends them now.
func (n *Node) Stop(now Time, out *Effects) {
	if !n.advance(now, out) {
		return
	}
	if n.stopping {
		n.stopAll(now, out)
	} else {
		n.stopping = true
		n.stopAt = now + max(n.cfg.StopTimeout, 0)
	}
	n.settle(now, out)
}

// dropUnstarted forgets accepted attempts whose start can't come: without a
// session nobody sends it. With one, an accepted attempt counts as running.
func (n *Node) dropUnstarted(out *Effects) {
	for i := len(n.slots.work) - 1; i >= 0 && !n.keeper.live(); i-- {
		if a := &n.slots.work[i]; a.phase == PhaseAccepted {
			n.slots.forget(a.ref, out)
		}
	}
}

// stopAll ends what runs, once, and bounds the node's end.
func (n *Node) stopAll(now Time, out *Effects) {
	n.stopAt = Never
	n.endBy = min(n.endBy, now+n.cfg.StopGrace+killWait)
	for i := len(n.slots.work) - 1; i >= 0; i-- {
		a := &n.slots.work[i]
		if a.phase == PhaseAccepted {
			n.slots.forget(a.ref, out)
			continue
		}
		n.slots.stop(a, ReportShutdown, n.cfg.StopGrace, out)
	}
}

// mayEnd reports that nothing is left to do, or no time to do it.
func (n *Node) mayEnd(now Time) bool {
	if now >= n.endBy {
		return true
	}
	if len(n.slots.work) > 0 {
		return false
	}
	if len(n.spool.list) == 0 || !n.keeper.live() {
		return true
	}
	n.idleBy = min(n.idleBy, now+ackWait)
	return now >= n.idleBy
}

func (n *Node) end(out *Effects) {
	n.exited = true
	if n.keeper.live() {
		out.Sends = append(out.Sends, Send{Kind: SendGoodbye, Conn: n.keeper.conn})
	}
	if n.keeper.state != linkDown {
		out.Hangups = append(out.Hangups, Hangup{Conn: n.keeper.conn, Gently: n.keeper.live(), Why: "the agent stops"})
	}
	out.Exit = true
}

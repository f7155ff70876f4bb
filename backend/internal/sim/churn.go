package sim

// beginChurn lets the nodes of a churn come and go, each by its own stream.
func (w *World) beginChurn(c *Churn) {
	for _, n := range w.pick(c.Nodes) {
		s := newStream(w.seed, "churn", n.id)
		w.turn(c, n, &s, true)
	}
}

// turn plans a node's next end or return.
func (w *World) turn(c *Churn, n *node, s *stream, up bool) {
	d := c.Down
	if up {
		d = c.Up
	}
	at := w.now + s.weibull(d.Shape, d.Scale)
	if c.Until > 0 && at >= Time(c.Until) {
		if !up {
			w.agenda.Add(Time(c.Until), event{kind: evChurn, node: int32(n.index), msg: w.net.doing(func() { n.wake(1) })})
		}
		return
	}
	w.agenda.Add(at, event{kind: evChurn, node: int32(n.index), msg: w.net.doing(func() {
		if up {
			n.crash(s.chance(c.Power))
		} else {
			n.wake(1)
		}
		w.turn(c, n, s, !up)
	})})
}

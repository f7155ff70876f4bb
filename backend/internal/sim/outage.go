package sim

import "rockpool/backend/internal/core"

// stop ends the process as a planned stop does: each node is told when to dial anew,
// and all that was decided is written.
func (s *server) stop(down Time) {
	if !s.up || s.paused {
		return
	}
	for _, n := range s.w.nodes {
		if c := n.session; c != nil && c.serverOpen {
			m := s.w.net.take()
			m.send = core.Send{Kind: core.SendHeartbeatAck, Node: n.id, Epoch: c.opened.Epoch, Ack: &core.HeartbeatAck{OK: true}}
			m.redial = core.RedialAfter(n.id, s.w.redial())
			s.w.net.down(c, m)
		}
	}
	if s.inFlight != nil && !s.inStore && s.outcome == commitOK {
		s.applied(s.process)
	}
	s.crash(down)
}

// crash ends the process; the transaction under way is in the store, or never will be.
func (s *server) crash(down Time) {
	w := s.w
	if !s.up {
		return
	}
	if s.inFlight != nil {
		w.resubmitAll(s.inFlight)
		s.inFlight = nil
	}
	s.drop()
	s.up, s.paused, s.waiting = false, false, nil
	s.process++
	w.told.crashed(w)
	for _, n := range w.nodes {
		n.session, n.previous = nil, nil
		w.net.serverEnded(n)
	}
	w.after(down, evServer, func() {
		s.begin(w)
		s.load(50)
	})
}

// pause stops the process for a while, as SIGSTOP does.
func (s *server) pause(span Time) {
	if !s.up || s.paused {
		return
	}
	s.paused = true
	process := s.process
	s.w.after(span, evServer, func() {
		if process != s.process {
			return
		}
		s.paused, s.resumed = false, s.w.now
		if !s.doubt {
			s.tick()
		}
		late := s.waiting
		s.waiting = nil
		for i := range late {
			if s.w.failed == nil {
				s.w.happen(&late[i])
			}
		}
	})
}

package sim

import (
	"encoding/binary"
	"strconv"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/identity"
)

// What tells a node from a copy of its state. Values of the chain and secrets are
// numbers; their sums are the numbers themselves.

// sumOf is the sum of a value of the chain; of none the zero one.
func sumOf(value string) (s fleet.Sum) {
	if n, err := strconv.ParseUint(value, 10, 64); err == nil {
		binary.BigEndian.PutUint64(s[:], n)
	}
	return s
}

// nextChain is a value that no welcome has brought before.
func (w *World) nextChain() string {
	w.chains++
	return strconv.FormatUint(w.chains, 10)
}

// helloOf is the event of a node's hello.
func (s *server) helloOf(c *conn, m *message) core.HelloEvent {
	c.chain = s.w.nextChain()
	return core.HelloEvent{
		Node: c.node.id, Report: c.node.report(), Spooled: m.spooled, Claimant: c.node.report().BootID,
		Secret: sumOf(c.node.secret), Chain: sumOf(m.chain), ChainNext: sumOf(c.chain),
	}
}

// identify keeps what the core knows of a node's identity; people's part stays, until
// a rotation is over.
func (s *store) identify(w *core.IdentityWrite) {
	n := s.node(w.Node)
	n.rec.Identity = identity.Merged(n.rec.Identity, w.Identity)
	if w.Over == "" || w.Over != n.rec.Identity.Rotation {
		return
	}
	if w.Secret != (fleet.Sum{}) && w.Secret == n.rec.Identity.NextSecret {
		n.secret = w.Secret
	}
	n.rec.Identity.Keep, n.rec.Identity.Rotation, n.rec.Identity.NextSecret = "", "", fleet.Sum{}
}

// takeCopy keeps the nodes' state as it is now.
func (w *World) takeCopy(nodes []*node) {
	for _, n := range nodes {
		n.copied, n.copiedSecret = n.chain, n.secret
	}
}

// playCopy lets a process with the copy say hello from another machine, over a
// connection that breaks soon. With a secret that is void it gets no further than
// the upgrade.
func (w *World) playCopy(nodes []*node) {
	s := &w.srv
	for _, n := range nodes {
		row := w.store.nodes[n.index]
		if !s.up || s.paused || s.doubt || sumOf(n.copiedSecret) != row.secret {
			w.counts.add("copies.unheard")
			continue
		}
		report := *n.report()
		report.BootID, report.MachineID, report.RemoteAddr = "copy", "another machine", "198.51.100.9"
		next := w.nextChain()
		opened, refused := s.core.Hello(s.clock(), core.HelloEvent{
			Node: n.id, Report: &report, Claimant: "copy", Secret: sumOf(n.copiedSecret), Chain: sumOf(n.copied), ChainNext: sumOf(next),
		}, s.pending)
		if refused != nil {
			w.counts.add("copies.refused")
		} else {
			w.counts.add("copies.taken")
			n.copied = next
			w.told.hello(n)
			process := s.process
			w.after(5*second, evTold, func() {
				if process == s.process && s.up && !s.doubt {
					s.core.SessionClosed(s.clock(), opened, s.pending)
					s.settle()
				}
			})
		}
		s.settle()
	}
}

// repair chooses the nodes' own processes, of those that are held for a copy.
func (w *World) repair(nodes []*node) {
	for _, n := range nodes {
		for _, c := range w.store.nodes[n.index].rec.Identity.Claimants {
			if c.BootID == n.report().BootID {
				w.chains++
				rotation := "r" + strconv.FormatUint(w.chains, 10)
				w.change(n, func(rec *fleet.NodeRecord) {
					rec.Identity.Keep, rec.Identity.Rotation, rec.Identity.NextSecret = c.ID, rotation, fleet.Sum{}
				})
			}
		}
	}
}

// rotate makes the node's next secret and puts it; when the server has it the next
// session comes with it.
func (n *node) rotate(rotation string) {
	w := n.w
	if w.store.nodes[n.index].rec.Identity.Rotation != rotation {
		return // it is over
	}
	next := w.nextChain()
	w.change(n, func(rec *fleet.NodeRecord) { rec.Identity.NextSecret = sumOf(next) })
	process := n.process
	w.after(100, evTold, func() {
		if n.alive && n.process == process {
			n.secret = next
			n.rotated(rotation)
		}
	})
}

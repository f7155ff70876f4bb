package sim

import (
	"fmt"
	"slices"
	"strconv"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/nodecore"
)

// node is a machine of the fleet: the node's own deciding code, and around it the
// shell that carries out what it wants. What it runs is a model: so much time, and
// an end. The shell decides nothing.
type node struct {
	w       *World // from here to first: what every event touches
	index   int
	id      string
	alive   bool
	ending  bool  // was asked to stop
	wanted  bool  // begins again when it has stopped
	sick    bool  // says that it is unhealthy
	full    bool  // its disk takes nothing
	process int64 // number of the process; also the boot id
	timerAt Time  // the tick that counts; Never: none is needed
	later   Time  // a tick planned after that, which may count again; Never: unknown
	conn    *conn // the newest of its own
	runs    []run
	spool   []handIn // on its disk

	// What the server's shell knows of it.
	session, previous *conn
	heard             Time // its last frame over that session
	told              *toldNode

	link  link
	core  nodecore.Node
	first conn // its first one: most nodes have no other

	group  *Nodes
	chance stream
	spoils string
	chain  string // on its disk: what the newest welcome gave
	secret string // on its disk
	facts  *fleet.NodeReport
	offers int64

	copied, copiedSecret string // of its state, when a copy was made
}

// newConn makes the node's next connection.
func (n *node) newConn(number int64) *conn {
	c := &n.first
	if c.node != nil {
		c = &conn{}
	}
	c.node, c.number, c.born = n, number, n.process
	n.conn = c
	return c
}

func (w *World) addNode(g *Nodes, k int) {
	id := g.ID
	if g.Count > 1 {
		id = fmt.Sprintf("%s-%0*d", g.ID, len(strconv.Itoa(g.Count-1)), k)
	}
	n := w.room.nodes.take()
	n.w, n.told, n.index, n.id, n.group, n.spoils = w, w.room.told.take(), len(w.nodes), id, g, g.Spoils
	n.timerAt, n.later = Never, Never
	n.chance = newStream(w.seed, "node", id)
	w.nodes = append(w.nodes, n)
	w.named[id] = n
	rec := fleet.NodeRecord{
		ID: id, Owner: g.Owner, Pool: g.Pool, Role: g.Role, Region: g.Zone, Version: 1, Backend: g.Backend,
		Capacity: fleet.Vector{Slots: g.Slots, Resources: g.Extra}, Runners: g.Runners,
	}
	if g.Memory > 0 {
		rec.Capacity.Memory = []fleet.Quantity{{Name: "ram", Amount: g.Memory}}
	}
	n.secret = w.nextChain()
	r := w.room.rows.take()
	r.node, r.rec, r.secret = n, rec, sumOf(n.secret)
	w.store.nodes = append(w.store.nodes, r)
	w.net.connect(n)
	if g.Spoils != "absent" {
		w.agenda.Add(n.chance.between(0, Time(g.Joins)), event{kind: evBoot, node: int32(n.index), n: 1})
	}
}

// report is what its hello claims.
func (n *node) report() *fleet.NodeReport {
	if n.facts == nil || n.facts.BootID != strconv.FormatInt(n.process, 10) {
		rec := &n.w.store.nodes[n.index].rec
		n.facts = &fleet.NodeReport{
			BootID: strconv.FormatInt(n.process, 10), Role: n.group.Role, Region: n.group.Zone, Backend: n.group.Backend,
			Capacity: rec.Capacity, Runners: n.group.Runners, MachineID: "m-" + n.id, RemoteAddr: n.id,
		}
	}
	return n.facts
}

func (n *node) sickWhy() []string {
	if n.sick {
		return []string{"as the scenario says"}
	}
	return nil
}

// boot begins the process; what its disk has is handed in.
func (n *node) boot(process int64) {
	if n.alive || process != n.process+1 {
		return
	}
	n.alive, n.process, n.timerAt = true, process, Never
	n.ending, n.wanted = false, false
	cfg := nodecore.Config{
		Seed: n.chance.source.Uint64(), Slots: int(n.group.Slots), Runners: n.group.Runners, Backend: n.group.Backend,
		StopTimeout: nodecore.Time(5 * second), StopGrace: nodecore.Time(5 * second), Chain: n.chain,
	}
	for i := range n.spool {
		cfg.Spooled = append(cfg.Spooled, n.spool[i].ref)
	}
	n.core.Begin(cfg)
	n.core.Tick(nodecore.Time(n.w.now), &n.w.wants)
	n.act()
}

// crash ends the process at once: its attempts are gone, its disk stays. With a
// power failure nobody is told that the connection ended.
func (n *node) crash(power bool) {
	if !n.alive {
		return
	}
	n.endRuns()
	n.alive = false
	n.spool = slices.DeleteFunc(n.spool, func(h handIn) bool { return !h.stored })
	n.w.net.clientEnded(n, power)
}

// endRuns ends what runs with the process.
func (n *node) endRuns() {
	for i := range n.runs {
		n.w.counts.ranMs += int64(n.w.now - n.runs[i].began)
	}
	n.runs = nil
}

// askToStop asks the process to end.
func (n *node) askToStop() {
	if n.alive {
		n.ending = true
		n.core.Stop(nodecore.Time(n.w.now), &n.w.wants)
		n.act()
	}
}

// wake begins the next process after a while.
func (n *node) wake(after Time) {
	n.wanted = n.ending
	if !n.alive {
		n.w.agenda.Add(n.w.now+after, event{kind: evBoot, node: int32(n.index), n: n.process + 1})
	}
}

// timer lets the node's deciding code do what is due.
func (n *node) timer() {
	if n.w.now == n.later {
		n.later = Never
	}
	if n.w.now != n.timerAt || !n.alive {
		return
	}
	n.timerAt = Never
	if Time(n.core.Next()) > n.w.now {
		n.schedule()
		return
	}
	n.w.begun(evNodeTick, int32(n.index), 0)
	n.core.Tick(nodecore.Time(n.w.now), &n.w.wants)
	n.act()
}

// schedule plans the node's next deadline, unless an earlier one is planned.
func (n *node) schedule() {
	if !n.alive {
		return
	}
	next := Time(n.core.Next())
	if next == Never || next >= n.timerAt {
		return
	}
	if n.timerAt != Never {
		n.later = n.timerAt
	}
	n.timerAt = max(next, n.w.now)
	if n.timerAt == n.later {
		n.later = Never
		return
	}
	n.w.agenda.Add(n.timerAt, event{kind: evNodeTick, node: int32(n.index)})
}

func (n *node) dialed(c *conn, floor int64) {
	if !n.alive || c != n.conn || c.born != n.process {
		return
	}
	now := nodecore.Time(n.w.now)
	if floor >= 0 {
		n.core.Closed(now, c.number, nodecore.Time(floor), &n.w.wants)
	} else {
		n.core.Dialed(now, c.number, &n.w.wants)
	}
	n.act()
}

func (n *node) closed(c *conn, floor Time) {
	if !n.alive || !c.clientOpen || c.born != n.process {
		return
	}
	c.clientOpen = false
	n.core.Closed(nodecore.Time(n.w.now), c.number, nodecore.Time(floor), &n.w.wants)
	n.act()
}

// receive translates a message of the server into the node's event.
func (n *node) receive(c *conn, m *message) {
	defer n.w.net.release(m)
	if !n.alive || !c.clientOpen || c.born != n.process {
		return
	}
	now, s, ref := nodecore.Time(n.w.now), &m.send, nodecore.Ref{Job: m.send.Job, Attempt: m.send.Attempt}
	switch {
	case m.refusal != nil:
		n.core.Refused(now, c.number, *m.refusal, &n.w.wants)
		n.act()
		return
	case s.Kind == core.SendClose:
		n.closed(c, closeFloor(s.Code))
		return
	}
	switch s.Kind {
	case core.SendOffer, core.SendProbe:
		n.core.Offer(now, c.number, nodecore.Offer{Ref: ref, Runner: s.Spec.Runner, Backend: s.Spec.Backend, Slots: int(s.Spec.Demands.Slots)}, &n.w.wants)
	case core.SendStart:
		n.core.Start(now, c.number, ref, &n.w.wants)
	case core.SendVoid:
		n.core.Void(now, c.number, ref, &n.w.wants)
	case core.SendCancel:
		n.core.Cancel(now, c.number, nodecore.Stop{Ref: ref, Grace: nodecore.Time(s.GraceMs)}, &n.w.wants)
	case core.SendResultAck:
		n.core.ResultAck(now, c.number, ref, verdicts[s.Verdict], &n.w.wants)
	case core.SendHeartbeatAck:
		ack := ackOf(s.Ack)
		if m.redial > 0 {
			ack.Reconnect = nodecore.Time(m.redial)
		}
		n.core.HeartbeatAck(now, c.number, ack, &n.w.wants)
	case core.SendWelcome:
		n.core.Welcome(now, c.number, nodecore.Welcome{
			Registration: nodecore.Registration{NodeID: n.id, Epoch: s.Epoch, Chain: c.chain}, Times: n.w.nodeTimes(), Void: refs(s.Welcome.Void),
		}, &n.w.wants)
	case core.SendRotate:
		n.rotate(s.Rotate)
	}
	n.act()
}

// rotated: the server has the node's next secret.
func (n *node) rotated(rotation string) {
	n.core.Rotated(nodecore.Time(n.w.now), rotation, &n.w.wants)
	n.act()
}

var verdicts = [...]string{
	core.VerdictStored: "stored", core.VerdictDuplicate: "duplicate", core.VerdictFenced: "fenced", core.VerdictCanceled: "canceled",
}

// nodeTimes are what a welcome tells.
func (w *World) nodeTimes() nodecore.Times {
	return nodecore.Times{
		Heartbeat: nodecore.Time(w.times.Heartbeat), Suspect: nodecore.Time(w.times.Suspect), RedialWindow: nodecore.Time(w.redial()),
	}
}

// redial is the window over which nodes that lost the server spread.
func (w *World) redial() Time {
	if w.sc.Redial > 0 {
		return Time(w.sc.Redial)
	}
	return 5 * second
}

// closeFloor is what a close code asks for before the next dial.
func closeFloor(code fleet.Code) Time {
	switch code {
	case fleet.CodeForbidden:
		return hour
	case fleet.CodeDuplicateIdentity:
		return Time(core.DuplicateWait)
	}
	return 0
}

func ackOf(a *core.HeartbeatAck) nodecore.Ack {
	ack := nodecore.Ack{OK: a.OK, Void: refs(a.Void), Reconnect: -1}
	for _, c := range a.Cancel {
		ack.Cancel = append(ack.Cancel, nodecore.Stop{Ref: nodecore.Ref{Job: c.Job, Attempt: c.Attempt}, Grace: nodecore.Time(c.GraceMs)})
	}
	return ack
}

func refs(list []core.Attempt) (out []nodecore.Ref) {
	for _, a := range list {
		out = append(out, nodecore.Ref{Job: a.Job, Attempt: a.Attempt})
	}
	return out
}

// remember writes a registration to the node's disk.
func (n *node) remember(r nodecore.Registration) {
	if r.Chain == "" {
		return
	}
	if !n.full {
		n.chain = r.Chain
	}
	n.core.Remembered(nodecore.Time(n.w.now), r.Chain, !n.full, &n.w.wants)
}

// act carries out what the node's deciding code wants, in the order of its lists.
func (n *node) act() {
	out := &n.w.wants
	for _, r := range out.Welcomed {
		n.remember(r)
	}
	for i := range out.Sends {
		n.w.net.sendUp(n, &out.Sends[i])
	}
	for i := range out.Hangups {
		n.w.net.hangUp(n, out.Hangups[i].Conn)
	}
	for _, ref := range out.Starts {
		n.start(ref)
	}
	for _, s := range out.Stops {
		n.stop(s)
	}
	for _, r := range out.Reports {
		n.keep(r)
	}
	for _, ref := range out.Forgets {
		n.forget(ref)
	}
	for _, f := range out.Frees {
		n.spool = slices.DeleteFunc(n.spool, func(h handIn) bool { return h.ref == f.Ref })
	}
	for _, d := range out.Dials {
		n.w.net.dial(n, d)
	}
	if out.SelfTest {
		n.test()
	}
	ended := out.Exit
	out.Reset()
	if ended {
		n.endRuns()
		n.alive = false
		if n.wanted {
			n.wake(second)
		}
		return
	}
	n.schedule()
}

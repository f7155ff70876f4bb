package nodecore

import "slices"

// Config of a node's deciding code. Zero timeouts take the defaults below; those of
// the node's end are what they say.
type Config struct {
	Seed     uint64
	Slots    int
	Runners  []string
	Backend  string
	SpoolMax int    // results, those of attempts under way among them; full: no new work
	Spooled  []Ref  // what the spool held at the start, oldest first
	Chain    string // what the newest welcome that was stored gave

	DialTimeout  Time // dial, TLS and upgrade
	RPCTimeout   Time // every other wait for an answer
	StartTimeout Time // from accept to start
	SelfTestWait Time // from one self-test of a node that holds itself to the next
	StopTimeout  Time // that running attempts get when the node stops
	StopGrace    Time // from TERM to KILL when the server did not say
}

// Defaults of Config.
const (
	DefaultDialTimeout  = 15 * second
	DefaultRPCTimeout   = 10 * second
	DefaultStartTimeout = 30 * second
	DefaultSelfTestWait = minute
	DefaultSpoolMax     = 1000
)

// Waits at the end of a node's life. Grace, ackWait and some room are less than
// the 15 s that a supervisor adds to StopTimeout.
const (
	storeRetry = 5 * second // until a result that could not be written is written again
	ackWait    = 5 * second // for the last acknowledgements
	killWait   = 7 * second // past the grace: then the end comes anyway
)

func (c Config) withDefaults() Config {
	set := func(t *Time, to Time) {
		if *t <= 0 {
			*t = to
		}
	}
	set(&c.DialTimeout, DefaultDialTimeout)
	set(&c.RPCTimeout, DefaultRPCTimeout)
	set(&c.StartTimeout, DefaultStartTimeout)
	set(&c.SelfTestWait, DefaultSelfTestWait)
	if c.SpoolMax <= 0 {
		c.SpoolMax = DefaultSpoolMax
	}
	c.SpoolMax = max(c.SpoolMax, c.Slots)
	return c
}

// Node is the node's deciding code: session keeper, slots and spool order.
type Node struct {
	exited    bool // first comes what every event looks at
	stopping  bool
	accepting bool // as the last heartbeat said
	inventory bool // there is one to tell
	diskFull  bool
	stopAt    Time // running attempts are stopped then; Never
	endBy     Time // the end comes then, whatever runs; Never
	spoolMax  int
	idleBy    Time // nothing runs: the last acknowledgements are waited for so long; Never
	keeper    keeper
	slots     slots
	spool     spool
	hold      selfHold
	dice      dice
	cfg       *Config
}

// New makes a node that dials at its first Tick.
func New(cfg Config) *Node {
	n := &Node{}
	n.Begin(cfg)
	return n
}

// Begin makes n a new node where it lies: it is not to be copied from then on.
func (n *Node) Begin(cfg Config) {
	cfg = cfg.withDefaults()
	*n = Node{cfg: &cfg, spoolMax: cfg.SpoolMax, dice: dice(cfg.Seed), slots: slots{total: cfg.Slots}, hold: selfHold{wait: cfg.SelfTestWait, testAt: Never}, stopAt: Never, endBy: Never, idleBy: Never}
	n.keeper = newKeeper(n.cfg, &n.dice)
	n.spool.dice = &n.dice
	for _, ref := range cfg.Spooled {
		n.spool.put(ref, unknownBytes)
	}
}

// Next is when Tick is due.
func (n *Node) Next() Time {
	if n.exited {
		return Never
	}
	at := min(n.keeper.next(), n.slots.next(), n.hold.testAt, n.stopAt, n.endBy, n.idleBy)
	if n.keeper.live() {
		at = min(at, n.spool.next())
	}
	return at
}

// Tick does what time alone brings.
func (n *Node) Tick(now Time, out *Effects) {
	if n.advance(now, out) {
		n.settle(now, out)
	}
}

// State is what hello and heartbeats say of the node.
func (n *Node) State() State {
	reason := n.refusal()
	said := reason
	if reason == ReasonStartsFailing {
		said += ": " + n.hold.why
	}
	return State{
		Accepting: reason == "", Reason: said, Work: n.slots.list(), Spooled: len(n.spool.list) + n.slots.ended(),
		RoundTrip: n.keeper.trip, Unsaved: n.keeper.chain.waits(),
	}
}

// Used is how many slots are taken.
func (n *Node) Used() int { return n.slots.used }

// Live reports whether a session is open.
func (n *Node) Live() bool { return n.keeper.live() }

// advance lets time pass before an event is looked at: what came in late, after
// the process was suspended, must not revive a session that is dead. False: the
// node has ended and hears nothing any more.
func (n *Node) advance(now Time, out *Effects) bool {
	if n.exited {
		return false
	}
	n.keeper.advance(now, out)
	n.slots.advance(now, out)
	n.hold.advance(now, out)
	if now >= n.stopAt {
		n.stopAt = Never
		n.stopAll(now, out)
	}
	return true
}

// settle does what follows from the state, whichever event made it.
func (n *Node) settle(now Time, out *Effects) {
	if n.stopping {
		n.dropUnstarted(out)
		if n.mayEnd(now) {
			n.end(out)
			return
		}
	}
	if !n.keeper.live() {
		return
	}
	n.spool.send(now, n.keeper.conn, out)
	// That it takes no work any more, or again, the server learns at once.
	if n.accepting != (n.refusal() == "") {
		n.keeper.hurry(now)
	}
	if n.keeper.beat(now) {
		state := n.State()
		n.accepting = state.Accepting
		out.Sends = append(out.Sends, Send{Kind: SendHeartbeat, Conn: n.keeper.conn, State: state})
	}
}

// refusal says why the node takes no new work; empty: it does.
func (n *Node) refusal() string {
	switch {
	case n.stopping:
		return ReasonStopping
	case n.hold.held():
		return ReasonStartsFailing
	case n.keeper.chain.fails():
		return ReasonStateFailing
	case n.slots.failing():
		return ReasonSpoolFailing
	case n.diskFull:
		return ReasonDiskFull
	case len(n.spool.list)+len(n.slots.work) >= n.spoolMax && len(n.spool.list)+n.slots.ended() > 0:
		return ReasonSpoolFull
	}
	return ""
}

// declines says why this node can't take an offer; empty: it can, if slots are free.
func (n *Node) declines(o Offer) string {
	switch reason := n.refusal(); {
	case reason != "":
		return reason
	case !slices.Contains(n.cfg.Runners, o.Runner):
		return ReasonUnknownRunner
	case o.Backend != "" && o.Backend != n.cfg.Backend:
		return ReasonWrongBackend
	}
	return ""
}

// Inventory: there is a first one, or it has changed. It is told now and with each
// new session.
func (n *Node) Inventory(now Time, out *Effects) {
	if !n.advance(now, out) {
		return
	}
	n.inventory = true
	n.tellInventory(out)
	n.settle(now, out)
}

func (n *Node) tellInventory(out *Effects) {
	if n.inventory && n.keeper.live() {
		out.Sends = append(out.Sends, Send{Kind: SendInventory, Conn: n.keeper.conn})
	}
}

// Holds reports an attempt that is accepted, runs or is on its way to the spool.
func (n *Node) Holds(ref Ref) bool { return n.slots.find(ref) != nil }

package session

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// Config of the channel. Zero fields take the defaults, except Times.
type Config struct {
	Times        wire.Times    // of the lease, told in welcome
	Limits       wire.Limits   // of frames once hello is through
	OfferTimeout time.Duration // how long an offer waits for its answer, default 5 s
	HelloTimeout time.Duration // from the upgrade, default 10 s
	// AgentsPerSecond is the budget of upgrades with an agent's credential, default 2,000.
	AgentsPerSecond int
	// ConsolesPerSecond is the budget of upgrades with a console's cookie, default 50.
	ConsolesPerSecond int
	// FramesPerSecond is what a node may send that nobody asked for, default 50; four
	// seconds' worth may come at once, here and below.
	FramesPerSecond int
	// BytesPerSecond is what any connection may send beside what was asked for, default 1 MiB.
	BytesPerSecond int
	// RecheckEvery is how often an open console's session is looked up again, default 30 s.
	RecheckEvery time.Duration
	// TailPause is how long a followed log rests when the node had less of it than was
	// asked for, default 250 ms.
	TailPause time.Duration
	Version   string // of the server, told to consoles
	// Conn bounds each connection: outbox, pings, writes.
	Conn wsconn.Options
	// Address is where a request comes from; the default is the peer itself. A
	// server behind a proxy that it trusts gives its own.
	Address func(*http.Request) netip.Addr
	Now     func() time.Time // for the budgets
	Logger  *slog.Logger
}

func (c Config) withDefaults() Config {
	setDefault(&c.Limits, wire.DefaultLimits())
	setDefault(&c.OfferTimeout, 5*time.Second)
	setDefault(&c.HelloTimeout, 10*time.Second)
	setDefault(&c.AgentsPerSecond, 2000)
	setDefault(&c.ConsolesPerSecond, 50)
	setDefault(&c.FramesPerSecond, 50)
	setDefault(&c.BytesPerSecond, 1<<20)
	setDefault(&c.RecheckEvery, 30*time.Second)
	setDefault(&c.TailPause, 250*time.Millisecond)
	setDefault(&c.Conn.PingEvery, wsconn.PingEvery)
	c.Conn.SendLimits = c.Limits
	if c.Address == nil {
		c.Address = peerAddress
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// peerAddress is the address at the other end of the connection.
func peerAddress(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // none on a unix socket
	return peer.Addr().Unmap()
}

// Counts are what the channel has seen: totals since the start, but for Open.
type Counts struct {
	Open          int64  // connections now
	Sessions      uint64 // hellos that became a session
	Refused       uint64 // upgrades and hellos refused
	OverBudget    uint64 // upgrades put off for the budget
	BadMessages   uint64 // connections closed for what they sent
	UnknownTypes  uint64 // messages of a type that this build does not know
	UnknownKeys   uint64 // keys that this build does not know
	ClaimedKeys   uint64 // keys and labels that claimed a pool or an owner
	SlowConsumers uint64 // connections closed because they did not read
	RateLimited   uint64 // connections closed because they said more than they may
	StrayRotated  uint64 // words of a new secret that nobody waited for
	Unwritten     uint64 // lines of the log and audit entries that were too many of one peer
}

// counters are Counts while they are counted.
type counters struct {
	open                                                 atomic.Int64
	sessions, refused, overBudget, badMessages           atomic.Uint64
	unknownTypes, unknownKeys, claimedKeys, slowConsumer atomic.Uint64
	rateLimited, strayRotated, unwritten                 atomic.Uint64
}

func (c *counters) read() Counts {
	return Counts{
		Open: c.open.Load(), Sessions: c.sessions.Load(), Refused: c.refused.Load(), OverBudget: c.overBudget.Load(),
		BadMessages: c.badMessages.Load(), UnknownTypes: c.unknownTypes.Load(), UnknownKeys: c.unknownKeys.Load(),
		ClaimedKeys: c.claimedKeys.Load(), SlowConsumers: c.slowConsumer.Load(),
		RateLimited: c.rateLimited.Load(), StrayRotated: c.strayRotated.Load(), Unwritten: c.unwritten.Load(),
	}
}

package session

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// Dispatcher is the dispatch loop as a session sees it. Events block for
// backpressure only, never for a commit.
type Dispatcher interface {
	// Hello opens a session: enter is called with its name, in the loop, before
	// anything can be sent to it. The welcome follows when it is committed.
	Hello(ctx context.Context, hello core.HelloEvent, enter func(opened core.Session)) error
	Heartbeat(from core.Session, hb core.HeartbeatEvent)
	Alive(from core.Session)
	Accept(from core.Session, attempt core.Attempt)
	Decline(from core.Session, attempt core.Attempt, reason string)
	Progress(from core.Session, attempt core.Attempt, percent int32)
	Result(from core.Session, attempt core.Attempt, result *fleet.Result)
	Inventory(from core.Session, inventory *fleet.Inventory)
	Goodbye(from core.Session, kind string)
	Closed(from core.Session)
	Audit(note core.AuditNote)
}

// Enroller knows whose a credential is; enroll.Desk is one.
type Enroller interface {
	Admit(p enroll.Presented, from netip.Addr) error
	Identify(ctx context.Context, p enroll.Presented, from netip.Addr) (enroll.Credential, error)
	Register(ctx context.Context, c enroll.Credential, claim enroll.Claim) (enroll.Registered, error)
}

// Gateway serves GET /v1/channel. It outlives its requests: Close ends it.
type Gateway struct {
	hub      *Hub
	loop     Dispatcher
	desk     Enroller
	door     ConsoleDoor
	view     Watcher
	agents   *budget
	budget   *budget // of consoles
	consoles consoles

	ctx    context.Context // of what sessions ask the database; ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex
	closing bool
	open    map[peer]struct{} // from the upgrade to the end
	running sync.WaitGroup    // requests and sessions
}

// stopping is why connections end with a planned stop.
const stopping = "the server stops"

// peer is one connection, of a node or a console.
type peer interface {
	end(code wire.CloseCode, reason string)
	cut()
}

// NewGateway makes the endpoint over a hub.
func NewGateway(hub *Hub, loop Dispatcher, desk Enroller, door ConsoleDoor, view Watcher) *Gateway {
	ctx, cancel := context.WithCancel(context.Background())
	return &Gateway{
		hub: hub, loop: loop, desk: desk, door: door, view: view,
		agents: newBudget(hub.cfg.AgentsPerSecond, hub.cfg.Now), budget: newBudget(hub.cfg.ConsolesPerSecond, hub.cfg.Now),
		consoles: consoles{open: map[*console]struct{}{}},
		ctx:      ctx, cancel: cancel, open: map[peer]struct{}{},
	}
}

// ServeHTTP identifies, upgrades and returns; the session lives on in a goroutine
// of its own, which spares the request's memory. A credential that is missing,
// malformed or of another kind is refused before anything else is read.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 { // or of unknown length
		g.refuseBody(w, r)
		return
	}
	if !g.begin() {
		g.putOff(w, r, stopping)
		return
	}
	defer g.running.Done()
	from := g.hub.cfg.Address(r)
	switch there, err := g.door.Presented(r.Header); {
	case !there:
		g.serveAgent(w, r, from)
	case err != nil:
		g.refuse(w, r, err)
	case len(r.Header.Values("Authorization")) > 0:
		g.refuse(w, r, fleet.Errorf(fleet.CodeUnauthenticated, "show one credential: a node's secret or a console's cookie"))
	default:
		g.serveConsole(w, r, from)
	}
}

func (g *Gateway) serveAgent(w http.ResponseWriter, r *http.Request, from netip.Addr) {
	presented, err := enroll.Present(r.Header)
	if err == nil {
		err = g.desk.Admit(presented, from)
	}
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	if !g.agents.take() {
		g.hub.counts.overBudget.Add(1)
		g.putOff(w, r, "too many nodes connect at once")
		return
	}
	ctx, done := g.within(r)
	defer done()
	credential, err := g.desk.Identify(ctx, presented, from)
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	g.upgrade(w, r, credential, from)
}

func (g *Gateway) upgrade(w http.ResponseWriter, r *http.Request, credential enroll.Credential, from netip.Addr) {
	s := &session{gateway: g, hub: g.hub, from: from}
	s.pace = newPace(g.hub, s, g.hub.cfg.FramesPerSecond)
	conn, err := wsconn.Accept(w, r, wsconn.AcceptOptions{Options: g.hub.cfg.Conn, Pacer: &s.pace})
	if err != nil { // answered there
		g.hub.counts.refused.Add(1)
		g.hub.cfg.Logger.Debug("upgrade failed", "address", from, "error", err)
		return
	}
	s.conn = conn
	if !g.keep(s) {
		conn.Close(wire.CloseShutdown, stopping)
		return
	}
	go s.begin(&credential)
}

// refuseBody refuses an upgrade that has a body. The server reads what is left of
// one before it answers, and again behind the answer: the deadline ends that, for
// a peer which announces a body and never sends it.
func (g *Gateway) refuseBody(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // without one it only takes longer
	w.Header().Set("Connection", "close")
	g.refuse(w, r, fleet.Errorf(fleet.CodeBadRequest, "an upgrade has no body"))
}

// within is a request's context, which ends after identifyWithin, and with Close.
func (g *Gateway) within(r *http.Request) (ctx context.Context, done func()) {
	ctx, cancel := context.WithTimeout(r.Context(), identifyWithin)
	unhook := context.AfterFunc(g.ctx, cancel)
	return ctx, func() { unhook(); cancel() }
}

func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	g.hub.counts.refused.Add(1)
	refuseUpgrade(w, r, err)
}

func (g *Gateway) putOff(w http.ResponseWriter, r *http.Request, detail string) {
	refuseUpgrade(w, r, fleet.Errorf(fleet.CodeUnavailable, detail))
}

// begin counts a request in, unless the gateway closes.
func (g *Gateway) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return false
	}
	g.running.Add(1)
	return true
}

// keep counts a connection in; its request is counted still.
func (g *Gateway) keep(s peer) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return false
	}
	g.running.Add(1)
	g.open[s] = struct{}{}
	g.hub.counts.open.Add(1)
	return true
}

func (g *Gateway) drop(s peer) {
	g.mu.Lock()
	delete(g.open, s)
	g.mu.Unlock()
	g.hub.counts.open.Add(-1)
	g.running.Done()
}

// Close takes no more connections, tells each node when to dial anew, ends all
// sessions in parallel (1001) and waits for them. When ctx ends first it cuts what is left and gives ctx's error. The
// dispatch loop must run until Close returns.
func (g *Gateway) Close(ctx context.Context) error {
	open := g.close()
	g.hub.farewell()
	for _, s := range open {
		s.end(wire.CloseShutdown, stopping)
	}
	done := make(chan struct{})
	go func() { g.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, s := range g.close() {
		s.cut()
	}
	return ctx.Err()
}

// close gives the connections that are open; from now on none joins them.
func (g *Gateway) close() []peer {
	g.cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing = true
	open := make([]peer, 0, len(g.open))
	for s := range g.open {
		open = append(open, s)
	}
	return open
}

// identifyWithin bounds what an upgrade may wait for the database: it is refused
// before the one who dials gives up.
const identifyWithin = 10 * time.Second

// registerWithin bounds what one hello may wait for the database.
const registerWithin = 15 * time.Second

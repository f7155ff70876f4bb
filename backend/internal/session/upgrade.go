package session

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/view"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// ConsoleUser is who a console belongs to, with the rights of this moment.
type ConsoleUser struct {
	User int64
	view.Viewer
	Session [32]byte // the SHA-256 of the console session's secret
	Name    string
	Roles   []string
}

// ConsoleDoor knows whose a console's cookie is.
type ConsoleDoor interface {
	// Presented looks for the cookie by its name and shape alone.
	Presented(header http.Header) (there bool, err error)
	// Admit finds the console session in the cookie. Errors are *fleet.Error.
	Admit(ctx context.Context, header http.Header, from netip.Addr) (ConsoleUser, error)
	// Recheck is unauthenticated when the session is over.
	Recheck(ctx context.Context, session [32]byte) error
}

// Watcher is the view that consoles subscribe to.
type Watcher interface {
	Subscribe(ctx context.Context, who *view.Viewer, topic string, filter wire.Filter, to view.Subscriber) (*view.Subscription, *view.Snapshot, error)
}

// serveConsole upgrades a browser's request. It must come from a page of ours:
// its Origin is there, and names this very host.
func (g *Gateway) serveConsole(w http.ResponseWriter, r *http.Request, from netip.Addr) {
	if !sameOrigin(r) {
		g.refuse(w, r, fleet.Errorf(fleet.CodeForbidden, "a console's connection comes from a page of this server"))
		return
	}
	if !g.budget.take() {
		g.hub.counts.overBudget.Add(1)
		g.putOff(w, r, "too many consoles connect at once")
		return
	}
	ctx, done := g.within(r)
	defer done()
	who, err := g.door.Admit(ctx, r.Header, from)
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	c := newConsole(g, who, from)
	options := g.hub.cfg.Conn
	options.SocketBytes = socketBytes
	conn, err := wsconn.Accept(w, r, wsconn.AcceptOptions{Options: options, Pacer: &c.pace})
	if err != nil { // answered there
		g.hub.counts.refused.Add(1)
		return
	}
	c.conn = conn
	if !g.keep(c) {
		conn.Close(wire.CloseShutdown, "the server stops")
		return
	}
	g.consoles.add(c)
	go func() {
		defer g.drop(c)
		defer g.consoles.remove(c)
		c.run()
	}()
}

// sameOrigin reports that the page which opens the connection is of this host.
// TLS may end at a proxy before us; a page without it never belongs to a server
// with it.
func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 {
		return false
	}
	return strings.EqualFold(origins[0], "https://"+r.Host) || r.TLS == nil && strings.EqualFold(origins[0], "http://"+r.Host)
}

package session

import (
	"sync"

	"rockpool/shared/wire"
)

// consoles are the open consoles, for ending them by what opened them.
type consoles struct {
	mu   sync.Mutex
	open map[*console]struct{}
}

func (all *consoles) add(c *console) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.open[c] = struct{}{}
}

func (all *consoles) remove(c *console) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, c)
}

// list gives the consoles that match.
func (all *consoles) list(match func(*console) bool) []*console {
	all.mu.Lock()
	defer all.mu.Unlock()
	var found []*console
	for c := range all.open {
		if match(c) {
			found = append(found, c)
		}
	}
	return found
}

// EndConsole ends the sockets of one console session, by the SHA-256 of its secret.
func (g *Gateway) EndConsole(session [32]byte) {
	for _, c := range g.consoles.list(func(c *console) bool { return c.who.Session == session }) {
		c.end(wire.CloseRevoked, "signed out")
	}
}

// EndUser ends the sockets of all of a user's consoles: the password or the rights
// have changed.
func (g *Gateway) EndUser(user int64) {
	for _, c := range g.consoles.list(func(c *console) bool { return c.who.User == user }) {
		c.end(wire.CloseRevoked, "sign in anew")
	}
}

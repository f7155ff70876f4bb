package backend

import (
	"context"
	"net/http"
	"net/netip"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/session"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/view"
)

// consoleDoor tells the channel whose a console's cookie is, and what that user
// may see by the very rules of REST.
type consoleDoor struct {
	gate   *access.Gate
	policy *access.Policy
	db     *store.DB
}

// Presented looks for the cookie by its name and shape alone.
func (d consoleDoor) Presented(header http.Header) (there bool, err error) {
	_, there, err = access.ConsoleCookie(header)
	return there, err
}

// Admit finds the console session in the cookie.
func (d consoleDoor) Admit(ctx context.Context, header http.Header, from netip.Addr) (session.ConsoleUser, error) {
	who, err := d.gate.Identify(ctx, header, from)
	if err != nil {
		return session.ConsoleUser{}, err
	}
	if who.Kind != access.ByConsole {
		return session.ConsoleUser{}, fleet.Errorf(fleet.CodeUnauthenticated, "a console shows the cookie of a console session")
	}
	scope := func(object string) *record.Scope {
		right := d.policy.Decide(who.Grants(), object, "read")
		if right.None() {
			return nil
		}
		rows := right.Of(who.User.ID)
		return &rows
	}
	return session.ConsoleUser{
		User: who.User.ID,
		Viewer: view.Viewer{
			Nodes: scope("node"), Pools: scope("pool"), Jobs: scope("job"), Alarms: scope("alarm"), Placements: scope("placement"),
		},
		Session: who.Console, Name: who.User.Name, Roles: who.User.Roles,
	}, nil
}

// Recheck is unauthenticated when the console session is over.
func (d consoleDoor) Recheck(ctx context.Context, sum [32]byte) error {
	_, err := d.db.ConsoleSessionBySum(ctx, sum)
	if access.CodeOf(err) == fleet.CodeNotFound {
		return fleet.Errorf(fleet.CodeUnauthenticated, "the console session is over")
	}
	return err
}

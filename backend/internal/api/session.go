package api

import (
	"net/http"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

// Consoles are the open consoles of signed-in users: their sockets end when what
// opened them does.
type Consoles interface {
	// EndConsole ends the sockets of one console session.
	EndConsole(session [32]byte)
	// EndUser ends the sockets of all of a user's console sessions.
	EndUser(user int64)
}

// openSession signs a user in: name and password are the credential.
func (a *API) openSession(c *call, in *rest.SessionRequest) error {
	if err := access.SameOrigin(c.Request(), false); err != nil {
		return err
	}
	if err := checkUserName(in.Name); err != nil {
		return err
	}
	if len(in.Password) > access.MaxPassword {
		return fleet.Errorf(fleet.CodeUnauthenticated, "the name or the password is wrong")
	}
	actor := record.Actor{Subject: "anonymous", Address: peer(c).String(), RequestID: requestID(c.Context)}
	user, err := a.signIns.Check(c.ctx(), actor, peer(c), in.Name, in.Password)
	if err != nil {
		return err
	}
	c.who = access.Principal{Kind: access.ByConsole, User: user}
	if err := a.startSession(c); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, a.sessionDoc(&user))
}

// startSession makes a console session under a new secret and hands that to the
// browser; the secret that the browser may have brought is worth nothing for it.
func (a *API) startSession(c *call) error {
	secret := enroll.NewConsoleSecret()
	expires := a.now().Add(access.ConsoleLife)
	if err := a.store.CreateConsoleSession(c.ctx(), c.actor(), c.who.User.ID, secret.Sum, expires); err != nil {
		return err
	}
	http.SetCookie(c.Response(), access.NewCookie(secret.Text))
	return nil
}

func (a *API) getSession(c *call) error {
	return c.JSON(http.StatusOK, a.sessionDoc(&c.who.User))
}

// closeSession signs out; the sockets of the session end with it.
func (a *API) closeSession(c *call) error {
	if c.who.Kind != access.ByConsole {
		return fleet.Errorf(fleet.CodeConflict, "an API token is no console session: delete the token")
	}
	err := a.store.EndConsoleSession(c.ctx(), c.actor(), c.who.User.ID, c.who.Console)
	if err != nil && !isNotFound(err) {
		return err
	}
	a.consoles.EndConsole(c.who.Console)
	http.SetCookie(c.Response(), access.ExpiredCookie())
	return c.NoContent(http.StatusNoContent)
}

// changePassword replaces one's own password, which must be told once more. All
// console sessions end; the one that asked goes on under a new secret.
func (a *API) changePassword(c *call, in *rest.PasswordChange) error {
	if err := checkPassword(in.Password); err != nil {
		return err
	}
	if len(in.Current) > access.MaxPassword {
		return fleet.Errorf(fleet.CodeForbidden, "the current password is wrong")
	}
	user := c.who.User
	_, err := a.signIns.Check(c.ctx(), c.actor(), peer(c), user.Name, in.Current)
	if access.CodeOf(err) == fleet.CodeUnauthenticated { // who asks is known: no reason to sign in anew
		return fleet.Errorf(fleet.CodeForbidden, "the current password is wrong")
	}
	if err != nil {
		return err
	}
	if err := a.putPassword(c, user.ID, in.Password, ""); err != nil {
		return err
	}
	if c.who.Kind == access.ByConsole {
		if err := a.startSession(c); err != nil {
			return err
		}
	}
	return c.NoContent(http.StatusNoContent)
}

// setPassword gives a user a new password.
func (a *API) setPassword(c *call, in *rest.PasswordRequest) error {
	id, err := c.userID()
	if err != nil {
		return err
	}
	if err := checkPassword(in.Password); err != nil {
		return err
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	if err := a.putPassword(c, id, in.Password, in.Reason); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (a *API) putPassword(c *call, user int64, password, reason string) error {
	hash, err := a.hasher.Hash(c.ctx(), password)
	if err != nil {
		return err
	}
	if err := a.store.SetPassword(c.ctx(), c.actor(), user, hash, reason); err != nil {
		return err
	}
	a.consoles.EndUser(user)
	return nil
}

// hashOf is the hash of an optional password; empty: none.
func (a *API) hashOf(c *call, password string) (string, error) {
	if password == "" {
		return "", nil
	}
	if err := checkPassword(password); err != nil {
		return "", err
	}
	return a.hasher.Hash(c.ctx(), password)
}

func checkPassword(password string) error {
	if len(password) < access.MinPassword || len(password) > access.MaxPassword {
		return badRequest("password must have %d..%d bytes", access.MinPassword, access.MaxPassword)
	}
	return nil
}

func (a *API) sessionDoc(user *record.User) rest.Session {
	doc := userDoc(user)
	return rest.Session{User: doc, Roles: doc.Roles, Fleet: a.fleet}
}

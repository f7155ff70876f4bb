package api

import (
	"cmp"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/limit"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

const defaultAdmin = "admin" // the first superadmin's name

// redeemSetup makes the first superadmin. The setup token is the credential: it
// was printed where only the server's owner reads, works once and expires.
func (a *API) redeemSetup(c *call, in *rest.SetupRequest) error {
	if wait := a.setups.Wait(peer(c)); wait > 0 {
		return &limit.Error{RetryAfter: wait}
	}
	a.setups.Take(peer(c))
	name := cmp.Or(in.Name, defaultAdmin)
	if err := checkUserName(name); err != nil {
		return err
	}
	hash, err := a.hashOf(c, in.Password)
	if err != nil {
		return err
	}
	sum, ok := enroll.ParseSetupToken(in.SetupToken)
	if !ok {
		return fleet.Errorf(fleet.CodeUnauthenticated, "a setup token reads rps_ and 43 characters: the server printed it at its first start")
	}
	actor := record.Actor{Subject: "setup", Address: peer(c).String(), RequestID: requestID(c.Context)}
	secret := enroll.NewTokenSecret()
	user, token, err := a.store.RedeemSetupToken(c.ctx(), actor, sum, name, hash, record.Token{Name: "setup"}, secret.Sum)
	if isNotFound(err) {
		return fleet.Errorf(fleet.CodeUnauthenticated, "the setup token is not valid: it works once, and for a limited time")
	}
	if err != nil {
		return err
	}
	if err := a.putOwnerPool(c.ctx(), user.ID); err != nil {
		a.log.Warn("the first superadmin's pool is not known to the dispatch loop until the next start", "error", err)
	}
	done := rest.SetupDone{User: userDoc(&user)}
	if hash == "" {
		done.Token = &rest.NewToken{Token: tokenDoc(&token), Secret: secret.Text}
	}
	return c.created("/v1/admin/users/"+userText(user.ID), done)
}

package api

import (
	"net/http"
	"slices"
	"strings"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

const maxTokenName = 100 // bytes

func (a *API) listTokens(c *call) error {
	page, err := c.page(afterID)
	if err != nil {
		return err
	}
	rows, err := a.store.Tokens(c.ctx(), c.who.User.ID, page)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, listOf(rows, page, func(r *record.Token) string { return r.ID }, tokenDoc))
}

func (a *API) createToken(c *call, in *rest.TokenRequest) error {
	return a.newToken(c, c.who.User.ID, in)
}

// createUserToken lets a superadmin make a user's token: users have no other way
// to a first one.
func (a *API) createUserToken(c *call, in *rest.TokenRequest) error {
	id, err := c.userID()
	if err != nil {
		return err
	}
	if _, err := a.store.User(c.ctx(), id); err != nil {
		return err
	}
	return a.newToken(c, id, in)
}

func (a *API) newToken(c *call, user int64, in *rest.TokenRequest) error {
	if in.Name == "" {
		return badRequest("name is missing: say what the token is for")
	}
	if err := checkLine("name", in.Name, maxTokenName); err != nil {
		return err
	}
	for i, scope := range in.Scopes {
		if !slices.Contains(access.TokenScopes(), scope) || slices.Contains(in.Scopes[:i], scope) {
			return badRequest("scopes[%d] must be one of %s, once; leave scopes out for all that the user may", i, strings.Join(access.TokenScopes(), ", "))
		}
	}
	expires, err := a.expiry(in.ExpiresAt)
	if err != nil {
		return err
	}
	secret := enroll.NewTokenSecret()
	token := record.Token{User: user, Name: in.Name, Scopes: in.Scopes, ExpiresAt: expires}
	row, err := a.store.CreateToken(c.ctx(), c.actor(), token, secret.Sum)
	if err != nil {
		return err
	}
	return c.created("/v1/tokens/"+row.ID, rest.NewToken{Token: tokenDoc(&row), Secret: secret.Text})
}

func (a *API) deleteToken(c *call) error {
	id, err := c.thing("token")
	if err != nil {
		return err
	}
	if err := a.store.DeleteToken(c.ctx(), c.actor(), c.who.User.ID, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func tokenDoc(row *record.Token) rest.Token {
	return rest.Token{
		ID: row.ID, User: userText(row.User), Name: row.Name, Scopes: append([]string{}, row.Scopes...),
		ExpiresAt: rest.AtPtr(row.ExpiresAt), CreatedAt: rest.At(row.CreatedAt), LastUsedAt: rest.AtPtr(row.LastUsed),
	}
}

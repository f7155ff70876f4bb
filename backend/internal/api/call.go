package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

// peer is the address of the connection's other end; no header changes it.
func peer(c echo.Context) netip.Addr {
	at, err := netip.ParseAddrPort(c.Request().RemoteAddr)
	if err != nil {
		return netip.IPv6Unspecified() // a unix socket: all share one bucket
	}
	return at.Addr()
}

func requestID(c echo.Context) string { return c.Response().Header().Get(rest.HeaderRequestID) }

// actor is who does this, for the audit entry.
func (c *call) actor() record.Actor {
	return record.Actor{Subject: c.who.Subject(), Address: peer(c).String(), RequestID: requestID(c.Context), Claim: c.claim}
}

// by is the same for what the deciding code does.
func (c *call) by() core.Actor {
	a := c.actor()
	return core.Actor{Subject: a.Subject, Address: a.Address, RequestID: a.RequestID}
}

// rows is the filter of rights for what stands in a pool.
func (c *call) rows() record.Scope { return c.scope.Of(c.who.User.ID) }

// sees reports whether an object of that owner in that pool may be seen at all.
func (c *call) sees(owner int64, pool string) bool { return c.rows().Sees(owner, pool) }

// owner is the filter of rights for what has an owner alone: nil where everybody's
// may be seen.
func (c *call) owner() *int64 {
	if c.scope.All {
		return nil
	}
	id := c.who.User.ID
	return &id
}

// owns reports whether an object that has an owner alone may be seen at all.
func (c *call) owns(owner int64) bool {
	mine := c.owner()
	return mine == nil || owner != 0 && owner == *mine
}

// may asks the rules for a right beside the one of the route: for the whole fleet.
func (a *API) may(c *call, action, object string) bool {
	return a.policy.Decide(c.who.Grants(), object, action).All && c.who.TokenAllows(action)
}

// param is a parameter of the path, unescaped.
func (c *call) param(name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	if plain, err := url.PathUnescape(value); err == nil {
		return plain
	}
	return value
}

// jobID is the path's job; what can't be a job's id is not found.
func (c *call) jobID() (ids.JobID, error) {
	id, err := ids.ParseJobID(c.param("id"))
	if err != nil {
		return id, notFound("job")
	}
	return id, nil
}

// named is the path's name of a node, pool or app; what can't be a name is not found.
func (c *call) named(what string) (string, error) {
	name := c.param("id")
	if ids.CheckName(name) != nil {
		return "", notFound(what)
	}
	return name, nil
}

// thing is the path's id of something whose ids the store makes.
func (c *call) thing(what string) (string, error) {
	id := c.param("id")
	if !afterID(id) {
		return "", notFound(what)
	}
	return id, nil
}

// userID is the path's user.
func (c *call) userID() (int64, error) {
	id, ok := parseUser(c.param("id"))
	if !ok {
		return 0, notFound("user")
	}
	return id, nil
}

// parseUser reads a user's id in its one spelling.
func parseUser(text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatInt(id, 10) == text
}

func userText(id int64) string { return strconv.FormatInt(id, 10) }

// ownerText is an owner as documents show it; nobody is null.
func ownerText(id int64) *string {
	if id == 0 {
		return nil
	}
	text := userText(id)
	return &text
}

// created answers 201 with where the new thing stands.
func (c *call) created(location string, doc any) error {
	c.Response().Header().Set(echo.HeaderLocation, location)
	return c.JSON(http.StatusCreated, doc)
}

// checkQuery reads the parameters and refuses those that the route does not know: a
// misspelt filter would select everything, and an unknown dryRun would be no dry run.
func checkQuery(c *call, known []string) error {
	raw := c.Request().URL.RawQuery
	if raw == "" {
		return nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return badRequest("the query is not well-formed")
	}
	for name, list := range values {
		if !slices.Contains(known, name) {
			return badRequest("unknown query parameter %.64q", name)
		}
		if len(list) > 1 {
			return badRequest("query parameter %s stands there twice", name)
		}
		if !plainText(list[0]) {
			return badRequest("query parameter %s is not plain text", name)
		}
	}
	c.query = values
	return nil
}

// flag reads a parameter that is true or false; absent is false.
func (c *call) flag(name string) (bool, error) {
	switch c.QueryParam(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, badRequest("%s is true or false", name)
}

// plainText is UTF-8 without NUL: what every text column can keep.
func plainText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

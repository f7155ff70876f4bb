package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// Route is a row of the table.
type Route struct {
	Method, Path   string // :name marks a parameter of the path
	Object, Action string // of the rules in policies/
	Summary        string
	Query          []string // parameters that it knows; others are refused
	handling
	Answers any    // a zero value of the document, or nil
	DryRun  any    // what it answers then with 200, where that is another document
	Media   string // of an answer that is no document
	Status  []int  // of success, the usual one first
	Fails   []int  // beside those that every route can answer
	// Streams marks bodies of any length: no deadline stands over them.
	Streams bool
	// Keyed marks a handler that hands the Idempotency-Key on to the work that it makes.
	Keyed bool
	// Delegated marks a handler that tells credentials apart itself.
	Delegated bool
}

// whole reports a change of which the loop hears once it is stored: a caller who
// hangs up in between does not keep it from that.
func (r *Route) whole() bool {
	return r.Method != http.MethodGet && (strings.HasPrefix(r.Path, "/v1/admin/") || r.Path == "/v1/setup")
}

// handling is a handler with what it takes.
type handling struct {
	takes    reflect.Type // of the request's document; nil: none
	optional bool         // an empty body is the zero document
	do       func(a *API, c *call) error
}

// plain is a handler without a document.
func plain(do func(*API, *call) error) handling {
	return handling{do: func(a *API, c *call) error {
		return a.once(c, nil, func() error { return do(a, c) })
	}}
}

// takes is a handler that needs a document.
func takes[T any](do func(*API, *call, *T) error) handling { return taking(do, false) }

// mayTake is a handler whose document may be left out.
func mayTake[T any](do func(*API, *call, *T) error) handling { return taking(do, true) }

func taking[T any](do func(*API, *call, *T) error, optional bool) handling {
	return handling{takes: reflect.TypeFor[T](), optional: optional, do: func(a *API, c *call) error {
		raw, err := c.body()
		if err != nil {
			return err
		}
		in := new(T)
		if len(raw) > 0 || !optional {
			if err := decode(raw, in); err != nil {
				return err
			}
		}
		return a.once(c, in, func() error { return do(a, c, in) })
	}}
}

// Bounds of one request; the server itself bounds how long its body may take.
const (
	maxBody   = 1 << 20          // bytes of a document
	smallBody = 4 << 10          // of one that is read at once
	maxWork   = 90 * time.Second // for all of it, a wait for a job's end included
)

// call is one request on its way through a handler.
type call struct {
	echo.Context
	within context.Context // the request's, and as long as it may take
	query  url.Values
	who    access.Principal
	scope  access.Scope // on whose objects
	route  *Route
	claim  record.Claim // of a POST that came with an Idempotency-Key
}

func (c *call) ctx() context.Context { return c.within }

// QueryParam is a parameter that checkQuery has let through; empty: it is not there.
func (c *call) QueryParam(name string) string { return c.query.Get(name) }

// body reads the request's document, at most maxBody bytes.
func (c *call) body() ([]byte, error) {
	r := c.Request()
	conn := http.NewResponseController(c.Response())
	raw, err := readDocument(c.Response(), r)
	if err == nil {
		readWithin(conn, 0) // else it would end the wait for an answer
	}
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, err
	}
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeBadRequest, Detail: "the body ended early", Cause: err}
	}
	if len(raw) > 0 && !isJSON(r.Header.Get(echo.HeaderContentType)) {
		return nil, fleet.Errorf(fleet.CodeUnsupportedMedia, "send Content-Type: application/json")
	}
	return raw, nil
}

// readDocument reads the whole body. Memory for what is only announced is taken up to
// smallBody.
func readDocument(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	}
	raw := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, raw)
	return raw, err
}

func isJSON(contentType string) bool {
	if contentType == echo.MIMEApplicationJSON { // as nearly everybody says it
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != echo.MIMEApplicationJSON {
		return false
	}
	charset, given := params["charset"]
	return !given || charset == "utf-8" || charset == "UTF-8"
}

// guard puts a route's handler behind the check of credential and rights.
func (a *API) guard(r *Route) echo.HandlerFunc {
	// The embedded rules don't change while the process lives: what everybody may
	// is asked once, so that health checks need no database.
	open := r.Delegated || !a.policy.Decide(access.Everybody(), r.Object, r.Action).None()
	alone := open && !r.Delegated
	return func(ec echo.Context) error {
		database := a.ready.Database()
		if why := context.Cause(database); why != nil && !alone {
			return why
		}
		c := &call{Context: ec, route: r, within: ec.Request().Context()}
		if !r.Streams {
			if r.whole() {
				c.within = context.WithoutCancel(c.within)
			}
			ctx, cancel := context.WithTimeout(c.within, maxWork)
			defer cancel()
			if !r.whole() && !alone {
				defer context.AfterFunc(database, cancel)()
			}
			c.within = ctx
		}
		if !open {
			if err := a.admit(c, r); err != nil {
				return err
			}
		}
		if !r.Delegated {
			if err := checkQuery(c, r.Query); err != nil {
				return err
			}
		}
		return r.do(a, c)
	}
}

// admit finds out who asks and what they may; whose objects stays in the scope.
func (a *API) admit(c *call, r *Route) error {
	who, err := a.gate.Identify(c.ctx(), c.Request().Header, peer(c))
	if err != nil {
		return err
	}
	c.who = who
	c.scope = a.policy.Decide(who.Grants(), r.Object, r.Action)
	switch {
	case c.scope.None() && who.Kind == access.Anonymous:
		return fleet.Errorf(fleet.CodeUnauthenticated, "sign in, or send Authorization: Bearer <API token>")
	case c.scope.None():
		return fleet.Errorf(fleet.CodeForbidden, "this credential may not "+r.Action+" a "+r.Object)
	case !who.TokenAllows(r.Action):
		return fleet.Errorf(fleet.CodeForbidden, "the token is narrowed to reading")
	case who.Kind == access.ByConsole:
		return access.SameOrigin(c.Request(), true)
	}
	return nil
}

package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/limit"
	"rockpool/backend/internal/rest"
)

// titles are the problems' short names for people, the same for every occurrence.
var titles = map[fleet.Code]string{
	fleet.CodeBadRequest:        "The request is not valid",
	fleet.CodeUnauthenticated:   "A valid credential is needed",
	fleet.CodeForbidden:         "This credential may not do that",
	fleet.CodePoolNotAllowed:    "You may not send work to a pool by name",
	fleet.CodeNotFound:          "There is no such thing",
	fleet.CodeMethodNotAllowed:  "This path does not take that method",
	fleet.CodeConflict:          "It conflicts with what is there",
	fleet.CodeNodeIDTaken:       "Another node has this id",
	fleet.CodeLicenseLimit:      "The license has no seat left",
	fleet.CodeLicenseRefused:    "The license does not allow it",
	fleet.CodePreconditionFail:  "It has changed since it was read",
	fleet.CodeTooLarge:          "The body is too large",
	fleet.CodeStorageFull:       "There is no room for this file",
	fleet.CodeUnsupportedMedia:  "The body must be JSON",
	fleet.CodeUnprocessable:     "The request can't be carried out",
	fleet.CodeIdempotencyReused: "The key was used for another request",
	fleet.CodeRateLimited:       "Too many attempts",
	fleet.CodeQueueFull:         "The queue is full",
	fleet.CodePoolExhausted:     "No node of the pool can take this",
	fleet.CodeUnavailable:       "The service is not available now",
	fleet.CodeStandby:           "This server is a standby",
	fleet.CodeInternal:          "Something went wrong inside",
}

// itemsError refuses a batch, with what is wrong with which of its items.
type itemsError struct {
	code  fleet.Code
	items []rest.ItemProblem
}

func (e *itemsError) Error() string {
	return fmt.Sprintf("%d of the batch's jobs are not valid", len(e.items))
}

// refusal is an error with the single reasons for it.
type refusal struct {
	known   *fleet.Error
	reasons []rest.Reason
	checks  []string
}

func (r *refusal) Error() string { return r.known.Error() }

func (r *refusal) Unwrap() error { return r.known }

// noNodes refuses work that no pool has nodes for; the decision says why.
func noNodes(d *fleet.Decision, app string, owner, slots int64) error {
	return &refusal{known: fleet.Errorf(fleet.CodePoolExhausted, d.Text(app, owner, slots)), reasons: reasonsOf(d)}
}

func badRequest(format string, args ...any) error {
	return fleet.Errorf(fleet.CodeBadRequest, fmt.Sprintf(format, args...))
}

func unprocessable(format string, args ...any) error {
	return fleet.Errorf(fleet.CodeUnprocessable, fmt.Sprintf(format, args...))
}

// problemOf says of any error what may be seen outside. What it does not know is
// internal: its text stays in the log.
func problemOf(err error) rest.Problem {
	var (
		known   *fleet.Error
		refused *refusal
		items   *itemsError
		limited *limit.Error
		busy    *access.BusyError
		large   *http.MaxBytesError
		routed  *echo.HTTPError
	)
	switch {
	case errors.As(err, &items):
		p := problem(items.code, items.Error())
		p.Items = items.items
		return p
	case errors.As(err, &refused):
		p := problem(refused.known.Code, refused.known.Detail)
		p.Reasons, p.Checks = refused.reasons, refused.checks
		return p
	case errors.As(err, &known):
		return problem(known.Code, known.Detail)
	case errors.As(err, &limited):
		return problem(fleet.CodeRateLimited, "too many attempts from this address: try again later")
	case errors.As(err, &busy):
		return problem(fleet.CodeRateLimited, busy.Error())
	case errors.As(err, &large):
		return problem(fleet.CodeTooLarge, fmt.Sprintf("the body is at most %d bytes", large.Limit))
	case errors.As(err, &routed):
		return problem(routerCode(routed.Code), "")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problem(fleet.CodeUnavailable, "it took too long: what came of it is not known; ask again")
	}
	return problem(fleet.CodeInternal, "the server's log has more under this request id")
}

func routerCode(status int) fleet.Code {
	switch status {
	case http.StatusNotFound:
		return fleet.CodeNotFound
	case http.StatusMethodNotAllowed:
		return fleet.CodeMethodNotAllowed
	}
	return fleet.CodeInternal
}

func problem(code fleet.Code, detail string) rest.Problem {
	return rest.Problem{
		Type: rest.ProblemURN + string(code), Title: cmp.Or(titles[code], http.StatusText(code.Status())),
		Status: code.Status(), Code: string(code), Detail: detail,
	}
}

// answerError writes err as problem+json, unless an answer has begun.
func (a *API) answerError(err error, c echo.Context) {
	p := problemOf(err)
	p.RequestID = requestID(c)
	if p.Status == http.StatusInternalServerError {
		a.log.Error("request failed", "method", c.Request().Method, "path", c.Path(), "request_id", p.RequestID, "error", err)
	}
	if c.Response().Committed {
		return
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, rest.ProblemType)
	switch {
	case p.Code == string(fleet.CodePoolExhausted): // the answer to the request, no outage
	case p.Status == http.StatusUnauthorized:
		h.Set(echo.HeaderWWWAuthenticate, `Bearer realm="rockpool"`)
	case p.Status == http.StatusTooManyRequests, p.Status == http.StatusServiceUnavailable:
		h.Set(echo.HeaderRetryAfter, strconv.Itoa(retryAfter(err)))
	}
	if c.Request().Method == http.MethodHead {
		err = c.NoContent(p.Status)
	} else {
		err = c.JSON(p.Status, p)
	}
	if err != nil {
		a.log.Debug("answer not written", "request_id", p.RequestID, "error", err)
	}
}

// retryAfter is in whole seconds, at least one.
func retryAfter(err error) int {
	var (
		limited *limit.Error
		known   *fleet.Error
		after   time.Duration
	)
	switch {
	case errors.As(err, &limited):
		after = limited.RetryAfter
	case errors.As(err, &known):
		after = time.Duration(known.RetryAfter) * time.Millisecond
	}
	return max(1, int(math.Ceil(after.Seconds())))
}

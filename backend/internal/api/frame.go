package api

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/rest"
)

// securityHeaders stand on every answer: documents are never run, framed,
// guessed at or kept by a cache. All answers share the values, which nobody changes.
var securityHeaders = http.Header{
	echo.HeaderXContentTypeOptions:   {"nosniff"},
	echo.HeaderContentSecurityPolicy: {"default-src 'none'; frame-ancestors 'none'"},
	echo.HeaderXFrameOptions:         {"DENY"},
	echo.HeaderReferrerPolicy:        {"no-referrer"},
	echo.HeaderCacheControl:          {"no-store"},
}

// frame stands around every request: its id, the headers, no panic gets out, no
// text that can't be kept gets in by the path.
func (a *API) frame(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		h := c.Response().Header()
		h.Set(rest.HeaderRequestID, uuid.NewString())
		maps.Copy(h, securityHeaders)
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				a.log.Error("panic in a handler", "path", c.Path(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				err = errors.New("panic in a handler")
			}
		}()
		if !plainText(c.Request().URL.Path) {
			return badRequest("the path is not plain text")
		}
		return next(c)
	}
}

// readWithin changes the bound that the server sets for the reading of every body;
// zero: none any more, it was read.
func readWithin(conn *http.ResponseController, limit time.Duration) {
	var deadline time.Time
	if limit > 0 {
		deadline = time.Now().Add(limit)
	}
	_ = conn.SetReadDeadline(deadline) // not every writer has one
}

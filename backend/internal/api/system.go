package api

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

// livez says that the process answers; it asks nobody.
func (a *API) livez(c *call) error {
	return c.JSON(http.StatusOK, rest.Health{Status: "ok"})
}

// readyz says whether the server can do its work.
func (a *API) readyz(c *call) error {
	err := a.ready.Ready(c.ctx())
	if err == nil {
		return c.JSON(http.StatusOK, rest.Health{Status: "ok"})
	}
	health := rest.Health{Status: string(fleet.CodeUnavailable)}
	var known *fleet.Error
	if errors.As(err, &known) {
		health = rest.Health{Status: string(known.Code), Detail: known.Detail}
	}
	a.log.Debug("not ready", "error", err)
	c.Response().Header().Set(echo.HeaderRetryAfter, "1")
	return c.JSON(http.StatusServiceUnavailable, health)
}

func (a *API) getVersion(c *call) error { return c.JSON(http.StatusOK, a.version) }

func (a *API) getOpenAPI(c *call) error { return c.JSONBlob(http.StatusOK, a.openAPI) }

// openChannel hands the request over to the sessions, whose credentials are
// others and are told apart there, before the upgrade.
func (a *API) openChannel(c *call) error {
	// Echo takes its own writer back when this returns, while the socket lives on.
	a.channel.ServeHTTP(c.Response().Writer, c.Request())
	return nil
}

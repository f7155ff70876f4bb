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

// readyz says whether the server can do its work, and whether leases run out.
func (a *API) readyz(c *call) error {
	health := rest.Health{Status: "ok", Frozen: a.frozen(c)}
	err := a.ready.Ready(c.ctx())
	if err == nil {
		return c.JSON(http.StatusOK, health)
	}
	health.Status = string(fleet.CodeUnavailable)
	var known *fleet.Error
	if errors.As(err, &known) {
		health.Status, health.Detail = string(known.Code), known.Detail
	}
	a.log.Debug("not ready", "error", err)
	c.Response().Header().Set(echo.HeaderRetryAfter, "1")
	return c.JSON(http.StatusServiceUnavailable, health)
}

// frozen is the freeze that stands; nil: none, or nobody is there to ask.
func (a *API) frozen(c *call) *rest.Frozen {
	f, err := a.dispatch.Frozen(c.ctx())
	if err != nil || f.Since == 0 {
		return nil
	}
	return &rest.Frozen{Since: rest.At(a.dispatch.WallAt(f.Since)), Until: rest.AtPtr(a.wall(f.Until)), By: string(f.Cause)}
}

func (a *API) getVersion(c *call) error { return c.JSON(http.StatusOK, a.version) }

func (a *API) getOpenAPI(c *call) error {
	document, err := a.openAPI()
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, document)
}

// openChannel hands the request over to the sessions, whose credentials are
// others and are told apart there, before the upgrade.
func (a *API) openChannel(c *call) error {
	// Echo takes its own writer back when this returns, while the socket lives on.
	a.channel.ServeHTTP(c.Response().Writer, c.Request())
	return nil
}

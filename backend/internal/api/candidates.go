package api

import (
	"net/http"
	"strconv"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

// appCandidates shows where an app's work would go now. It asks the very function
// that decides, and leaves no alarm, no record and no reservation.
func (a *API) appCandidates(c *call) error {
	app, err := a.app(c)
	if err != nil {
		return err
	}
	spec, err := a.previewSpec(c, &app)
	if err != nil {
		return err
	}
	doc, err := a.candidates(c, spec)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

// candidates asks where the work would go now.
func (a *API) candidates(c *call, spec *fleet.JobSpec) (*rest.Candidates, error) {
	found, err := a.dispatch.Candidates(c.ctx(), spec)
	if err != nil {
		return nil, err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return nil, err
	}
	named, d := a.may(c, "read", "node-id"), &found.Decision
	doc := &rest.Candidates{
		Hint: hintOf(spec, d, now), Decision: decisionDoc(d, a.dispatch.WallAt(d.At)), Pools: poolExplanations(d, found.Nodes, &asks{spec, now}, named),
	}
	if d.Node != "" && !named {
		doc.Decision.Node, d.Node = "", "one"
	}
	doc.Decision.Text = d.Text(spec.App, spec.Owner, spec.Demands.Slots)
	return doc, nil
}

// previewSpec reads the work that is asked about, with a submit's defaults and rules.
func (a *API) previewSpec(c *call, app *record.App) (*fleet.JobSpec, error) {
	in := rest.JobRequest{App: app.ID, Role: c.QueryParam("role"), Runner: c.QueryParam("runner")}
	for name, field := range map[string]**string{"backend": &in.Backend, "region": &in.Region} {
		if text := c.QueryParam(name); text != "" {
			*field = &text
		}
	}
	if text := c.QueryParam("slots"); text != "" {
		slots, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, badRequest("slots is a number")
		}
		in.Demands = &rest.Demands{Slots: &slots}
	}
	checks := []specCheck{checkNames, fillDemands}
	if in.Runner != "" {
		checks = append(checks, checkRunner)
	}
	spec, err := checkedSpec(&in, checks...)
	if err != nil {
		return nil, err
	}
	spec.Owner = app.Owner
	return spec, a.existingRole(c.ctx(), spec.Role)
}

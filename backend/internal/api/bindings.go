package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

func (a *API) listBindings(c *call) error {
	page, err := c.page(afterName)
	if err != nil {
		return err
	}
	rows, err := a.appRows(c, page)
	if err != nil {
		return err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	apps := make([]string, len(rows))
	for i := range rows {
		apps[i] = rows[i].ID
	}
	bindings, err := a.store.BindingsOf(c.ctx(), apps)
	if err != nil {
		return err
	}
	docs := make([]rest.AppBindings, len(rows))
	for i := range rows {
		if docs[i], err = a.bindingsDoc(c, &rows[i], bindings[rows[i].ID], now); err != nil {
			return err
		}
	}
	key := func(b *rest.AppBindings) string { return b.App }
	return c.JSON(http.StatusOK, listOf(docs, page, key, func(b *rest.AppBindings) *rest.AppBindings { return b }))
}

func (a *API) getBindings(c *call) error {
	row, err := a.app(c)
	if err != nil {
		return err
	}
	return a.answerBindings(c, &row)
}

func (a *API) answerBindings(c *call, row *record.App) error {
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	bindings, err := a.store.Bindings(c.ctx(), row.ID)
	if err != nil {
		return err
	}
	doc, err := a.bindingsDoc(c, row, bindings, now)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", etag(row.Version))
	return c.JSON(http.StatusOK, doc)
}

// putBinding sets an app's binding for one role, or for every role; without pools it
// takes it away. The very next decision uses it.
func (a *API) putBinding(c *call, in *rest.BindingRequest) error {
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	if err := checkBinding(in); err != nil {
		return err
	}
	row, err := a.app(c)
	if err != nil {
		return err
	}
	binding := fleet.Binding{Role: in.Role, Pools: in.Pools, AllowFallback: in.AllowFallbackToDefault}
	bound, after, err := a.store.PutBinding(c.ctx(), c.actor(), row.ID, binding, in.Reason, version)
	if err != nil {
		return err
	}
	if err := a.dispatch.PutApp(context.WithoutCancel(c.ctx()), bound); err != nil {
		return err
	}
	row.Version = after
	return a.answerBindings(c, &row)
}

// checkBinding checks the names; whether there are such pools and roles the store knows.
func checkBinding(in *rest.BindingRequest) error {
	if in.Role != "" && ids.CheckName(in.Role) != nil {
		return badRequest("role is no name; an empty one is every role")
	}
	if in.Pools == nil {
		return badRequest("pools is missing: an empty list takes the binding away")
	}
	for i, id := range in.Pools {
		if ids.CheckName(id) != nil {
			return badRequest("pools[%d] is no name", i)
		}
	}
	return checkLine("reason", in.Reason, maxReason)
}

func (a *API) bindingsDoc(c *call, row *record.App, bindings []fleet.Binding, now *core.FleetView) (rest.AppBindings, error) {
	doc := rest.AppBindings{App: row.ID, Owner: ownerText(row.Owner), Bindings: []rest.Binding{}, Resolutions: []rest.Resolution{}, Version: row.Version}
	for _, b := range bindings {
		doc.Bindings = append(doc.Bindings, rest.Binding{Role: b.Role, Pools: b.Pools, AllowFallbackToDefault: b.AllowFallback})
	}
	app := fleet.App{ID: row.ID, Owner: row.Owner, Share: row.Share, Bindings: bindings}
	for _, r := range pool.Resolutions(&app, ownsNode(now, app.Owner)) {
		usable, err := a.dispatch.Usable(c.ctx(), app, r.Role)
		if err != nil {
			return doc, err
		}
		doc.Resolutions = append(doc.Resolutions, resolutionDoc(&app, &r, usable))
	}
	return doc, nil
}

// ownsNode reports a user who has a node that counts: fallback without a binding is
// for those who have none.
func ownsNode(now *core.FleetView, user int64) bool {
	return user != 0 && slices.ContainsFunc(now.Nodes, func(n *core.NodeView) bool {
		return n.Record.Owner == user && n.Lease != fleet.LeaseLeft && n.Record.Pool != fleet.PoolUnassigned
	})
}

func resolutionDoc(app *fleet.App, r *pool.Resolution, usable int32) rest.Resolution {
	return rest.Resolution{
		Role: r.Role, Rule: string(r.Rule), Pools: append([]string{}, r.Pools...), FallbackAllowed: r.Fallback, Usable: int(usable),
		Text: resolutionText(app, r, usable),
	}
}

// resolutionText says where an app's work goes as people say it.
func resolutionText(app *fleet.App, r *pool.Resolution, usable int32) string {
	var b strings.Builder
	if r.Role != "" {
		b.WriteString("work of role " + r.Role + " ")
	} else {
		b.WriteString("work ")
	}
	pools := strings.Join(r.Pools, ", then ")
	switch {
	case len(r.Pools) == 0:
		b.WriteString("goes nowhere: its binding names no pool that can be resolved to")
	case r.Rule == fleet.RuleBinding:
		b.WriteString("is bound to " + pools)
	case r.Rule == fleet.RuleOwnerPool:
		fmt.Fprintf(&b, "goes to %s, the pool of user %d", pools, app.Owner)
	default:
		b.WriteString("goes to " + pools + ", because the app has no owner")
	}
	switch {
	case r.Fallback && r.Rule == fleet.RuleOwnerPool:
		b.WriteString("; to " + fleet.PoolDefault + " when no node there can take it, while the owner has no node")
	case r.Fallback:
		b.WriteString("; to " + fleet.PoolDefault + " when no node there can take it")
	default:
		b.WriteString("; nowhere else")
	}
	fmt.Fprintf(&b, ": %s may take it", counted(usable, "node"))
	return b.String()
}

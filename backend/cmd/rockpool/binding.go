package main

import (
	"context"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type bindingCommand struct {
	List   bindingList   `cmd:"" help:"List apps, and where their work goes."`
	Get    bindingGet    `cmd:"" help:"Show an app's bindings, and where its work goes."`
	Set    bindingSet    `cmd:"" help:"Bind an app's work of one role, or of every role, to pools; the very next decision uses it."`
	Delete bindingDelete `cmd:"" help:"Take an app's binding away."`
}

type bindingList struct{ paging }

// Run lists where work goes: a row for each role of an app that has its own way.
func (c *bindingList) Run(ctx context.Context, d *desk, server *client.Client) error {
	head := columns("APP", "OWNER", "ROLE", "RULE", "POOLS", "FALLBACK", "USABLE NODES")
	return showList(ctx, d, c.paging, server.AllBindings, head, func(g *grid, b rest.AppBindings) {
		for _, r := range b.Resolutions {
			g.row(b.App, b.Owner, everyRole(r.Role), r.Rule, r.Pools, onOff(r.FallbackAllowed), r.Usable)
		}
	})
}

type bindingGet struct {
	App string `arg:"" help:"App."`
}

// Run shows the bindings.
func (c *bindingGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	bindings, err := server.Bindings(ctx, c.App)
	if err != nil {
		return err
	}
	return showBindings(d, bindings)
}

// bindingFlags are those of a change.
type bindingFlags struct {
	App     string `arg:"" help:"App."`
	Role    string `placeholder:"ROLE" help:"For work of this role (default: of every role without a binding of its own)."`
	Reason  string `placeholder:"TEXT" help:"Why, for the audit entry."`
	Version int64  `placeholder:"N" help:"Only if the app's version is still N (default: whatever it is)."`
}

type bindingSet struct {
	bindingFlags
	Pools    []string `name:"pool" required:"" placeholder:"POOL" help:"Pool that its work goes to. Repeat for more, in the order in which they are tried."`
	Fallback bool     `help:"Allow pool default when none of them has a candidate; each use leaves a record."`
}

// Run sets the binding.
func (c *bindingSet) Run(ctx context.Context, d *desk, server *client.Client) error {
	binding := rest.Binding{Role: c.Role, Pools: c.Pools, AllowFallbackToDefault: c.Fallback}
	return c.put(ctx, d, server, binding)
}

type bindingDelete struct{ bindingFlags }

// Run takes the binding away.
func (c *bindingDelete) Run(ctx context.Context, d *desk, server *client.Client) error {
	return c.put(ctx, d, server, rest.Binding{Role: c.Role, Pools: []string{}})
}

func (c *bindingFlags) put(ctx context.Context, d *desk, server *client.Client, binding rest.Binding) error {
	bindings, err := server.PutBinding(ctx, c.App, rest.BindingRequest{Binding: binding, Reason: c.Reason}, c.Version)
	if err != nil {
		return err
	}
	return showBindings(d, bindings)
}

// showBindings prints an app's bindings and, in words, what follows from them.
func showBindings(d *desk, b rest.AppBindings) error {
	var g grid
	g.fact("app", b.App)
	g.fact("owner", b.Owner)
	for _, binding := range b.Bindings {
		g.fact("binding", everyRole(binding.Role)+" to "+cell(binding.Pools)+", fallback "+onOff(binding.AllowFallbackToDefault))
	}
	for _, r := range b.Resolutions {
		g.fact("resolution", joinDetail(everyRole(r.Role), r.Text))
	}
	g.fact("version", b.Version)
	return d.show(b, g)
}

func everyRole(role string) string {
	if role == "" {
		return "every role"
	}
	return role
}

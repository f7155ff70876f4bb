package api

import (
	"context"
	"net/http"
	"sync"

	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

// knownRoles remembers which roles there are: none is ever taken away, so that only
// a new one costs a question.
type knownRoles struct{ names sync.Map }

// has asks the store about a role that is not known yet.
func (k *knownRoles) has(ctx context.Context, store RoleStore, role string) (bool, error) {
	if _, known := k.names.Load(role); known {
		return true, nil
	}
	rows, err := store.Roles(ctx)
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		k.names.Store(r.Name, nil)
	}
	_, known := k.names.Load(role)
	return known, nil
}

// existingRole makes sure that work names a role that there is.
func (a *API) existingRole(ctx context.Context, role string) error {
	known, err := a.roles.has(ctx, a.store, role)
	if err == nil && !known {
		err = unprocessable("role: there is no role %s", role)
	}
	return err
}

func (a *API) listRoles(c *call) error {
	rows, err := a.store.Roles(c.ctx())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, listOf(rows, record.Page{Limit: len(rows) + 1}, func(r *record.Role) string { return r.Name }, roleDoc))
}

func (a *API) createRole(c *call, in *rest.RoleRequest) error {
	if err := ids.CheckName(in.Name); err != nil {
		return badRequest("name: %s", err)
	}
	row, err := a.store.CreateRole(c.ctx(), c.actor(), in.Name, "")
	if err != nil {
		return err
	}
	return c.created("/v1/admin/roles", roleDoc(&row))
}

func roleDoc(r *record.Role) rest.Role { return rest.Role{Name: r.Name, BuiltIn: r.BuiltIn} }

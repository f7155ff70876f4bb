package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

const maxUserName = 100 // bytes

func (a *API) listUsers(c *call) error {
	page, err := c.page(afterNumber)
	if err != nil {
		return err
	}
	rows, err := a.store.Users(c.ctx(), page)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, listOf(rows, page, func(r *record.User) string { return userText(r.ID) }, userDoc))
}

func (a *API) getUser(c *call) error {
	id, err := c.userID()
	if err != nil {
		return err
	}
	row, err := a.store.User(c.ctx(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, userDoc(&row))
}

func (a *API) createUser(c *call, in *rest.UserRequest) error {
	if err := checkUserName(in.Name); err != nil {
		return err
	}
	user := record.User{Name: in.Name, Roles: in.Roles}
	if len(user.Roles) == 0 {
		user.Roles = []string{access.RoleUser}
	}
	if err := checkRoles(user.Roles); err != nil {
		return err
	}
	hash, err := a.hashOf(c, in.Password)
	if err != nil {
		return err
	}
	row, err := a.store.CreateUser(c.ctx(), c.actor(), user, hash)
	if err != nil {
		return err
	}
	if err := a.putOwnerPool(c.ctx(), row.ID); err != nil {
		return err
	}
	return c.created("/v1/admin/users/"+userText(row.ID), userDoc(&row))
}

// putOwnerPool tells the loop of the pool that came with a user.
func (a *API) putOwnerPool(ctx context.Context, user int64) error {
	ctx = context.WithoutCancel(ctx)
	pool, err := a.store.Pool(ctx, fleet.OwnerPool(user))
	if err != nil {
		return err
	}
	return a.dispatch.PutPool(ctx, pool)
}

func (a *API) setRoles(c *call, in *rest.RolesRequest) error {
	id, err := c.userID()
	if err != nil {
		return err
	}
	grants, err := a.grantsOf(c, id, in)
	if err != nil {
		return err
	}
	if len(in.Roles)+len(grants) == 0 {
		return badRequest("roles is missing or empty, and grants too")
	}
	if err := checkRoles(in.Roles); err != nil {
		return err
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	row, err := a.store.SetUserRoles(c.ctx(), c.actor(), id, in.Roles, grants, in.Reason)
	if err != nil {
		return err
	}
	a.consoles.EndUser(id)
	return c.JSON(http.StatusOK, userDoc(&row))
}

// grantsOf are the grants for single pools that the user is to have: those of the
// request, or the ones that are there.
func (a *API) grantsOf(c *call, user int64, in *rest.RolesRequest) ([]record.Grant, error) {
	if in.Grants == nil {
		row, err := a.store.User(c.ctx(), user)
		return row.Grants, err
	}
	grants := make([]record.Grant, 0, len(*in.Grants))
	for i, g := range *in.Grants {
		if !slices.Contains(access.PoolRoles(), g.Role) {
			return nil, badRequest("grants[%d].role must be one of %s", i, strings.Join(access.PoolRoles(), ", "))
		}
		if slices.Contains(grants, record.Grant(g)) {
			return nil, badRequest("grants[%d] stands there twice", i)
		}
		if err := a.existingPool(c, g.Pool); err != nil {
			return nil, err
		}
		grants = append(grants, record.Grant(g))
	}
	return grants, nil
}

func checkUserName(name string) error {
	if name == "" || name != strings.TrimSpace(name) {
		return badRequest("name is missing, or has blanks around it")
	}
	return checkLine("name", name, maxUserName)
}

func checkRoles(roles []string) error {
	for i, role := range roles {
		if !slices.Contains(access.Roles(), role) {
			return badRequest("roles[%d] must be one of %s", i, strings.Join(access.Roles(), ", "))
		}
		if slices.Contains(roles[:i], role) {
			return badRequest("roles: %s stands there twice", role)
		}
	}
	return nil
}

// existingUser reads a user's id in a request and makes sure that there is one.
func (a *API) existingUser(c *call, key, text string) (int64, error) {
	id, ok := parseUser(text)
	if !ok {
		return 0, badRequest(`%s must be a user's id, such as "7"`, key)
	}
	if _, err := a.store.User(c.ctx(), id); isNotFound(err) {
		return 0, unprocessable("%s: there is no user %d", key, id)
	} else if err != nil {
		return 0, err
	}
	return id, nil
}

func userDoc(row *record.User) rest.User {
	doc := rest.User{
		ID: userText(row.ID), Name: row.Name, Roles: append([]string{}, row.Roles...), Grants: make([]rest.Grant, len(row.Grants)),
		Disabled: row.Disabled, CreatedAt: rest.At(row.CreatedAt),
	}
	for i, g := range row.Grants {
		doc.Grants[i] = rest.Grant(g)
	}
	return doc
}

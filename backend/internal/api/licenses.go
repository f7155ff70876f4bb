package api

import (
	"net/http"
	"slices"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

const (
	maxLicenseNodes = 100_000
	maxLicenseRoles = 16
)

func (a *API) listLicenses(c *call) error {
	page, err := c.page(afterID)
	if err != nil {
		return err
	}
	rows, err := a.store.Licenses(c.ctx(), c.owner(), page)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, listOf(rows, page, func(r *record.License) string { return r.ID }, licenseDoc))
}

func (a *API) getLicense(c *call) error {
	id, err := c.thing("license")
	if err != nil {
		return err
	}
	row, err := a.store.License(c.ctx(), id)
	if isNotFound(err) || err == nil && !c.owns(row.User) {
		return notFound("license")
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, licenseDoc(&row))
}

func (a *API) createLicense(c *call, in *rest.LicenseRequest) error {
	license, err := a.licenseOf(in)
	if err != nil {
		return err
	}
	if license.User, err = a.existingUser(c, "user", in.User); err != nil {
		return err
	}
	code := enroll.NewLicenseCode()
	row, err := a.store.CreateLicense(c.ctx(), c.actor(), license, code.Sum)
	if err != nil {
		return err
	}
	return c.created("/v1/licenses/"+row.ID, rest.NewLicense{License: licenseDoc(&row), LicenseCode: code.Text})
}

// licenseOf checks a request by itself and fills in what it leaves out.
func (a *API) licenseOf(in *rest.LicenseRequest) (record.License, error) {
	license := record.License{Roles: in.Roles, Nodes: deref(in.Nodes, 1), MaxSlots: deref(in.MaxSlots, 0)}
	if len(license.Roles) == 0 {
		license.Roles = []string{defaultRole}
	}
	switch {
	case license.Nodes < 1 || license.Nodes > maxLicenseNodes:
		return license, badRequest("nodes must be 1 to %d", maxLicenseNodes)
	case in.MaxSlots != nil && (license.MaxSlots < 1 || license.MaxSlots > fleet.MaxSlots):
		return license, badRequest("maxSlots must be 1 to %d", fleet.MaxSlots)
	case len(license.Roles) > maxLicenseRoles:
		return license, badRequest("roles has %d entries, at most %d are allowed", len(license.Roles), maxLicenseRoles)
	}
	for i, role := range license.Roles {
		if err := ids.CheckName(role); err != nil {
			return license, badRequest("roles[%d]: %s", i, err)
		}
		if slices.Contains(license.Roles[:i], role) {
			return license, badRequest("roles: %s stands there twice", role)
		}
	}
	var err error
	license.ExpiresAt, err = a.expiry(in.ExpiresAt)
	return license, err
}

// expiry is a moment in the future, or nil.
func (a *API) expiry(at *rest.Time) (*time.Time, error) {
	if at == nil {
		return nil, nil
	}
	if !at.After(a.now()) {
		return nil, badRequest("expiresAt is in the past")
	}
	return &at.Time, nil
}

// revokeLicense ends new registrations; nodes that it brought go on.
func (a *API) revokeLicense(c *call, in *rest.ReasonRequest) error {
	id, err := c.thing("license")
	if err != nil {
		return err
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	row, err := a.store.RevokeLicense(c.ctx(), c.actor(), id, in.Reason)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, licenseDoc(&row))
}

func licenseDoc(row *record.License) rest.License {
	return rest.License{
		ID: row.ID, User: userText(row.User), Roles: append([]string{}, row.Roles...), Nodes: row.Nodes, Used: row.Used,
		MaxSlots: row.MaxSlots, ExpiresAt: rest.AtPtr(row.ExpiresAt), RevokedAt: rest.AtPtr(row.RevokedAt),
		CreatedAt: rest.At(row.CreatedAt),
	}
}

package client

import (
	"context"
	"net/http"

	"rockpool/backend/internal/rest"
)

// AuditFilter narrows a list of audit entries to those that have these texts; empty
// ones select everything.
type AuditFilter struct {
	Action, Object, Actor, Reason, Text string
}

// Audit lists audit entries, the newest first.
func (c *Client) Audit(ctx context.Context, f AuditFilter, page Page) (rest.List[rest.AuditEntry], error) {
	return list[rest.AuditEntry](ctx, c, route("v1", "admin", "audit"),
		page.query("action", f.Action, "object", f.Object, "actor", f.Actor, "reason", f.Reason, "text", f.Text))
}

// VerifyAudit lets the server check its whole chain of audit entries.
func (c *Client) VerifyAudit(ctx context.Context) (rest.AuditVerified, error) {
	return get[rest.AuditVerified](ctx, c, route("v1", "admin", "audit", "verify"))
}

// Version says which release the server is.
func (c *Client) Version(ctx context.Context) (rest.Version, error) {
	return get[rest.Version](ctx, c, route("v1", "version"))
}

// Ready asks whether the server takes work. One that does not says why in the
// Health; an error means that nobody was there to say.
func (c *Client) Ready(ctx context.Context) (rest.Health, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errSilent)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, route("readyz"), nil, nil)
	if err != nil {
		return rest.Health{}, err
	}
	resp, err := c.send(req)
	if err != nil {
		return rest.Health{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusServiceUnavailable {
		return rest.Health{}, refusal(resp)
	}
	var health rest.Health
	return health, c.read(resp, &health)
}

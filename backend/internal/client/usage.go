package client

import (
	"context"
	"net/http"

	"rockpool/backend/internal/rest"
)

// UsageFilter selects usage. Since and Until are days, times or how long ago (30d);
// empty fields: the last 30 days of everything.
type UsageFilter struct {
	Since, Until, App, Pool string
}

// Usage adds up what work took, by day, app and pool.
func (c *Client) Usage(ctx context.Context, f UsageFilter) (rest.List[rest.Usage], error) {
	return list[rest.Usage](ctx, c, route("v1", "usage"), Page{}.query("since", f.Since, "until", f.Until, "app", f.App, "pool", f.Pool))
}

// Isolation has the kept history read again since a day, a time or so long ago;
// empty: all of it.
func (c *Client) Isolation(ctx context.Context, since string) (rest.Isolation, error) {
	var out rest.Isolation
	in := call{method: http.MethodGet, path: route("v1", "admin", "audit", "isolation"), query: Page{}.query("since", since)}
	err := c.do(ctx, in, &out)
	return out, err
}

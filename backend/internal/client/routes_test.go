package client

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rockpool/backend/internal/api"
	"rockpool/backend/internal/rest"
)

// everyCall asks each method once, with every parameter that it can send.
func everyCall(ctx context.Context, c *Client) {
	page, grace, digest := Page{Limit: 2, Token: "t"}, rest.Duration(0), digestOfBytes(nil)
	_, _ = c.SubmitJob(ctx, rest.JobRequest{}, "k")
	_, _ = c.SubmitJobs(ctx, nil, "k")
	_, _ = c.Job(ctx, "x")
	_, _ = c.jobWithin(ctx, "x", longPoll)
	_, _ = c.Jobs(ctx, JobFilter{App: "a", State: "queued", Node: "n", Reason: "drained", Label: "a=b"}, page)
	_, _ = c.CancelJob(ctx, "x", &grace)
	_, _ = c.CancelJobs(ctx, rest.CancelSelection{}, true)
	_, _ = c.TryJob(ctx, rest.JobRequest{})
	_, _ = c.RetryJob(ctx, "x", "k")
	_, _ = c.ResolveJob(ctx, "x", "fail")
	_, _ = c.SetShare(ctx, "x", rest.ShareRequest{}, 1)
	_, _ = c.Decision(ctx, "x")
	_, _ = c.Explanation(ctx, "x")
	_, _ = c.Attempts(ctx, "x")
	_, _ = c.JobLog(ctx, "x")
	_, _ = c.Place(ctx, rest.PlacementRequest{}, "k")
	_, _ = c.Placement(ctx, "x")
	_, _ = c.Placements(ctx, PlacementFilter{App: "a", Key: "k", State: "active", Node: "n"}, page)
	_, _ = c.RenewPlacement(ctx, "x", &grace)
	_, _ = c.ReleasePlacement(ctx, "x")
	_, _ = c.Node(ctx, "x")
	_, _ = c.Nodes(ctx, NodeFilter{Pool: "p", Lease: "ready"}, page)
	_, _ = c.MoveNode(ctx, "x", rest.MoveRequest{}, 1)
	_, _ = c.TryMove(ctx, "x", rest.MoveRequest{}, 1)
	_, _ = c.CreateNode(ctx, rest.NodeRequest{})
	_, _ = c.DrainNode(ctx, "x", rest.DrainRequest{}, 1, true)
	_, _ = c.Impact(ctx, rest.ImpactRequest{})
	_, _ = c.PoolHistory(ctx, "x")
	_, _ = c.NodeHistory(ctx, "x")
	_, _ = c.CordonNode(ctx, "x", "why", 1)
	_, _ = c.UncordonNode(ctx, "x", "why", 1)
	_ = c.SetPassword(ctx, "x", rest.PasswordRequest{})
	_, _ = c.LiftHold(ctx, "x", "auto", "why", 1)
	_, _ = c.RotateNode(ctx, "x", "why", 1)
	_, _ = c.RepairNode(ctx, "x", rest.RepairRequest{}, 1)
	_, _ = c.LeaveNode(ctx, "x", "why")
	_, _ = c.Alarms(ctx, AlarmFilter{State: "lasting", Kind: "k", Pool: "p"}, page)
	_, _ = c.Alarm(ctx, "x")
	_, _ = c.AckAlarm(ctx, "x")
	_, _ = c.SilenceAlarm(ctx, "x", rest.SilenceRequest{})
	_, _ = c.RevokeNode(ctx, "x", "why")
	_, _ = c.Pool(ctx, "x")
	_, _ = c.Pools(ctx, page)
	_, _ = c.NodePools(ctx, page)
	_, _ = c.NodePool(ctx, "x")
	_, _ = c.CreatePool(ctx, rest.PoolRequest{})
	_, _ = c.ChangePool(ctx, "x", rest.PoolChange{}, 1, true)
	_ = c.DeletePool(ctx, "x", "", 1)
	_, _ = c.ReleasePool(ctx, "x", "why")
	_, _ = c.Promote(ctx, "x", rest.PromoteRequest{}, true)
	_, _ = c.Usage(ctx, UsageFilter{Since: "30d", Until: "1d", App: "a", Pool: "p"})
	_, _ = c.Isolation(ctx, "30d")
	_, _ = c.AllBindings(ctx, page)
	_, _ = c.Bindings(ctx, "x")
	_, _ = c.PutBinding(ctx, "x", rest.BindingRequest{}, 1)
	_, _ = c.Roles(ctx)
	_, _ = c.CreateRole(ctx, rest.RoleRequest{})
	_, _ = c.Alignment(ctx)
	_, _ = c.Candidates(ctx, "x", Preview{Role: "r", Runner: "c", Backend: "cpu", Region: "eu", Slots: 2})
	_, _ = c.CreateApp(ctx, rest.AppRequest{})
	_, _ = c.App(ctx, "x")
	_, _ = c.Apps(ctx, page)
	_, _ = c.CreateLicense(ctx, rest.LicenseRequest{})
	_, _ = c.License(ctx, "x")
	_, _ = c.Licenses(ctx, page)
	_, _ = c.RevokeLicense(ctx, "x", "why")
	_, _ = c.CreateUser(ctx, rest.UserRequest{})
	_, _ = c.User(ctx, "x")
	_, _ = c.Users(ctx, page)
	_, _ = c.SetRoles(ctx, "x", rest.RolesRequest{})
	_, _ = c.CreateToken(ctx, "", rest.TokenRequest{})
	_, _ = c.CreateToken(ctx, "7", rest.TokenRequest{})
	_, _ = c.Tokens(ctx, page)
	_ = c.DeleteToken(ctx, "x")
	_, _ = c.Setup(ctx, rest.SetupRequest{})
	_, _ = c.HasArtifact(ctx, digest)
	_, _ = c.PutArtifact(ctx, digest, 0, strings.NewReader(""))
	_, _ = c.UploadOffset(ctx, digest)
	_, _ = c.PatchUpload(ctx, digest, 0, 0, strings.NewReader(""))
	_, _ = c.GetArtifact(ctx, digest, io.Discard)
	_, _ = c.Audit(ctx, AuditFilter{}, page)
	_, _ = c.VerifyAudit(ctx)
	_, _ = c.Version(ctx)
	_, _ = c.Ready(ctx)
}

// unasked are the routes that a client of the API has no use for: consoles of
// people have cookies, programs have tokens, nodes a secret of their own.
var unasked = []string{
	"POST /v1/session", "GET /v1/session", "DELETE /v1/session", "PUT /v1/session/password",
	"POST /v1/artifacts", "GET /v1/channel", "PUT /v1/node/secret", "GET /v1/openapi.json", "GET /livez",
}

func TestEveryCallHasItsRoute(t *testing.T) {
	asked := map[string]bool{}
	c := memoryClient(t, func(w http.ResponseWriter, r *http.Request) {
		at := slices.IndexFunc(api.Routes(), func(route api.Route) bool {
			return route.Method == r.Method && fits(route.Path, r.URL.Path)
		})
		if at < 0 {
			t.Errorf("no route for %s %s", r.Method, r.URL.Path)
			return
		}
		route := api.Routes()[at]
		asked[route.Method+" "+route.Path] = true
		for name := range r.URL.Query() {
			if !slices.Contains(route.Query, name) {
				t.Errorf("%s %s does not know ?%s", route.Method, route.Path, name)
			}
		}
		answer(w, route.Status[0], "application/json", `{}`)
	})
	everyCall(t.Context(), c)
	for _, route := range api.Routes() {
		if row := route.Method + " " + route.Path; !asked[row] && !slices.Contains(unasked, row) {
			t.Errorf("no method of the client asks %s", row)
		}
	}
}

// fits reports whether a path is one of the pattern's; :name stands for any segment.
func fits(pattern, path string) bool {
	return slices.EqualFunc(strings.Split(pattern, "/"), strings.Split(path, "/"), func(want, got string) bool {
		return want == got || strings.HasPrefix(want, ":")
	})
}

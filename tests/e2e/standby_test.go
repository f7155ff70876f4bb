package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

func TestSecondServerOnOneDatabaseWaits(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	n := u.node("1", rig.RawOptions{Answer: rig.Diligent})
	epoch := query[int64](t, s, `SELECT epoch FROM shards`)
	second := rig.LaunchServer(t, append(slices.Clone(settings), "ROCKPOOL_DATABASE_URL="+serverRoleURL(s), "ROCKPOOL_DATABASE_ADMIN_URL="+s.DatabaseURL())...)

	holder := fmt.Sprintf("(pid %d)", s.PID())
	var health backendtest.Health
	rig.Await(t, patience, func() (bool, string) {
		var err error
		health, err = second.Client(t, "").Ready(t.Context())
		return err == nil && health.Status == "standby", fmt.Sprintf("%+v %v; it printed: %s", health, err, second.Output())
	})
	if !strings.Contains(health.Detail, holder) {
		t.Errorf("readyz says %+v, want the holder %s", health, holder)
	}
	a := ask(t, second, "", "GET", "/readyz", "")
	if a.Status != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("readyz answers %d", a.Status)
	}
	if a := ask(t, second, "", "GET", "/livez", ""); a.Status != 200 {
		t.Errorf("livez answers %d", a.Status)
	}
	job := fmt.Sprintf(`{"app": %q, "runner": "noop"}`, u.app)
	for _, route := range []string{"GET /v1/nodes", "POST /v1/jobs", "GET /v1/channel", "POST /v1/setup"} {
		method, path, _ := strings.Cut(route, " ")
		a := ask(t, second, u.token, method, path, job)
		if a.Status != 503 || a.Problem.Code != "standby" || !strings.Contains(a.Problem.Detail, holder) {
			t.Errorf("%s on the standby: %d %s", route, a.Status, a.Body)
		}
	}
	if ran := second.Run(t, u.token, "job", "list"); ran.Code != 1 || !strings.Contains(ran.Err, holder) {
		t.Errorf("the command line on the standby: ended %d: %s", ran.Code, ran.Err)
	}
	if second.Offered() != "" {
		t.Error("the standby prints a setup token")
	}

	u.await(u.submit().ID, "succeeded")
	if node, err := u.client.Node(t.Context(), n.Name); err != nil || node.Epoch != n.Epoch || node.Lease != "ready" {
		t.Errorf("the first server's node is %+v, %v", node, err)
	}
	second.Stop(t)
	if code := second.ExitCode(); code != 0 {
		t.Errorf("the standby ended with %d:\n%s", code, second.Output())
	}
	if now := query[int64](t, s, `SELECT epoch FROM shards`); now != epoch {
		t.Errorf("the shard's epoch is %d, was %d", now, epoch)
	}
	u.await(u.submit().ID, "succeeded")
}

func TestSecondServerOnOneDataFolderIsRefused(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	second := rig.LaunchServerOn(t, s.Dir)
	second.Wait(t, patience)
	refusedInOneLine(t, second, s.Dir)
	u.node("1", rig.RawOptions{Answer: rig.Diligent})
	u.await(u.submit().ID, "succeeded")
}

// refusedInOneLine checks that a server ended by itself with one clear line.
func refusedInOneLine(t *testing.T, s *rig.Server, names ...string) {
	t.Helper()
	said := s.Output()
	if s.ExitCode() != 1 || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "rockpool: ") {
		t.Errorf("ended with %d and printed:\n%s", s.ExitCode(), said)
	}
	for _, name := range names {
		if !strings.Contains(said, name) {
			t.Errorf("it does not name %s: %s", name, said)
		}
	}
}

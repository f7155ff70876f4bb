package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// TestFirstRun follows a server of its own from its first start: who becomes
// superadmin, who stays one, and what its audit entries are worth.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	s := rig.NewUnclaimed(t, settings...)
	t.Run("Attack_A81_NobodyButTheOneWithTheSetupToken", func(t *testing.T) { firstSuperadmin(t, s) })
	if s.Admin == nil {
		t.Fatal("there is no superadmin to go on with")
	}
	t.Run("Attack_A64_TheLastSuperadminStays", func(t *testing.T) { lastSuperadmin(t, s) })
	t.Run("Inv_I14_ATamperedEntryIsNamed", func(t *testing.T) { tamperedAudit(t, s) })
}

func firstSuperadmin(t *testing.T, s *rig.Server) {
	nobodyMayAnything(t, s)
	printed := s.Offered()
	if printed == "" || strings.Count(s.Output(), "rps_") != 1 {
		t.Fatalf("the start did not print one setup token:\n%s", s.Output())
	}
	if strings.Contains(s.Log(), "rps_") {
		t.Error("the setup token stands in the log")
	}
	redeem(t, s, strings.Repeat("x", 47)).refused(t, "no token at all", 401, "unauthenticated")
	redeem(t, s, "rps_"+strings.Repeat("A", 43)).refused(t, "a made-up token", 401, "unauthenticated")
	execute(t, s, `UPDATE setup_tokens SET expires_at = now() - interval '1 second'`)
	redeem(t, s, printed).refused(t, "an expired token", 401, "unauthenticated")

	s.Stop(t)
	s.Start(t)
	next := s.Offered()
	if next == "" || next == printed {
		t.Fatalf("the second start did not print another token:\n%s", s.Output())
	}
	redeem(t, s, printed).refused(t, "the first start's token", 401, "unauthenticated")
	claimAtOnce(t, s, next)
	redeem(t, s, next).refused(t, "a used token", 401, "unauthenticated")
	if users := query[int](t, s, `SELECT count(*) FROM users`); users != 1 {
		t.Errorf("there are %d users", users)
	}

	s.Stop(t)
	s.Start(t)
	if s.Offered() != "" || strings.Contains(s.Output(), "superadmin") {
		t.Errorf("with a superadmin there, the start printed:\n%s", s.Output())
	}
	redeem(t, s, next).refused(t, "a used token after a restart", 401, "unauthenticated")
	nobodyMayAnything(t, s)
}

func redeem(t testing.TB, s *rig.Server, token string) answer {
	t.Helper()
	return ask(t, s, "", "POST", "/v1/setup", fmt.Sprintf(`{"setupToken": %q}`, token))
}

// claimAtOnce redeems one token several times in parallel: it works once.
func claimAtOnce(t *testing.T, s *rig.Server, token string) {
	t.Helper()
	answers := make([]answer, 5)
	var tries sync.WaitGroup
	for i := range answers {
		tries.Go(func() { answers[i] = redeem(t, s, token) })
	}
	tries.Wait()
	for _, a := range answers {
		switch {
		case a.Status == 201 && s.Admin == nil:
			var done struct{ Token backendtest.NewToken }
			a.read(t, &done)
			s.SetupToken, s.AdminToken, s.Admin = token, done.Token.Secret, s.Client(t, done.Token.Secret)
		case a.Status != 401 && a.Status != 409:
			t.Errorf("redeemed once more: %d %s", a.Status, a.Body)
		}
	}
	if s.Admin == nil {
		t.Fatalf("the token was never taken: %+v", answers)
	}
}

// nobodyMayAnything asks every route without a credential and with what programs
// of this kind have as their default one.
func nobodyMayAnything(t *testing.T, s *rig.Server) {
	t.Helper()
	open := []string{"GET /livez", "GET /readyz", "GET /v1/version", "GET /v1/openapi.json", "POST /v1/setup", "POST /v1/session", "GET /v1/channel"}
	for path, item := range document(t, s).Paths.Map() {
		for method := range item.Operations() {
			if strings.Contains(strings.Join(open, "\n"), method+" "+path) {
				continue
			}
			target := templated.ReplaceAllString(path, "x")
			if a := ask(t, s, "", method, target, ""); a.Status != 401 {
				t.Errorf("nobody: %s %s answered %d", method, path, a.Status)
			}
		}
	}
	for _, header := range []string{
		"Basic YWRtaW46YWRtaW4=", "Basic cm9vdDo=", "Basic cm9ja3Bvb2w6cm9ja3Bvb2w=", "Bearer admin", "Bearer ", "Bearer rp_", "Bearer rps_",
	} {
		ask(t, s, "", "GET", "/v1/admin/users", "", "Authorization", header).refused(t, header, 401, "unauthenticated")
	}
}

func lastSuperadmin(t *testing.T, s *rig.Server) {
	me := query[string](t, s, `SELECT user_id::text FROM user_roles WHERE role = 'superadmin'`)
	roles := func(token, user, body string) answer {
		return ask(t, s, token, "PUT", "/v1/admin/users/"+user+"/roles", body)
	}
	const none = `{"roles": ["user"]}`
	roles(s.AdminToken, me, none).refused(t, "the last superadmin gives it up", 409, "conflict")
	roles(s.AdminToken, me, `{"roles": []}`).refused(t, "no roles at all", 400, "bad_request")

	user, err := s.Admin.CreateUser(t.Context(), backendtest.UserRequest{Name: "second", Roles: []string{"operator"}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.Admin.CreateToken(t.Context(), user.ID, backendtest.TokenRequest{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"user", "viewer", "operator"} {
		if a := roles(s.AdminToken, user.ID, fmt.Sprintf(`{"roles": [%q]}`, role)); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		roles(token.Secret, user.ID, `{"roles": ["superadmin"]}`).refused(t, role+" raises itself", 403, "forbidden")
		roles(token.Secret, me, none).refused(t, role+" lowers the superadmin", 403, "forbidden")
		ask(t, s, token.Secret, "POST", "/v1/admin/users/"+me+"/tokens", `{"name": "x"}`).refused(t, role+" makes itself the superadmin's token", 403, "forbidden")
	}

	// Of two superadmins that lower each other at once, one stays.
	for range 5 {
		if a := roles(s.AdminToken, user.ID, `{"roles": ["superadmin"]}`); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		var first, second answer
		var both sync.WaitGroup
		both.Go(func() { first = roles(s.AdminToken, user.ID, none) })
		both.Go(func() { second = roles(token.Secret, me, none) })
		both.Wait()
		if left := query[int](t, s, `SELECT count(*) FROM user_roles WHERE role = 'superadmin'`); left != 1 {
			t.Fatalf("%d superadmins are left after %d %s and %d %s", left, first.Status, first.Body, second.Status, second.Body)
		}
		if second.Status == http.StatusOK { // the second is it now
			if a := roles(token.Secret, me, `{"roles": ["superadmin"]}`); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
	}
	roles(s.AdminToken, user.ID, none)
	roles(s.AdminToken, me, none).refused(t, "the last superadmin gives it up", 409, "conflict")
}

// tamperedAudit changes entries as the database's owner, who can turn the trigger
// off, and wants the first bad one to be named.
func tamperedAudit(t *testing.T, s *rig.Server) {
	entries := query[int64](t, s, `SELECT count(*) FROM audit_entries`)
	if entries < 10 {
		t.Fatalf("only %d entries to tamper with", entries)
	}
	verify(t, s, 0)
	execute(t, s, `ALTER TABLE audit_entries DISABLE TRIGGER ALL`, `CREATE TABLE kept AS TABLE audit_entries`)
	for _, c := range []struct {
		sql string
		bad int64
	}{
		{`UPDATE audit_entries SET reason = 'nothing happened' WHERE seq = 4`, 4},
		{`UPDATE audit_entries SET subject = 'u:99' WHERE seq IN (7, 3)`, 3},
		{`UPDATE audit_entries SET at = at + interval '1 microsecond' WHERE seq = 5`, 5},
		{`UPDATE audit_entries SET after = '{}' WHERE seq = 2`, 2},
		{`UPDATE audit_entries SET sum = sha256('x') WHERE seq = 6`, 6},
		{`DELETE FROM audit_entries WHERE seq = 4`, 4},
		{`DELETE FROM audit_entries WHERE seq = 1`, 1},
		{fmt.Sprintf(`DELETE FROM audit_entries WHERE seq = %d`, entries), entries},
		{`UPDATE audit_entries SET seq = CASE seq WHEN 4 THEN -5 ELSE -4 END WHERE seq IN (4, 5); UPDATE audit_entries SET seq = -seq WHERE seq < 0`, 4},
		{`INSERT INTO audit_entries SELECT seq + 1, at, subject, address, request_id, action, object, before, after, reason, sum, sum FROM audit_entries ORDER BY seq DESC LIMIT 1`, entries + 1},
	} {
		execute(t, s, c.sql)
		verify(t, s, c.bad)
		execute(t, s, `DELETE FROM audit_entries`, `INSERT INTO audit_entries TABLE kept`)
	}
	verify(t, s, 0)
	execute(t, s, `ALTER TABLE audit_entries ENABLE TRIGGER ALL`, `DROP TABLE kept`)
}

// verify runs the command and wants this entry named; 0: the chain is whole.
func verify(t *testing.T, s *rig.Server, bad int64) {
	t.Helper()
	ran := s.Run(t, s.AdminToken, "audit", "verify", "-o", "json")
	var verified backendtest.AuditVerified
	if err := json.Unmarshal([]byte(ran.Out), &verified); err != nil {
		t.Fatalf("ended %d: %s%s", ran.Code, ran.Out, ran.Err)
	}
	switch {
	case bad == 0 && (ran.Code != 0 || !verified.OK || verified.BadSeq != nil):
		t.Errorf("the whole chain: ended %d: %s%s", ran.Code, ran.Out, ran.Err)
	case bad != 0 && (ran.Code != 1 || verified.OK || verified.BadSeq == nil || *verified.BadSeq != bad || !strings.Contains(ran.Err, fmt.Sprint(bad))):
		t.Errorf("want %d named: ended %d: %s%s", bad, ran.Code, ran.Out, ran.Err)
	}
}

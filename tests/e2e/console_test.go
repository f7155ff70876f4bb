package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
	"rockpool/tests/rig"
)

func heartbeat() wire.Heartbeat {
	return wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}}
}

// muteNode says hello and nothing more, although its connection stands and
// answers pings; it gives its name.
func (u *tenant) muteNode() string {
	u.t.Helper()
	var bits [32]byte
	rand.Read(bits[:])
	conn, err := wsconn.Dial(u.t.Context(), u.s.URL+wire.ChannelPath, wsconn.DialOptions{Header: http.Header{
		"Authorization": {"License " + u.license.LicenseCode}, wire.NodeSecretHeader: {base64.RawURLEncoding.EncodeToString(bits[:])},
	}})
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(conn.CloseNow)
	name := u.name + "-mute"
	err = conn.Send(wire.Msg(wire.Hello{
		NodeID: name, ProtoMin: 1, ProtoMax: 1, AgentVersion: "mute", OS: "linux", Arch: "amd64", BootID: "b", Role: "worker",
		Backend: "cpu", Capacity: wire.Capacity{Slots: 1}, Runners: []string{"checksum"},
	}))
	if err != nil {
		u.t.Fatal(err)
	}
	go func() {
		for err == nil {
			_, err = conn.Receive()
		}
	}()
	return name
}

// A node that dies says nothing: its page leaves ready all the same.
func TestCase_N47_AKilledNodeLeavesReadyWithoutAWord(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	p := newPerson(t, u.s, "operator")
	p.signIn()
	c := p.open(wire.Subscribe{Topic: wire.TopicNodes, Filter: wire.Filter{Pool: u.pool()}}, wire.Subscribe{Topic: wire.TopicPools})
	killed, mute := u.node("killed", rig.RawOptions{}), u.muteNode()
	lease := func(node string) string { return c.nodes[node].Lease }
	c.until("both came", func() bool { return lease(killed.Name) == "ready" && lease(mute) != "" })

	killed.Send(t, heartbeat())
	if a := p.ask("POST", "/v1/admin/nodes/"+killed.Name+"/cordon", `{"reason": "new disk"}`); a.Status != 200 {
		t.Fatalf("cordon answered %d: %s", a.Status, a.Body)
	}
	took := c.until("the cordon is shown", func() bool { return len(c.nodes[killed.Name].Holds) == 1 })
	if hold := c.nodes[killed.Name].Holds[0]; took > atOnce || hold.Kind != "cordon" || hold.Reason != "new disk" || hold.Actor != p.name {
		t.Errorf("%+v after %v", hold, took)
	}
	job := u.submit()
	if job.Node == killed.Name {
		t.Error("a cordoned node got work")
	}
	if a := p.ask("POST", "/v1/admin/nodes/"+killed.Name+"/uncordon", ""); a.Status != 200 {
		t.Fatalf("uncordon answered %d: %s", a.Status, a.Body)
	}
	c.until("the cordon is gone", func() bool { return len(c.nodes[killed.Name].Holds) == 0 })

	killed.Cut()
	c.until("the killed one is not ready", func() bool { return lease(killed.Name) != "ready" })
	c.until("the mute one is not ready", func() bool { return lease(mute) != "ready" })
	c.until("both are lost", func() bool { return lease(killed.Name) == "lost" && lease(mute) == "lost" })
	c.until("the pool says so too", func() bool { return c.pools[u.pool()].Nodes.Lost == 2 })
	if n, err := u.client.Node(t.Context(), killed.Name); err != nil || n.Lease != "lost" || n.LastSeenAt == nil {
		t.Errorf("REST has %+v, %v", n, err)
	}
	one := p.open(wire.Subscribe{Topic: wire.TopicNode + mute})
	one.until("its timeline came", func() bool { return len(one.nodes[mute].Timeline) >= 3 })
	var words []string
	for _, change := range one.nodes[mute].Timeline {
		words = append(words, change.State+" by "+change.Cause)
	}
	if story := strings.Join(words, ", "); !strings.HasPrefix(story, "ready by hello, suspect by silence, lost by silence") {
		t.Errorf("the timeline tells: %s", story)
	}
}

func TestInv_I21_OneEndOfEachJobForEachConsole(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	if a := ask(t, u.s, u.s.AdminToken, "PUT", "/v1/admin/users/"+u.id+"/password", `{"password": "`+consolePassword+`"}`); a.Status != 204 {
		t.Fatalf("set a password: %d %s", a.Status, a.Body)
	}
	p := &person{t: t, s: u.s, id: u.id, name: u.name}
	p.signIn()
	c := p.open(wire.Subscribe{Topic: wire.TopicJobs})
	u.node("1", rig.RawOptions{Slots: 4, Answer: rig.Diligent})
	var jobs []string
	for range 20 {
		jobs = append(jobs, u.submit().ID)
	}
	c.until("all jobs ended", func() bool {
		for _, id := range jobs {
			if c.jobs[id].State != "succeeded" {
				return false
			}
		}
		return true
	})
	for _, id := range jobs {
		if c.ends[id] != 1 {
			t.Errorf("%s ended %d times", id, c.ends[id])
		}
		rest, shown := u.job(id), c.jobs[id]
		if rest.State != shown.State || rest.Node != shown.Node || rest.Pool != shown.Pool || rest.App != shown.App {
			t.Errorf("REST has %s, the console %+v", inWords(rest), shown)
		}
	}
	if len(c.jobs) != len(jobs) {
		t.Errorf("%d jobs are shown, %d are the user's", len(c.jobs), len(jobs))
	}
	one := p.open(wire.Subscribe{Topic: wire.TopicJob + jobs[0]})
	one.until("its decision came", func() bool { return strings.Contains(one.jobs[jobs[0]].Waits, u.pool()) })
}

// Signing out ends the cookie and what it opened; so does another password.
func TestConsole_SigningOutClosesItsSockets(t *testing.T) {
	t.Parallel()
	s := server(t)
	p := newPerson(t, s, "viewer")
	p.signIn()
	var who struct {
		Roles []string
		User  struct{ Name string }
	}
	a := p.ask("GET", "/v1/session", "")
	if a.read(t, &who); who.User.Name != p.name || len(who.Roles) != 1 || who.Roles[0] != "viewer" {
		t.Errorf("the session is %s", a.Body)
	}
	c := p.open(wire.Subscribe{Topic: wire.TopicPools})
	c.until("a snapshot came", func() bool { return c.pools["default"].ID != "" })
	begin := time.Now()
	if a := p.ask("DELETE", "/v1/session", ""); a.Status != 204 {
		t.Fatalf("signing out answered %d: %s", a.Status, a.Body)
	}
	if code := c.closed(); code != wire.CloseRevoked || time.Since(begin) > atOnce {
		t.Errorf("closed with %s after %v", code, time.Since(begin))
	}
	p.ask("GET", "/v1/session", "").refused(t, "signed out", 401, "unauthenticated")

	p.signIn()
	c = p.open()
	const next = "another horse battery staple"
	p.ask("PUT", "/v1/session/password", `{"current": "wrong wrong wrong", "password": "`+next+`"}`).refused(t, "a wrong password", 403, "forbidden")
	before := p.cookie
	if a := p.ask("PUT", "/v1/session/password", fmt.Sprintf(`{"current": %q, "password": %q}`, consolePassword, next)); a.Status != 204 {
		t.Fatalf("a new password answered %d: %s", a.Status, a.Body)
	}
	if code := c.closed(); code != wire.CloseRevoked {
		t.Errorf("closed with %s", code)
	}
	if a := p.ask("GET", "/v1/session", ""); a.Status != 200 || p.cookie == before {
		t.Errorf("who changed the password is signed out: %d", a.Status)
	}
	ask(t, s, "", "GET", "/v1/session", "", "Cookie", before).refused(t, "the cookie before", 401, "unauthenticated")
}

func TestAttack_A34_EachSignInHasASecretOfItsOwn(t *testing.T) {
	t.Parallel()
	s := server(t)
	p := newPerson(t, s, "operator")
	planted := "__Host-rockpool=rpc_" + strings.Repeat("A", 43)
	p.cookie = planted
	p.signIn()
	first := p.cookie
	p.signIn()
	if first == planted || p.cookie == first {
		t.Error("a sign-in goes on under the secret that was there")
	}
	ask(t, s, "", "GET", "/v1/session", "", "Cookie", planted).refused(t, "the planted cookie", 401, "unauthenticated")
	a := ask(t, s, s.AdminToken, "PUT", "/v1/admin/users/"+p.id+"/roles", `{"roles": ["viewer"]}`)
	if a.Status != 200 {
		t.Fatal(a.Body)
	}
	for _, cookie := range []string{first, p.cookie} {
		ask(t, s, "", "GET", "/v1/session", "", "Cookie", cookie).refused(t, "a cookie of other rights", 401, "unauthenticated")
	}
}

func TestAttack_A33_AnotherSitesPageChangesNothing(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	p := newPerson(t, u.s, "operator")
	p.signIn()
	path := "/v1/admin/nodes/" + n.Name + "/cordon"
	for name, headers := range map[string][]string{
		"another site": {"Origin", "https://evil.example"}, "null": {"Origin", "null"}, "cross-site": {"Sec-Fetch-Site", "cross-site"},
		"same site": {"Sec-Fetch-Site", "same-site"}, "no origin": {},
	} {
		ask(t, u.s, "", "POST", path, `{"reason": "x"}`, append(headers, "Cookie", p.cookie)...).refused(t, name, 403, "forbidden")
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		p.ask("POST", path, `{"reason": "x"}`, "Content-Type", media).refused(t, media, 415, "unsupported_media_type")
	}
	if held, err := u.client.Node(t.Context(), n.Name); err != nil || len(held.Holds) > 0 {
		t.Errorf("the node has %v, %v", held.Holds, err)
	}
}

func TestAttack_A36_WrongPasswordsAreLimited(t *testing.T) {
	t.Parallel()
	s := server(t)
	p := newPerson(t, s, "user")
	limited := false
	for range 25 { // ten, and one more every ten seconds
		a := p.ask("POST", "/v1/session", fmt.Sprintf(`{"name": %q, "password": "not the password"}`, p.name))
		if a.Status == 429 {
			limited = true
			if a.Header.Get("Retry-After") == "" {
				t.Error("limited without Retry-After")
			}
			break
		}
		a.refused(t, "a wrong password", 401, "unauthenticated")
	}
	if !limited {
		t.Error("nobody stopped the guessing")
	}
	awaitAudited(t, s, "sign_ins_limited", "name:"+p.name, 1)
}

// A dump of the database holds neither a password nor a cookie.
func TestAttack_A40_NoPasswordStandsInTheDatabase(t *testing.T) {
	t.Parallel()
	s := server(t)
	p := newPerson(t, s, "user")
	p.signIn()
	_, secret, _ := strings.Cut(p.cookie, "=")
	for _, table := range []string{"users", "user_passwords", "console_sessions", "audit_entries"} {
		for _, text := range []string{consolePassword, secret} {
			if n := query[int](t, s, `SELECT count(*) FROM `+table+` AS t WHERE t::text LIKE '%' || $1 || '%'`, text); n != 0 {
				t.Errorf("%d rows of %s hold a secret", n, table)
			}
		}
	}
	if n := query[int](t, s, `SELECT count(*) FROM user_passwords WHERE hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%'`); n != 0 {
		t.Errorf("%d passwords are kept otherwise than as argon2id", n)
	}
}

// The link of the first start makes a superadmin who signs in by a password.
func TestConsole_TheFirstSuperadminSignsIn(t *testing.T) {
	t.Parallel()
	s := rig.NewUnclaimed(t, settings...)
	p := &person{t: t, s: s, name: "ada"}
	setup := func(password string) answer {
		return p.ask("POST", "/v1/setup", fmt.Sprintf(`{"setupToken": %q, "name": "ada", "password": %q}`, s.Offered(), password))
	}
	setup("too short").refused(t, "a short password", 400, "bad_request")
	setup(strings.Repeat("x", 129)).refused(t, "a long password", 400, "bad_request")
	a := setup(consolePassword)
	if a.Status != 201 || strings.Contains(a.Body, "rp_") || p.cookie != "" {
		t.Fatalf("setup answered %d %s", a.Status, a.Body)
	}
	var done backendtest.SetupDone
	a.read(t, &done)
	p.id = done.User.ID
	p.ask("GET", "/v1/nodes", "").refused(t, "before signing in", 401, "unauthenticated")
	p.signIn()
	c := p.open(wire.Subscribe{Topic: wire.TopicPools})
	c.until("the pools came", func() bool { return c.pools["default"].ID != "" && c.pools["unassigned"].ID != "" })
	if a := p.ask("POST", "/v1/tokens", `{"name": "laptop"}`); a.Status != 201 {
		t.Errorf("a token for programs: %d %s", a.Status, a.Body)
	}
}

func TestCLI_HoldsANodeAndSetsAPassword(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	holds := func(args ...string) []backendtest.Hold {
		t.Helper()
		ran := u.s.Run(t, u.s.AdminToken, append(args, "-o", "json")...)
		var node backendtest.Node
		if err := json.Unmarshal([]byte(ran.Out), &node); ran.Code != 0 || err != nil {
			t.Fatalf("%v ended %d: %s%s", args, ran.Code, ran.Out, ran.Err)
		}
		return node.Holds
	}
	if held := holds("node", "cordon", n.Name, "--reason", "new fan"); len(held) != 1 || held[0].Kind != "cordon" || held[0].Reason != "new fan" {
		t.Errorf("cordoned, and it is held by %+v", held)
	}
	if held := holds("node", "uncordon", n.Name); len(held) != 0 {
		t.Errorf("the cordon was lifted, and it is held by %+v", held)
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(consolePassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ran := u.s.Run(t, u.s.AdminToken, "user", "password", u.id, "--file", file); ran.Code != 0 {
		t.Fatalf("user password ended %d: %s", ran.Code, ran.Err)
	}
	(&person{t: t, s: u.s, id: u.id, name: u.name}).signIn()
}

// A node that was killed and begins again is the same node: its page goes on with the
// new process, and so does what it runs.
func TestCase_N23_ARebootedNodesPageGoesOn(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	p := newPerson(t, u.s, "operator")
	p.signIn()
	a := u.agent("1", 1, w)
	c := p.open(wire.Subscribe{Topic: wire.TopicNode + a.Name})
	row := func() wire.NodeRow { return c.nodes[a.Name] }
	c.until("it came", func() bool { return row().Lease == "ready" })
	first := row().Epoch
	a.Kill(t)
	c.until("it is gone", func() bool { return row().Lease == "suspect" })
	a.Start(t)
	c.until("its next process is there", func() bool { return row().Lease == "ready" && row().Epoch > first })
	job := u.submit(runner("wait"))
	c.until("it runs work", func() bool { return len(row().Running) == 1 && row().Running[0].Job == job.ID })
	w.Release()
	u.await(job.ID, "succeeded")
	c.until("and no more", func() bool { return len(row().Running) == 0 })
}

package session

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/view/viewtest"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

func TestAttack_A31_OnlyOurOwnPagesOpenAConsole(t *testing.T) {
	r := newRig(t, nil)
	header, _ := r.signIn(operator)
	host := strings.TrimPrefix(r.origin(), "http://")
	for origin, allowed := range map[string]bool{
		r.origin(): true, "https://" + host: true, "HTTP://" + host: true,
		"": false, "null": false, "https://evil.example": false, "http://evil" + host: false, "http://" + host + ".evil.example": false,
		"http://" + host + "/": false, "http://" + host + "@evil.example": false, "http://evil.example/" + host: false,
		"file://" + host: false, host: false, "http://127.0.0.1": false,
	} {
		try := header.Clone()
		try.Del("Origin")
		if origin != "" {
			try.Set("Origin", origin)
		}
		conn, err := wsconn.Dial(t.Context(), r.url, wsconn.DialOptions{Header: try})
		if (err == nil) != allowed || !allowed && status(err) != http.StatusForbidden {
			t.Errorf("origin %q: %v", origin, err)
		}
		if err == nil {
			conn.CloseNow()
		}
	}
	two := header.Clone()
	two.Add("Origin", r.origin())
	if _, err := wsconn.Dial(t.Context(), r.url, wsconn.DialOptions{Header: two}); status(err) != http.StatusForbidden {
		t.Errorf("two origins: %v", err)
	}
}

func TestAttack_A32_KindsOfCredentialsDoNotMix(t *testing.T) {
	r := newRig(t, nil)
	cookie, _ := r.signIn(operator)
	node := r.node("ams-1")
	with := func(change func(http.Header)) http.Header {
		header := cookie.Clone()
		change(header)
		return header
	}
	for name, header := range map[string]http.Header{
		"cookie and node secret":     with(func(h http.Header) { h.Set("Authorization", "Bearer "+node.Text) }),
		"node secret in the cookie":  with(func(h http.Header) { h.Set("Cookie", consoleCookie+"="+node.Text) }),
		"API token in the cookie":    with(func(h http.Header) { h.Set("Cookie", consoleCookie+"="+enroll.NewTokenSecret().Text) }),
		"unknown cookie":             with(func(h http.Header) { h.Set("Cookie", consoleCookie+"="+enroll.NewConsoleSecret().Text) }),
		"console's secret as bearer": {"Authorization": {"Bearer " + strings.TrimPrefix(cookie.Get("Cookie"), consoleCookie+"=")}},
	} {
		if _, err := wsconn.Dial(t.Context(), r.url, wsconn.DialOptions{Header: header}); status(err) != http.StatusUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, said := range []wire.Body{
		wire.Hello{ProtoMin: 1, ProtoMax: 1, BootID: "b", Role: "edge", Backend: "cpu", AgentVersion: "1", OS: "linux", Arch: "amd64"},
		wire.Heartbeat{}, wire.Accept{Job: viewtest.JobID(1).String(), Attempt: 1}, wire.Snapshot{Topic: wire.TopicNodes},
	} {
		b := r.open(cookie)
		b.say(said)
		if code := b.closed(); code != wire.CloseBadMessage {
			t.Errorf("a console that says %s is closed with %s", said.Type(), code)
		}
	}
	a := r.join("ams-1", node)
	a.say(wire.Subscribe{Topic: wire.TopicNodes})
	b := &browser{agent: a}
	if code := b.closed(); code != wire.CloseBadMessage {
		t.Errorf("an agent that subscribes is closed with %s", code)
	}
	if events := strings.Join(r.loop.events(), "\n"); strings.Count(events, "hello") != 1 {
		t.Errorf("the loop heard\n%s", events)
	}
}

// The console's socket carries no change of anything: each of its messages reads.
func TestAttack_A65_TheSocketChangesNothing(t *testing.T) {
	r := newRig(t, nil)
	header, session := r.signIn(operator)
	for _, said := range []wire.Body{
		wire.Cancel{Job: viewtest.JobID(1).String(), Attempt: 1}, wire.Void{Job: viewtest.JobID(1).String(), Attempt: 1},
		wire.Start{Job: viewtest.JobID(1).String(), Attempt: 1}, wire.Goodbye{Kind: wire.GoodbyeLeft},
	} {
		b := r.open(header)
		b.say(said)
		if code := b.closed(); code != wire.CloseBadMessage {
			t.Errorf("%s: %s", said.Type(), code)
		}
	}
	b := r.open(header)
	r.gateway.EndUser(1) // the rights have changed
	if code := b.closed(); code != wire.CloseRevoked {
		t.Errorf("after a change of rights: %s", code)
	}
	b = r.open(header)
	r.gateway.EndConsole(session)
	if code := b.closed(); code != wire.CloseRevoked {
		t.Errorf("after signing out: %s", code)
	}
	if told := r.loop.events(); len(told) > 0 {
		t.Errorf("the loop heard %v", told)
	}
}

// The first look comes soon, however seldom the others are: a sign-out may fall
// between the upgrade and the console's beginning.
func TestConsole_EndsWhenItsSessionDoes(t *testing.T) {
	for _, every := range []time.Duration{20 * time.Millisecond, time.Hour} {
		r := newRig(t, func(c *Config) { c.RecheckEvery = every })
		header, session := r.signIn(operator)
		b := r.open(header)
		r.door.mu.Lock()
		delete(r.door.users, session)
		r.door.mu.Unlock()
		if code := b.closed(); code != wire.CloseRevoked {
			t.Errorf("closed with %s", code)
		}
	}
}

// A look that is on its way when the console ends is the last one.
func TestConsole_LooksNoMoreOnceItIsOver(t *testing.T) {
	r := newRig(t, func(c *Config) { c.RecheckEvery = time.Hour })
	header, _ := r.signIn(operator)
	r.open(header)
	c := r.gateway.consoles.list(func(*console) bool { return true })[0]
	c.cut()
	<-c.conn.Closed()
	r.gateway.Close(t.Context())
	c.checkSession()
	if c.recheck.Stop() {
		t.Error("another look was due")
	}
}

func TestConsole_HasABudgetOfItsOwn(t *testing.T) {
	frozen := time.Now()
	r := newRig(t, func(c *Config) {
		c.ConsolesPerSecond, c.AgentsPerSecond = 1, 1
		c.Now = func() time.Time { return frozen }
	})
	header, _ := r.signIn(operator)
	r.dial(bearer(r.node("ams-1")))
	r.open(header) // the agents' storm does not lock it out
	if _, err := wsconn.Dial(t.Context(), r.url, wsconn.DialOptions{Header: header}); status(err) != http.StatusServiceUnavailable {
		t.Errorf("over the budget: %v", err)
	}
}

func TestConsole_PingAndUnknown(t *testing.T) {
	r := newRig(t, nil)
	header, _ := r.signIn(operator)
	b := r.open(header)
	b.say(wire.Ping{})
	if m := b.next(); m.Type != wire.TypePong || m.ReplyTo != "q" {
		t.Errorf("a ping got %+v", m)
	}
	b.say(wire.More{Topic: wire.TopicNodes, Part: 1})
	if refused := heard[wire.Error](b); refused.Code != "bad_request" || refused.Fatal {
		t.Errorf("more of nothing got %+v", refused)
	}
	b.say(wire.Subscribe{Topic: wire.TopicNode + "nobody"})
	if refused := heard[wire.Error](b); refused.Code != "not_found" {
		t.Errorf("a node that is not there got %+v", refused)
	}
	b.say(wire.Ping{})
	heard[wire.Pong](b)
}

func TestInv_I21_AConsoleHoldsWhatTheFleetIs(t *testing.T) {
	r := newRig(t, nil)
	const many = 700
	for i := range many {
		r.stage.Put(viewtest.Node(fmt.Sprintf("n%04d", i), 7))
	}
	header, _ := r.signIn(operator)
	b := r.open(header)
	b.say(wire.Subscribe{Topic: wire.TopicNodes})
	for i := range many { // while the snapshot is read in parts
		r.stage.Change(fmt.Sprintf("n%04d", i), func(n *core.NodeView) { n.Spooled = int64(i + 1) })
	}
	r.stage.Put(viewtest.Node("zlast", 7))
	b.until("the last node came", func() bool {
		_, there := b.nodes["zlast"]
		return there && b.nodes[fmt.Sprintf("n%04d", many-1)].Spooled == many
	})
	if len(b.nodes) != many+1 || b.gaps > 0 {
		t.Errorf("%d rows, %d gaps", len(b.nodes), b.gaps)
	}
	for i := range many {
		if row := b.nodes[fmt.Sprintf("n%04d", i)]; row.Spooled != int64(i+1) {
			t.Errorf("row %d: %+v", i, row)
			break
		}
	}
	b.say(wire.Unsubscribe{Topic: wire.TopicNodes})
	b.say(wire.Subscribe{Topic: wire.TopicNodes, Filter: wire.Filter{State: "lost"}})
	b.until("nothing is lost", func() bool { return len(b.nodes) == 0 })
}

// A console that reads too slowly loses deltas, never the truth: it gets a fresh
// snapshot, and is closed when it happens again at once.
func TestInv_I21_ASlowConsoleGetsAFreshSnapshot(t *testing.T) {
	r := newRig(t, nil)
	header, _ := r.signIn(operator)
	b := r.open(header)
	for i := range 400 {
		n := viewtest.Node(fmt.Sprintf("n%04d", i), 7)
		n.HealthReasons = []string{strings.Repeat("x", 200)}
		r.stage.Put(n)
	}
	b.say(wire.Subscribe{Topic: wire.TopicNodes})
	b.until("the rows came", func() bool { return len(b.nodes) == 400 })
	live := r.gateway.consoles.list(func(*console) bool { return true })
	if len(live) != 1 {
		t.Fatalf("%d consoles", len(live))
	}
	c := live[0]
	c.mu.Lock()
	c.grow(backlogBytes + 1) // as if a megabyte had waited
	stale := c.topics[wire.TopicNodes].stale
	c.mu.Unlock()
	if !stale {
		t.Fatal("nothing was dropped")
	}
	r.stage.Change("n0000", func(n *core.NodeView) { n.Lease = fleet.LeaseLost })
	b.until("the change came with a snapshot", func() bool { return b.nodes["n0000"].Lease == "lost" && len(b.nodes) == 400 })
	if b.gaps > 0 || len(b.nodes) != 400 {
		t.Errorf("%d gaps, %d rows", b.gaps, len(b.nodes))
	}
	c.mu.Lock()
	c.grow(backlogBytes + 1)
	c.mu.Unlock()
	if code := b.closed(); code != wire.CloseSlowConsumer {
		t.Errorf("closed with %s", code)
	}
}

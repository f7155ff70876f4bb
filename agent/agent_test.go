package agent

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

func TestFirstJob_FromLicenseToVerdict(t *testing.T) {
	c := newControl(t, nil)
	content := []byte("a real file of a job\n")
	in := c.put(content)
	cfg := testConfig(t, c.server.URL)
	n := begin(t, cfg)
	s := c.welcome()
	if h := c.dials()[0]; h.Get("Authorization") != "License "+licenseCode || len(h.Get(wire.NodeSecretHeader)) != 43 {
		t.Errorf("first dial showed %q and a secret of %d characters", h.Get("Authorization"), len(h.Get(wire.NodeSecretHeader)))
	}
	if h := s.hello; h.NodeID != "edge-1" || h.Role != "worker" || h.Capacity.Slots != 2 || strings.Join(h.Runners, " ") != "checksum tool" || h.LastEpoch != 0 || h.Backend != "cpu" {
		t.Errorf("hello %+v", h)
	}
	if b := s.beat("anything", func(wire.Heartbeat) bool { return true }); !b.Accepting || !b.Health.OK {
		t.Errorf("heartbeat %+v", b)
	}
	s.run(offerOf(1, "checksum", wire.Payload{Inputs: []wire.Input{in}}))
	r := expect[wire.Result](s)
	var output struct {
		SHA256 string
		Bytes  int64
	}
	if err := json.Unmarshal(r.Output, &output); err != nil || r.Status != wire.ResultSucceeded || "sha256:"+output.SHA256 != in.Digest || output.Bytes != in.Size {
		t.Errorf("result %+v with output %s, %v", r, r.Output, err)
	}
	s.ackResult(r, wire.VerdictStored)
	s.beat("an empty spool", func(b wire.Heartbeat) bool { return b.Spooled == 0 && len(b.Running) == 0 })
	n.stop()
	if g := expect[wire.Goodbye](s); g.Kind != wire.GoodbyeStop {
		t.Errorf("goodbye %+v", g)
	}
	secret, err := os.ReadFile(filepath.Join(cfg.StateDir, "secret"))
	if err != nil || c.fetches[0] != "Bearer "+strings.TrimSpace(string(secret)) {
		t.Errorf("the input was fetched with another credential than the node's secret: %v", err)
	}
}

func TestCase_N9_RestartsKeepTheIdentity(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	boots := map[string]bool{}
	for i := range 100 {
		n := begin(t, cfg)
		s := c.welcome()
		if s.hello.Chain != chainOf(int64(i)) || s.hello.LastEpoch != int64(i) {
			t.Fatalf("hello %d says chain %q and epoch %d", i, s.hello.Chain, s.hello.LastEpoch)
		}
		boots[s.hello.BootID] = true
		s.beat("anything", func(wire.Heartbeat) bool { return true })
		n.stop()
	}
	dials := c.dials()
	first := dials[0].Get(wire.NodeSecretHeader)
	for i, h := range dials[1:] {
		if h.Get("Authorization") != "Bearer "+first || h.Get(wire.NodeSecretHeader) != "" {
			t.Fatalf("restart %d did not show the same secret as the first start", i+1)
		}
	}
	if len(boots) != 100 || len(dials) != 100 {
		t.Errorf("%d boot ids in %d dials, want 100 of each", len(boots), len(dials))
	}
}

func TestEnroll_LostWelcomeIsRetriedWithTheSameSecret(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	begin(t, testConfig(t, c.server.URL))
	c.next().conn.CloseNow() // the server has registered the node, and its answer is lost
	c.welcome()
	dials := c.dials()
	if len(dials) != 2 || dials[0].Get(wire.NodeSecretHeader) != dials[1].Get(wire.NodeSecretHeader) || !strings.HasPrefix(dials[1].Get("Authorization"), "License ") {
		t.Errorf("second dial is not the first one again")
	}
}

func TestCase_N6_ForgottenSessionIsOpenedAnew(t *testing.T) {
	c := newControl(t, nil)
	begin(t, testConfig(t, c.server.URL))
	s := c.welcome()
	s.ackWith(func(wire.Heartbeat) *wire.HeartbeatAck { return &wire.HeartbeatAck{OK: false} })
	again := c.welcome()
	if again.hello.BootID != s.hello.BootID || again.hello.LastEpoch != 1 {
		t.Errorf("second hello %+v, want the same process and the epoch of the first session", again.hello)
	}
}

func TestCase_N39_ServerMayComeLater(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.39.1:0") // an address of its own: nobody takes its port meanwhile
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	n := begin(t, testConfig(t, "http://"+address))
	await(t, "a failed dial", func() bool { return strings.Contains(n.snapshot(), "no connection") })
	for range 3 {
		if listener, err = net.Listen("tcp", address); err != nil {
			t.Fatal(err)
		}
		c := newControl(t, listener)
		c.welcome().conn.CloseNow()
		c.server.Close()
	}
}

func TestCase_N2_MuteServerIsLeft(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.RPCTimeout = settings.Duration(time.Second)
	began := time.Now()
	begin(t, cfg)
	mute := c.next() // it has sent hello and hears nothing
	select {
	case <-mute.conn.Closed():
		if took := time.Since(began); took < time.Duration(cfg.RPCTimeout) {
			t.Errorf("the agent left after %v, rpc_timeout is %v", took, cfg.RPCTimeout)
		}
	case <-time.After(patience):
		t.Fatal("the agent went on waiting for a welcome")
	}
	c.welcome()
}

func TestCase_N1_UnacknowledgedHeartbeatsEndTheSession(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	begin(t, testConfig(t, c.server.URL))
	s := c.welcome()
	s.ackWith(nil)
	c.welcome()
}

func TestCase_N16_MuteBetweenAcceptAndStartFreesTheSlot(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.Slots, cfg.startTimeout = 1, 2*time.Second
	begin(t, cfg)
	s := c.welcome()
	s.send(offerOf(1, "tool", toolPayload("until", t.TempDir())))
	expect[wire.Accept](s)
	s.beat("the accepted attempt", func(b wire.Heartbeat) bool { return len(b.Running) == 1 && b.Running[0].Phase == wire.PhaseAccepted })
	s.beat("a free slot", func(b wire.Heartbeat) bool { return len(b.Running) == 0 })
	dir := t.TempDir()
	s.send(wire.Start{Job: jobID(1), Attempt: 1}) // too late: it must not run
	s.run(offerOf(2, "tool", toolPayload("until", dir)))
	release(t, dir)
	r := expect[wire.Result](s)
	if r.Job != jobID(2) || r.Status != wire.ResultSucceeded {
		t.Errorf("result %+v", r)
	}
	s.ackResult(r, wire.VerdictStored)
}

func TestCase_N14_OfferBeyondSlotsIsDeclined(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.Slots = 1
	begin(t, cfg)
	s, dir := c.welcome(), t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("until", dir)))
	s.send(offerOf(2, "tool", toolPayload("until", dir)))
	if d := expect[wire.Decline](s); d.Job != jobID(2) || d.Reason != "no_slot" {
		t.Errorf("declined %+v", d)
	}
	release(t, dir)
	r := expect[wire.Result](s)
	if r.Job != jobID(1) || r.Status != wire.ResultSucceeded {
		t.Errorf("result %+v", r)
	}
	s.ackResult(r, wire.VerdictStored)
}

func TestBadParams_FailTheJobAndNotTheNode(t *testing.T) {
	c := newControl(t, nil)
	begin(t, testConfig(t, c.server.URL))
	s := c.welcome()
	s.run(offerOf(1, "tool", toolPayload("rm -rf", "/")))
	r := expect[wire.Result](s)
	if r.Status != wire.ResultFailed || r.Reason != "bad_params" || !strings.Contains(r.Detail, "mode") {
		t.Errorf("result %+v", r)
	}
	s.ackResult(r, wire.VerdictStored)
}

func TestCase_E1_CancelsReachAToolThatIgnoresTerm(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	begin(t, testConfig(t, c.server.URL))
	s, dir := c.welcome(), t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("stubborn", dir)))
	pid := started(t, dir)
	for range 100 {
		s.send(wire.Cancel{Job: jobID(1), Attempt: 1, GraceMs: 1000})
	}
	s.beat("the attempt stopping", func(b wire.Heartbeat) bool { return len(b.Running) == 1 && b.Running[0].Phase == wire.PhaseStopping })
	r := expect[wire.Result](s)
	if r.Status != wire.ResultCanceled {
		t.Errorf("result %+v", r)
	}
	if lives(pid) {
		t.Errorf("process %d survived the cancel", pid)
	}
	s.ackResult(r, wire.VerdictCanceled)
	s.beat("an empty spool", func(b wire.Heartbeat) bool { return b.Spooled == 0 && len(b.Running) == 0 })
	select {
	case again := <-s.inbox:
		t.Errorf("after the verdict: %+v", again)
	default:
	}
}

func TestReconnect_WorkGoesOnAndIsReportedUnderTheNewSession(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	begin(t, testConfig(t, c.server.URL))
	s, dir := c.welcome(), t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("until", dir)))
	started(t, dir)
	s.conn.CloseNow()
	s = c.welcome()
	if w := s.hello.Running; len(w) != 1 || w[0].Job != jobID(1) || w[0].Phase != wire.PhaseRunning {
		t.Errorf("hello lists %+v", w)
	}
	release(t, dir)
	first := expect[wire.Result](s)
	s.conn.CloseNow() // the verdict is lost
	s = c.welcome()
	if s.hello.Spooled != 1 || len(s.hello.Running) != 0 {
		t.Errorf("hello %+v, want one spooled", s.hello)
	}
	again := expect[wire.Result](s)
	if again.Job != first.Job || again.Status != first.Status {
		t.Errorf("handed in %+v, then %+v", first, again)
	}
	s.ackResult(again, wire.VerdictDuplicate)
}

func TestVoid_InWelcomeEndsTheWork(t *testing.T) {
	c := newControl(t, nil)
	begin(t, testConfig(t, c.server.URL))
	s, dir := c.welcome(), t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("stubborn", dir)))
	pid := started(t, dir)
	s.conn.CloseNow()
	s = c.welcome(wire.AttemptRef{Job: jobID(1), Attempt: 1})
	s.beat("nothing running", func(b wire.Heartbeat) bool { return len(b.Running) == 0 && b.Spooled == 0 })
	if lives(pid) {
		t.Errorf("voided process %d lives", pid)
	}
}

func TestCase_N17_KilledAgentTakesItsPlaceAgain(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	config := configFile(t, cfg)
	kill := spawn(t, config)
	s, dir := c.welcome(), t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("until", dir)))
	pid := started(t, dir)
	release(t, dir)
	r := expect[wire.Result](s)
	s.run(offerOf(2, "tool", toolPayload("stubborn", dir)))
	await(t, "the second job", func() bool { return len(pidsIn(dir)) == 2 })
	first := s.hello
	kill()
	spawn(t, config)
	s = c.welcome()
	if h := s.hello; h.BootID == first.BootID || h.LastEpoch != 1 || len(h.Running) != 0 || h.Spooled != 1 {
		t.Errorf("hello after kill -9: %+v, want a new boot, nothing running, one result spooled", h)
	}
	if again := expect[wire.Result](s); again.Job != r.Job || again.Status != wire.ResultSucceeded {
		t.Errorf("handed in %+v", again)
	}
	for _, p := range pidsIn(dir) {
		if p != pid && lives(p) {
			t.Errorf("process %d of the killed agent lives", p)
		}
	}
	if h := c.dials()[1]; !strings.HasPrefix(h.Get("Authorization"), "Bearer ") {
		t.Error("the restarted agent did not show its secret")
	}
}

func TestRefusedCredential_NeverLeadsToAnEnrollment(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	n := begin(t, cfg)
	s := c.welcome()
	s.beat("anything", func(wire.Heartbeat) bool { return true })
	n.stop()
	c.mu.Lock()
	c.refuse = http.StatusUnauthorized
	c.mu.Unlock()
	n = begin(t, cfg)
	await(t, "the refusal", func() bool { return strings.Contains(n.snapshot(), "secret is not accepted any more") })
	if s, err := AskStatus(t.Context(), cfg); err != nil || s.Refusal == nil || s.Refusal.Code != "401" || !strings.Contains(s.Refusal.Advice, "join anew") {
		t.Errorf("status %+v, %v", s, err)
	}
	n.stop()
	if dials := c.dials(); len(dials) != 2 || !strings.HasPrefix(dials[1].Get("Authorization"), "Bearer ") {
		t.Errorf("%d dials; the last showed %q", len(dials), strings.Fields(dials[len(dials)-1].Get("Authorization"))[0])
	}
}

func TestRefusedSecret_AfterTheUpgradeSaysWhatToDo(t *testing.T) {
	c := newControl(t, nil)
	n := begin(t, testConfig(t, c.server.URL))
	c.next().send(wire.Refused{Code: wire.CodeSecretRefused, Detail: "the secret was replaced"})
	await(t, "the log's line", func() bool { return strings.Contains(n.snapshot(), "secret is not accepted any more") })
	n.stop()
}

func TestDuplicateIdentity_IsRetriedSlowlyAndNeverEnrolledAnew(t *testing.T) {
	refused := func(s *session) {
		s.send(wire.Refused{Code: wire.CodeDuplicate, Detail: "another machine says it is edge-1"})
	}
	closed := func(s *session) { s.conn.Close(wire.CloseDuplicateNode, "duplicate identity") }
	for name, end := range map[string]func(*session){"refused": refused, "closed": closed} {
		t.Run(name, func(t *testing.T) {
			c := newControl(t, nil)
			cfg := testConfig(t, c.server.URL)
			n := begin(t, cfg)
			s := c.welcome()
			s.beat("anything", func(wire.Heartbeat) bool { return true })
			s.conn.CloseNow()
			end(c.next())
			await(t, "the log's line", func() bool { return strings.Contains(n.snapshot(), "used by another machine") })
			got, err := AskStatus(t.Context(), cfg)
			if err != nil || got.Session == SessionOpen || got.Refusal == nil || got.Refusal.Code != wire.CodeDuplicate ||
				got.Refusal.Advice != duplicateAdvice || got.Refusal.Since.IsZero() {
				t.Errorf("status %+v, %v", got, err)
			}
			n.stop() // it would dial again within milliseconds
			if dials := c.dials(); len(dials) != 2 || !strings.HasPrefix(dials[1].Get("Authorization"), "Bearer ") {
				t.Errorf("%d dials, the last with %q", len(dials), strings.Fields(dials[len(dials)-1].Get("Authorization"))[0])
			}
		})
	}
}

func TestPlannedRedial_OfTheServer(t *testing.T) {
	c := newControl(t, nil)
	begin(t, testConfig(t, c.server.URL))
	s := c.welcome()
	s.ackWith(func(wire.Heartbeat) *wire.HeartbeatAck {
		return &wire.HeartbeatAck{OK: true, Reconnect: &wire.Reconnect{DelayMs: 50}}
	})
	c.welcome()
}

func TestStart_Refuses(t *testing.T) {
	c := newControl(t, nil)
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no credential": {func(c *Config) { c.license = "" }, "license_file"},
		"shared state directory": {func(c *Config) {
			if err := os.MkdirAll(c.StateDir, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "chmod 700"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t, c.server.URL)
			tc.change(&cfg)
			err := New(cfg, discard()).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

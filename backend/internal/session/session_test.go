package session

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/rest"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

func TestUpgrade_RefusesByShapeBeforeAnyLookup(t *testing.T) {
	r := newRig(t, nil)
	secret, code := enroll.NewNodeSecret().Text, enroll.NewLicenseCode().Text
	for name, authorization := range map[string]string{
		"none": "", "API token": "Bearer " + enroll.NewTokenSecret().Text, "junk": "Bearer x", "basic": "Basic " + basic("a"),
		"license code as secret": "Bearer " + code, "license without a secret": "License " + code, "secret as license": "License " + secret,
	} {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url, nil)
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var problem rest.Problem
		err = json.NewDecoder(answer.Body).Decode(&problem)
		_ = answer.Body.Close()
		if answer.StatusCode != 401 || err != nil || problem.Code != "unauthenticated" || problem.Status != 401 || problem.Detail == "" ||
			answer.Header.Get("Content-Type") != rest.ProblemType || answer.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %+v %v", name, answer.StatusCode, problem, err)
		}
	}
	if r.store.lookups != 0 {
		t.Errorf("%d look-ups", r.store.lookups)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestUpgrade_HasABudget(t *testing.T) {
	frozen := time.Now()
	r := newRig(t, func(c *Config) { c.AgentsPerSecond = 2; c.Now = func() time.Time { return frozen } })
	secret := r.node("ams-1")
	r.dial(bearer(secret))
	r.dial(bearer(secret))
	_, err := wsconn.Dial(t.Context(), r.url, wsconn.DialOptions{Header: bearer(secret)})
	var refused *wsconn.Refusal
	if !errors.As(err, &refused) || refused.Status != 503 || refused.RetryAfter < time.Second {
		t.Errorf("over the budget: %v", err)
	}
	// What is no credential takes nothing of it and is told so.
	_, err = wsconn.Dial(t.Context(), r.url, wsconn.DialOptions{})
	if !errors.As(err, &refused) || refused.Status != 401 {
		t.Errorf("without a credential: %v", err)
	}
	if n := r.hub.Counts().OverBudget; n != 1 {
		t.Errorf("%d over budget, want 1", n)
	}
}

func TestHello_WelcomesWithTheServersLimitsAndTimes(t *testing.T) {
	r := newRig(t, nil)
	a := r.dial(r.byLicense(enroll.NewNodeSecret()))
	hello := helloFrom("ams-1")
	hello.Capacity = wire.Capacity{Slots: 60, Memory: []wire.Amount{{Name: "vram0", Amount: 8}, {Name: "ram", Amount: 4}, {Name: "none"}}}
	hello.Runners = []string{"vmaf", "checksum", "vmaf"}
	hello.Running = []wire.RunningWork{{Job: job(3).String(), Attempt: 2, Phase: wire.PhaseStopping, Percent: 40}}
	hello.Spooled = 5
	a.say(hello)
	welcome := hear[wire.Welcome](a)
	if welcome.Proto != 1 || welcome.NodeID != "ams-1" || welcome.Epoch != 1 || welcome.Pool != "pool-7" ||
		welcome.Limits != wire.DefaultLimits() || welcome.Times.Lost != 90_000 {
		t.Errorf("welcome %+v", welcome)
	}
	event := r.loop.hellos[0]
	report := event.Report
	if report.Capacity.Slots != 8 || !slices.Equal(report.Capacity.Memory, []fleet.Quantity{{Name: "ram", Amount: 4}, {Name: "vram0", Amount: 8}}) {
		t.Errorf("capacity %+v, want the license's 8 slots and sorted memory", report.Capacity)
	}
	if !slices.Equal(report.Runners, []string{"checksum", "vmaf"}) || report.RemoteAddr != "127.0.0.1" {
		t.Errorf("report %+v", report)
	}
	if want := (core.Running{Job: job(3), Attempt: 2, Phase: core.PhaseStopping, Percent: 40}); event.Spooled != 5 || event.Running[0] != want {
		t.Errorf("event %+v", event)
	}
}

func TestHello_IsWaitedForOnlySoLong(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HelloTimeout = 20 * time.Millisecond })
	if code := r.dial(bearer(r.node("ams-1"))).ended(); code != wire.CloseHelloTimeout {
		t.Errorf("closed with %s", code)
	}
	if told := r.loop.events(); len(told) != 0 {
		t.Errorf("the loop was told %v", told)
	}
}

func TestHello_RefusalsHaveTheirCodes(t *testing.T) {
	bad := func(change func(*wire.Hello)) wire.Hello {
		hello := helloFrom("ams-1")
		change(&hello)
		return hello
	}
	cases := []struct {
		name     string
		hello    wire.Hello
		registry error
		away     error
		code     fleet.Code
		closing  wire.CloseCode
		fatal    bool
	}{
		{"a newer protocol only", bad(func(h *wire.Hello) { h.ProtoMin, h.ProtoMax = 7, 9 }), nil, nil, fleet.CodeVersion, wire.CloseVersion, true},
		{"a bad field", bad(func(h *wire.Hello) { h.BootID = "" }), nil, nil, fleet.CodeBadMessage, wire.CloseBadMessage, true},
		{"a role that is not the license's", bad(func(h *wire.Hello) { h.Role = "origin" }), nil, nil, fleet.CodeLicenseRefused, wire.CloseRevoked, true},
		{"a full license", helloFrom("ams-1"), fleet.Errorf(fleet.CodeLicenseLimit, "full"), nil, fleet.CodeLicenseLimit, wire.CloseLicenseLimit, false},
		{"a taken id", helloFrom("ams-1"), fleet.Errorf(fleet.CodeNodeIDTaken, "taken"), nil, fleet.CodeNodeIDTaken, wire.CloseLicenseLimit, true},
		{"no database at registration", helloFrom("ams-1"), fleet.Errorf(fleet.CodeUnavailable, "away"), nil, fleet.CodeUnavailable, wire.CloseRestart, false},
		{"no database in the loop", helloFrom("ams-1"), nil, fleet.Errorf(fleet.CodeUnavailable, "away"), fleet.CodeUnavailable, wire.CloseRestart, false},
		{"one hello too many", helloFrom("ams-1"), nil, &fleet.Error{Code: fleet.CodeRateLimited, RetryAfter: 12_000}, fleet.CodeRateLimited, wire.CloseRateLimited, false},
		{"a fault of ours", helloFrom("ams-1"), errors.New("secret SQL"), nil, fleet.CodeInternal, wire.CloseRestart, false},
	}
	for _, c := range cases {
		r := newRig(t, nil)
		r.store.registry, r.loop.away = c.registry, c.away
		a := r.dial(r.byLicense(enroll.NewNodeSecret()))
		a.say(c.hello)
		refused := hear[wire.Refused](a)
		if code := a.ended(); refused.Code != string(c.code) || refused.Fatal != c.fatal || code != c.closing || refused.Detail == "secret SQL" {
			t.Errorf("%s: %+v, then %s", c.name, refused, code)
		}
		if known, ok := c.away.(*fleet.Error); ok && refused.RetryAfterMs != int64(known.RetryAfter) {
			t.Errorf("%s: told to wait %d ms", c.name, refused.RetryAfterMs)
		}
		if told := r.loop.events(); len(told) != 0 {
			t.Errorf("%s: the loop was told %v", c.name, told)
		}
	}
}

// A node sends its result until it is acknowledged: one that can't be kept ends
// the attempt, and neither the session nor the database trips over it.
func TestResult_OutputThatIsNoDocumentFailsTheAttempt(t *testing.T) {
	r := newRig(t, nil)
	a := r.join("ams-1", r.node("ams-1"))
	outputs := []string{"{", "{}{}", "{\"a\":\"\xff\"}", strings.Repeat("[", 20000) + strings.Repeat("]", 20000)}
	for i, output := range outputs {
		a.say(wire.Result{Job: job(byte(i + 1)).String(), Attempt: 1, Status: wire.ResultSucceeded, Output: []byte(output)})
	}
	r.loop.await(t, fmt.Sprintf("result ams-1 1 %s/1", job(byte(len(outputs)))))
	for i, got := range r.loop.result {
		if got.Status != fleet.ResultFailed || got.Cause != fleet.CauseOutputMissing || got.Output != nil || got.Detail == "" {
			t.Errorf("%.20q became %+v", outputs[i], got)
		}
	}
}

func TestMessages_BecomeEventsOfTheLoop(t *testing.T) {
	r := newRig(t, nil)
	a := r.join("ams-1", r.node("ams-1"))
	id := job(1).String()
	result := wire.Result{Job: id, Attempt: 2, Status: wire.ResultFailed, Reason: "made_up", Detail: "no\x1b[31m", ExitCode: new(int64(3)), Output: []byte(`{"a":1}`)}
	a.say(
		wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}},
		wire.Accept{Job: id, Attempt: 1}, wire.Decline{Job: id, Attempt: 1, Reason: "busy\n"}, wire.Progress{Job: id, Attempt: 2, Percent: 40},
		result, wire.Inventory{Rev: 4, Platform: "Debian\n12", ArtifactDisk: wire.DiskSpace{Total: 9, Free: 3}, Stale: true},
		wire.Error{Code: "x"}, wire.Goodbye{Kind: wire.GoodbyeUpgrade},
	)
	r.loop.await(t, "closed ams-1 1")
	want := []string{
		"hello ams-1 1", "heartbeat ams-1 1 accepting=true", "accept ams-1 1 " + id + "/1", "decline ams-1 1 " + id + "/1 busy ",
		"progress ams-1 1 " + id + "/2 40", "result ams-1 1 " + id + "/2",
		"inventory ams-1 1 rev=4 Debian 12 disk=3/9 stale=true", "goodbye ams-1 1 upgrade", "closed ams-1 1",
	}
	told := slices.DeleteFunc(r.loop.events(), func(s string) bool { return s == "alive ams-1 1" })
	if !slices.Equal(told, want) {
		t.Errorf("told %q\nwant %q", told, want)
	}
	if code := a.ended(); code != wire.CloseNormal {
		t.Errorf("after goodbye: %s", code)
	}
	got := r.loop.result[0]
	if got.Status != fleet.ResultFailed || got.Cause != fleet.CauseExitCode || got.Detail != "no[31m" || *got.ExitCode != 3 {
		t.Errorf("result %+v", got)
	}
	messages, _ := wire.DecodeFrame(frameOf(t, result), wire.DefaultLimits())
	if got.Digest != sha256.Sum256(messages[0].Body) {
		t.Error("the digest is not that of the body as sent")
	}
}

func TestMessages_OfAnUnknownTypeAreAnsweredWhenAsked(t *testing.T) {
	r := newRig(t, nil)
	a := r.dialRaw(bearer(r.node("ams-1")))
	a.send(frameOf(t, helloFrom("ams-1")))
	a.receive()
	a.send([]byte("\x91\x82\xa1t\xa6future\xa1b\x80"))
	a.send([]byte("\x91\x83\xa1t\xa6future\xa1i\xa27a\xa1b\x80"))
	messages, _ := a.receive()
	answer, err := wire.Decode[wire.Error](messages[0])
	if err != nil || answer.Code != wire.CodeUnknownType || answer.Fatal || messages[0].ReplyTo != "7a" {
		t.Errorf("answer %+v to %q, %v", answer, messages[0].ReplyTo, err)
	}
	if n := r.hub.Counts().UnknownTypes; n != 2 {
		t.Errorf("%d counted, want 2", n)
	}
	r.loop.await(t, "alive ams-1 1")
}

func TestCase_N17_ANewSessionTakesOverAndTheOldOnesEndTouchesNothing(t *testing.T) {
	r := newRig(t, nil)
	secret := r.node("ams-1")
	old := r.join("ams-1", secret)
	fresh := r.join("ams-1", secret)
	if code := old.ended(); code != wire.CloseSuperseded {
		t.Errorf("the old session ended with %s", code)
	}
	r.loop.await(t, "closed ams-1 1")
	r.hub.Deliver([]core.Send{
		{Kind: core.SendStart, Node: "ams-1", Epoch: 1, Job: job(1), Attempt: 1}, // of the past: dropped
		{Kind: core.SendStart, Node: "ams-1", Epoch: 2, Job: job(2), Attempt: 1},
	})
	if start := hear[wire.Start](fresh); start.Job != job(2).String() {
		t.Errorf("the new session got %+v", start)
	}
	if told := r.loop.events(); slices.Contains(told, "closed ams-1 2") {
		t.Errorf("the new session was closed: %v", told)
	}
	r.awaitOpen(1) // the old one is counted out after the loop was told of its end
}

// awaitOpen waits until so many connections are open.
func (r *rig) awaitOpen(want int64) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for n := r.hub.Counts().Open; n != want; n = r.hub.Counts().Open {
		if time.Now().After(deadline) {
			r.t.Fatalf("%d connections are open, want %d", n, want)
		}
		runtime.Gosched()
	}
}

func TestDeliver_MakesMessagesOfSends(t *testing.T) {
	r := newRig(t, func(c *Config) { c.OfferTimeout = 7 * time.Second })
	a := r.join("ams-1", r.node("ams-1"))
	send := func(s core.Send) {
		s.Node, s.Epoch, s.Job, s.Attempt = "ams-1", 1, job(1), 2
		r.hub.Deliver([]core.Send{s})
	}
	id := job(1).String()
	send(core.Send{Kind: core.SendOffer, Spec: &fleet.JobSpec{
		App: "cam", Runner: "vmaf", Backend: "cpu", Params: []fleet.Label{{Name: "threads", Value: "1"}},
		Inputs:  []fleet.Input{{Name: "ref", Digest: "sha256:" + strings.Repeat("a", 64), Size: 3}},
		Demands: fleet.Vector{Slots: 1, Memory: []fleet.Quantity{{Name: "ram", Amount: 512}}}, RunTimeoutMs: 60_000,
	}})
	offer := hear[wire.Offer](a)
	if offer.Job != id || offer.Attempt != 2 || offer.App != "cam" || offer.Payload.Params[0].Value != "1" || offer.Payload.Inputs[0].Size != 3 ||
		offer.Demands.Memory[0].Amount != 512 || offer.Limits.RunMs != 60_000 || offer.DeadlineMs != 7000 {
		t.Errorf("offer %+v", offer)
	}
	send(core.Send{Kind: core.SendVoid})
	if void := hear[wire.Void](a); void != (wire.Void{Job: id, Attempt: 2}) {
		t.Errorf("void %+v", void)
	}
	send(core.Send{Kind: core.SendCancel, GraceMs: 500})
	if cancel := hear[wire.Cancel](a); cancel != (wire.Cancel{Job: id, Attempt: 2, GraceMs: 500}) {
		t.Errorf("cancel %+v", cancel)
	}
	for verdict, want := range verdicts {
		send(core.Send{Kind: core.SendResultAck, Verdict: core.Verdict(verdict)})
		if ack := hear[wire.ResultAck](a); ack.Verdict != want {
			t.Errorf("result_ack %+v, want %s", ack, want)
		}
	}
	many := make([]core.Attempt, wire.MaxRefs+5)
	for i := range many {
		many[i] = core.Attempt{Job: job(1), Attempt: int32(i + 1), GraceMs: 9}
	}
	send(core.Send{Kind: core.SendHeartbeatAck, Ack: &core.HeartbeatAck{
		OK: true, Holds: []fleet.Hold{{Kind: fleet.HoldDrain, Owner: "operator", Reason: "disk"}}, Cancel: many, Void: many,
	}})
	ack := hear[wire.HeartbeatAck](a)
	if !ack.OK || ack.LeaseMs != 25_000 || ack.Holds[0].Kind != "drain" || len(ack.Cancel) != wire.MaxRefs || len(ack.Void) != wire.MaxRefs || ack.Cancel[0].GraceMs != 9 {
		t.Errorf("heartbeat_ack ok=%v lease=%d holds=%v cancels=%d voids=%d", ack.OK, ack.LeaseMs, ack.Holds, len(ack.Cancel), len(ack.Void))
	}
	send(core.Send{Kind: core.SendError, Code: fleet.CodeNotYours, Detail: "another node's"})
	if e := hear[wire.Error](a); e.Code != "not_yours" || e.Detail != "another node's" {
		t.Errorf("error %+v", e)
	}
	send(core.Send{Kind: core.SendClose, Code: fleet.CodeForbidden, Detail: core.CloseRevoked})
	if code := a.ended(); code != wire.CloseRevoked {
		t.Errorf("closed with %s", code)
	}
}

func TestGateway_WorksUnderEcho(t *testing.T) {
	r := newRig(t, nil)
	router := echo.New()
	router.GET(wire.ChannelPath, echo.WrapHandler(r.gateway))
	r.serve(router)
	a := r.join("ams-1", r.node("ams-1"))
	a.say(wire.Heartbeat{Accepting: true})
	r.loop.await(t, "heartbeat ams-1 1 accepting=true")
}

// The request's goroutine and its buffers are gone; the session's own is left.
func TestSession_CostsOneGoroutineWhenIdle(t *testing.T) {
	r := newRig(t, nil)
	const sessions = 40
	before := runtime.NumGoroutine()
	for i := range sessions {
		id := fmt.Sprintf("n-%d", i)
		a := r.dialRaw(bearer(r.node(id)))
		a.send(frameOf(t, helloFrom(id)))
		a.receive()
	}
	overdue := time.Now().Add(patience)
	for runtime.NumGoroutine() > before+sessions+2 { // the server accepting, and slack for one that goes
		if time.Now().After(overdue) {
			t.Fatalf("%d goroutines for %d idle sessions", runtime.NumGoroutine()-before, sessions)
		}
		runtime.Gosched()
	}
}

package session

import (
	"bytes"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/enroll"
	"rockpool/shared/wire"
	"rockpool/shared/wire/wiretest"
	"rockpool/shared/wsconn"
)

func TestAttack_A01_ClaimedPoolsChangeNothing(t *testing.T) {
	r := newRig(t, nil)
	a := r.dialRaw(r.byLicense(enroll.NewNodeSecret()))
	a.send(withKeys(t, frameOf(t, helloFrom("ams-1")), "pool", "poolId", "pool_id", "userId", "tags"))
	r.loop.await(t, "hello ams-1 1")

	if node := r.loop.put[0]; node.Pool != "pool-7" || node.Owner != 7 {
		t.Errorf("the node stands in %s of user %d", node.Pool, node.Owner)
	}
	counts := r.hub.Counts()
	if counts.ClaimedKeys != 4 || counts.UnknownKeys != 5 {
		t.Errorf("counted %d claims of %d unknown keys, want 4 of 5", counts.ClaimedKeys, counts.UnknownKeys)
	}
	want := core.AuditNote{Action: "claimed_pool_ignored", Node: "ams-1", Detail: "pool, poolId, pool_id, userId"}
	if notes := r.loop.notes(); !slices.Equal(notes, []core.AuditNote{want}) {
		t.Errorf("audited %+v", notes)
	}
}

func TestCase_A3_OneAuditEntryASessionHoweverOftenItClaims(t *testing.T) {
	r := newRig(t, nil)
	a := r.dialRaw(bearer(r.node("ams-1")))
	hello := helloFrom("ams-1")
	hello.Role = "origin" // the record says edge
	hello.Labels = []wire.Pair{{Name: "rack", Value: "b2"}, {Name: "pool", Value: "pool-1"}, {Name: "rockpool.canary", Value: "1"}}
	a.send(withKeys(t, frameOf(t, hello), "pool_id"))
	beat := withKeys(t, frameOf(t, wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}}), "pool")
	a.send(beat)
	a.send(beat)
	a.send(frameOf(t, wire.Heartbeat{Health: wire.Health{OK: true}}))
	r.loop.await(t, "heartbeat ams-1 1 accepting=false")

	report := r.loop.hellos[0].Report
	if len(report.Labels) != 1 || report.Labels[0].Name != "rack" {
		t.Errorf("labels %+v, want rack alone", report.Labels)
	}
	var actions []string
	for _, note := range r.loop.notes() {
		actions = append(actions, note.Action)
	}
	if !slices.Equal(actions, []string{"claimed_pool_ignored", "claimed_role_ignored"}) {
		t.Errorf("audited %v", actions)
	}
	if n := r.hub.Counts().ClaimedKeys; n != 5 {
		t.Errorf("%d claims counted, want 5", n)
	}
}

func TestAttack_A15_NothingIsHeardBeforeHello(t *testing.T) {
	r := newRig(t, nil)
	secret := r.node("ams-1")
	id := job(1).String()
	for _, body := range []wire.Body{
		wire.Heartbeat{Accepting: true}, wire.Progress{Job: id, Attempt: 1}, wire.Accept{Job: id, Attempt: 1},
		wire.Decline{Job: id, Attempt: 1}, wire.Result{Job: id, Attempt: 1, Status: wire.ResultSucceeded},
		wire.Goodbye{Kind: wire.GoodbyeLeft}, wire.Error{Code: "x"}, wire.Welcome{Proto: 1},
	} {
		a := r.dialRaw(bearer(secret))
		a.send(frameOf(t, body))
		if before, code := a.until(); code != wire.CloseBadMessage || !slices.Equal(before, []wire.Type{wire.TypeError}) {
			t.Errorf("%s first: %v, then %s", body.Type(), before, code)
		}
	}
	if told := r.loop.events(); len(told) != 0 {
		t.Errorf("the loop was told %v", told)
	}
}

// throw sends one hostile frame before and after hello, and wants 4002 for both
// at the cost of no more memory than two connections.
func (r *rig) throw(name string, secret enroll.Secret, frame []byte) {
	r.t.Helper()
	const most = 1 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	early := r.dialRaw(bearer(secret))
	early.send(frame)
	if _, code := early.until(); code != wire.CloseBadMessage {
		r.t.Errorf("%s before hello: %s", name, code)
	}
	late := r.dialRaw(bearer(secret))
	late.send(frameOf(r.t, helloFrom("ams-1")))
	late.receive()
	late.send(frame)
	if _, code := late.until(); code != wire.CloseBadMessage {
		r.t.Errorf("%s after hello: %s", name, code)
	}
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > most {
		r.t.Errorf("%s: %d bytes allocated", name, spent)
	}
}

func TestAttack_A19_BombsThroughTheSocket(t *testing.T) {
	r := newRig(t, nil)
	secret := r.node("ams-1")
	for name, bomb := range wiretest.Bombs(t) {
		r.throw(name, secret, bomb)
	}
	if counts := r.hub.Counts(); counts.BadMessages == 0 {
		t.Error("no bad message was counted")
	}
	r.join("ams-1", secret) // the server lives
}

func TestAttack_A21_MalformedFramesThroughTheSocket(t *testing.T) {
	r := newRig(t, nil)
	secret := r.node("ams-1")
	beat := frameOf(t, wire.Heartbeat{})
	body := func(pairs string) []byte { // a heartbeat with exactly these bytes as its body
		return append([]byte("\x91\x82\xa1t\xa9heartbeat\xa1b"), pairs...)
	}
	for name, frame := range map[string][]byte{
		"empty":                 {},
		"no list":               {0xc0},
		"an empty list":         {0x90},
		"trailing bytes":        append(bytes.Clone(beat), 0xc0),
		"cut off":               beat[:len(beat)-1],
		"duplicate envelope":    []byte("\x91\x82\xa1t\xa9heartbeat\xa1t\xa9heartbeat"),
		"duplicate key":         body("\x82\xa9accepting\xc3\xa9accepting\xc2"),
		"duplicate unknown key": body("\x82\xa1x\xc3\xa1x\xc2"),
		"ext type":              body("\x81\xa1x\xd4\x01\x00"),
		"timestamp":             body("\x81\xa1x\xd6\xff\x00\x00\x00\x00"),
		"invalid UTF-8":         body("\x81\xa6reason\xa2\xff\xfe"),
		"invalid UTF-8 key":     body("\x81\xa2\xff\xfe\xc0"),
		"key is no string":      body("\x81\x01\x01"),
		"__proto__":             body("\x81\xa9__proto__\x80"),
		"wrong type":            body("\x81\xa9accepting\x01"),
		"string for a list":     body("\x81\xa7running\xa1x"),
		"float":                 body("\x81\xa7spooled\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"),
		"integer over 2^53":     body("\x81\xa7spooled\xcf\x00\x20\x00\x00\x00\x00\x00\x00"),
		"negative count":        body("\x81\xa7spooled\xff"),
		"body is no map":        body("\x91\x01"),
		"no type":               []byte("\x91\x81\xa1b\x80"),
		"a type with controls":  []byte("\x91\x82\xa1t\xa2\x1b[\xa1b\x80"),
		"server's own message":  frameOf(t, wire.Start{Job: job(1).String(), Attempt: 1}),
		"attempt 0":             frameOf(t, wire.Accept{Job: job(1).String()}),
		"job is no id":          frameOf(t, wire.Accept{Job: "../1", Attempt: 1}),
	} {
		r.throw(name, secret, frame)
	}
	late := r.join("ams-1", secret)
	late.say(helloFrom("ams-1")) // a second hello
	if code := late.ended(); code != wire.CloseBadMessage {
		t.Errorf("second hello: %s", code)
	}
	bad := r.dialRaw(bearer(secret))
	bad.send(withKeys(t, frameOf(t, helloFrom("ams-1")), "proto_min")) // stands there twice now
	if _, code := bad.until(); code != wire.CloseBadMessage {
		t.Errorf("hello with a key twice: %s", code)
	}
	r.join("ams-1", secret)
}

func TestCase_N45_AForgerDoesNotTouchTheLiveSession(t *testing.T) {
	frozen := time.Now() // nobody may guess again because time has passed
	r := newRig(t, func(c *Config) { c.Now = func() time.Time { return frozen } })
	secret := r.node("ams-1")
	live := r.join("ams-1", secret)
	statuses := map[int]int{}
	for range 40 {
		_, err := wsconn.Dial(t.Context(), r.url, wsconn.DialOptions{Header: bearer(enroll.NewNodeSecret())})
		var refused *wsconn.Refusal
		if !errors.As(err, &refused) {
			t.Fatalf("a wrong secret: %v", err)
		}
		statuses[refused.Status]++
		if refused.Status == http.StatusTooManyRequests && refused.RetryAfter < time.Second {
			t.Errorf("held back without a Retry-After")
		}
	}
	if statuses[401] < 20 || statuses[429] < 10 || statuses[401]+statuses[429] != 40 {
		t.Errorf("answers by status: %v", statuses)
	}
	if n := r.hub.Counts().Refused; n != 40 {
		t.Errorf("%d refusals counted, want 40", n)
	}
	live.say(wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}})
	r.loop.await(t, "heartbeat ams-1 1 accepting=true")
	if told := r.loop.events(); slices.Contains(told, "closed ams-1 1") {
		t.Errorf("the live session was touched: %v", told)
	}
	r.join("ams-1", secret) // and its owner may dial anew from the same address
}

func TestAttack_A30_APeerThatNeverReadsIsClosed(t *testing.T) {
	r := newRig(t, nil)
	a := r.dialRaw(bearer(r.node("ams-1")))
	a.send(frameOf(t, helloFrom("ams-1")))
	a.receive()
	flood := core.Send{Kind: core.SendError, Node: "ams-1", Epoch: 1, Detail: strings.Repeat("x", 60<<10)}
	before := heap()
	for range 10_000 { // 600 MB, if anybody kept it
		if r.hub.Deliver([]core.Send{flood}); r.hub.Counts().SlowConsumers > 0 {
			break
		}
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d KiB are held for it", grown>>10)
	}
	r.loop.await(t, "closed ams-1 1")
	if n := r.hub.Counts().SlowConsumers; n != 1 {
		t.Errorf("%d slow consumers, want 1", n)
	}
}

// heap is what is alive, in bytes.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

package session

import (
	"testing"

	"rockpool/shared/wire"
)

// TestCase_N28_AFailedHandshakeLeavesNothingBehind: each step in turn, and then the
// same node comes as if nothing had been.
func TestCase_N28_AFailedHandshakeLeavesNothingBehind(t *testing.T) {
	r := newRig(t, nil)
	secret := r.node("ams-1")
	for name, fail := range map[string]func(){
		"cut after the upgrade": func() { r.dial(bearer(secret)).conn.CloseNow() },
		"no frame":              func() { w := r.dialRaw(bearer(secret)); w.send([]byte("\xc1")); w.hearAll() },
		"another message first": func() { a := r.dial(bearer(secret)); a.say(wire.Heartbeat{}); a.ended() },
		"a bad hello":           func() { a := r.dial(bearer(secret)); a.say(wire.Hello{}); a.ended() },
		"another protocol": func() {
			hello := helloFrom("ams-1")
			hello.ProtoMin, hello.ProtoMax = 7, 7
			a := r.dial(bearer(secret))
			a.say(hello)
			a.ended()
		},
		"cut after hello": func() {
			a := r.dial(bearer(secret))
			a.say(helloFrom("ams-1"))
			hear[wire.Welcome](a)
			a.conn.CloseNow()
		},
	} {
		fail()
		a := r.join("ams-1", secret)
		a.say(wire.Goodbye{Kind: wire.GoodbyeStop})
		if code := a.ended(); code != wire.CloseNormal {
			t.Errorf("%s: the next session ended %s", name, code)
		}
	}
}

package session

import (
	"crypto/sha256"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
)

// A welcome brings a new value each time, and the loop hears of sums alone.
func TestChain_EachWelcomeBringsAnother(t *testing.T) {
	r := newRig(t, nil)
	secret := r.node("ams-1")
	chain := ""
	for range 3 {
		a := r.dial(bearer(secret))
		hello := helloFrom("ams-1")
		hello.Chain, hello.LastEpoch = chain, 41
		a.say(hello)
		welcome := hear[wire.Welcome](a)
		ev := r.loop.hellos[len(r.loop.hellos)-1]
		var shown fleet.Sum
		if chain != "" {
			shown = sha256.Sum256([]byte(chain))
		}
		if len(welcome.Chain) != 64 || welcome.Chain == chain || ev.Chain != shown || ev.ChainNext != sha256.Sum256([]byte(welcome.Chain)) {
			t.Fatalf("after %q the welcome brings %q, the loop heard %x and %x", chain, welcome.Chain, ev.Chain, ev.ChainNext)
		}
		if ev.Secret != secret.Sum || ev.LastEpoch != 41 || len(ev.Claimant) != 8 {
			t.Errorf("the loop heard %+v", ev)
		}
		chain = welcome.Chain
	}
}

func TestCase_N8_ADuplicateIsRefusedAndToldToWait(t *testing.T) {
	r := newRig(t, nil)
	a := r.join("ams-1", r.node("ams-1"))
	r.hub.Deliver([]core.Send{
		{Kind: core.SendRotate, Node: "ams-1", Epoch: 1, Rotate: "rot-1"},
		{Kind: core.SendClose, Node: "ams-1", Epoch: 1, Code: fleet.CodeDuplicateIdentity, Detail: core.CloseDuplicate},
	})
	if rotate := hear[wire.Rotate](a); rotate.ID != "rot-1" {
		t.Errorf("asked for %+v", rotate)
	}
	if code := a.ended(); code != wire.CloseDuplicateNode || code.RetryAfter().Milliseconds() < int64(core.DuplicateWait) {
		t.Errorf("the session that stood ended with %s", code)
	}
	r.loop.away = &fleet.Error{Code: fleet.CodeDuplicateIdentity, Detail: "another process", RetryAfter: core.DuplicateWait}
	b := r.dial(r.byLicense(r.node("ams-2")))
	b.say(helloFrom("ams-2"))
	refused := hear[wire.Refused](b)
	if code := b.ended(); refused.Code != wire.CodeDuplicate || refused.RetryAfterMs < 60_000 || refused.Fatal || code != wire.CloseDuplicateNode {
		t.Errorf("refused with %+v, then %s", refused, code)
	}
}

package store

import (
	"testing"
	"time"

	"rockpool/backend/internal/record"
)

func TestBearers_AreAskedForAnewWhenOldOrChanged(t *testing.T) {
	sum, asked := [32]byte{1}, time.Now()
	expires := asked.Add(100 * time.Millisecond)
	keep := func(token record.Token) *bearers {
		b := newBearers()
		b.keep(sum, bearer{token: token}, b.changes.Load(), asked)
		return b
	}
	for _, c := range []struct {
		name  string
		token record.Token
		after time.Duration
		do    func(*bearers)
		known bool
	}{
		{name: "at once", known: true},
		{name: "before it is over", token: record.Token{ExpiresAt: &expires}, after: 99 * time.Millisecond, known: true},
		{name: "when it is over", token: record.Token{ExpiresAt: &expires}, after: 100 * time.Millisecond},
		{name: "old", after: bearerValid},
		{name: "by the first who finds it half as old", after: bearerRenew},
		{name: "after a change", do: (*bearers).changed},
	} {
		b := keep(c.token)
		if c.do != nil {
			c.do(b)
		}
		if _, known := b.of(sum, asked.Add(c.after)); known != c.known {
			t.Errorf("%s: known %v", c.name, known)
		}
	}
}

func TestBearers_OneAsksWhileOthersGoOn(t *testing.T) {
	b, sum, asked := newBearers(), [32]byte{1}, time.Now()
	b.keep(sum, bearer{}, b.changes.Load(), asked)
	now := asked.Add(bearerRenew)
	_, first := b.of(sum, now)
	_, second := b.of(sum, now)
	if first || !second {
		t.Errorf("the first is told %v, the second %v", first, second)
	}
	b.keep(sum, bearer{}, b.changes.Load(), now)
	if _, known := b.of(sum, now); !known {
		t.Error("what was asked anew is not known")
	}
}

func TestBearers_AChangeDuringTheQuestionIsNotOverlooked(t *testing.T) {
	b, sum, now := newBearers(), [32]byte{1}, time.Now()
	changes := b.changes.Load()
	b.changed()
	b.keep(sum, bearer{}, changes, now)
	if _, known := b.of(sum, now); known {
		t.Error("a token that was revoked while it was looked up is good")
	}
}

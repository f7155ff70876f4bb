package limit

import (
	"net/netip"
	"testing"
	"time"
)

var (
	clockNow = time.Unix(1e9, 0)
	here     = netip.MustParseAddr("192.0.2.1")
)

func TestAttack_A45_TheLimiterForgetsTheOldestAndNeverAll(t *testing.T) {
	l := New(1, time.Hour, 100, func() time.Time { return clockNow })
	guesser := netip.MustParseAddr("2001:db8::1")
	l.Take(guesser)
	for i := range 10_000 {
		l.Take(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
		if l.Wait(guesser) == 0 { // seen again and again: not the oldest
			t.Fatalf("forgotten after %d others", i)
		}
	}
	if n := l.buckets.Len(); n != 100 {
		t.Errorf("%d prefixes are kept", n)
	}
	if l.Wait(netip.MustParseAddr("2001:db8::ffff")) == 0 {
		t.Error("another address of the same /64 is somebody else")
	}
	if l.Wait(netip.MustParseAddr("10.0.0.0")) != 0 {
		t.Error("the oldest is still kept")
	}
}

func TestLimiter_Refills(t *testing.T) {
	now := clockNow
	l := New(2, time.Minute, 10, func() time.Time { return now })
	if !l.Take(here) || l.Wait(here) != 0 {
		t.Error("one of two is gone, and it waits")
	}
	if !l.Take(here) || l.Take(here) {
		t.Error("not two are let through")
	}
	if wait := l.Wait(here); wait != time.Minute {
		t.Errorf("waits %s", wait)
	}
	now = now.Add(time.Minute)
	if l.Wait(here) != 0 {
		t.Error("it did not refill")
	}
}

func TestPrefixOf_IsOneCustomer(t *testing.T) {
	for text, want := range map[string]string{
		"198.51.100.7": "198.51.100.7/32", "::ffff:198.51.100.7": "198.51.100.7/32",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := PrefixOf(netip.MustParseAddr(text)).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if PrefixOf(netip.Addr{}).IsValid() {
		t.Error("no address has a prefix")
	}
}

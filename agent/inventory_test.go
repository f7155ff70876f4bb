package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rockpool/shared/wire"
)

// told waits for the next inventory of a session.
func (s *session) told() wire.Inventory {
	s.t.Helper()
	select {
	case i := <-s.tells:
		return i
	case <-time.After(patience):
		s.t.Fatal("no inventory came")
		return wire.Inventory{}
	}
}

func TestInventory_IsToldOnceASession(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.Links = []Link{{Peer: "edge-2", Kind: "lan", Mbps: 1000}}
	begin(t, cfg)
	s := c.welcome()
	first := s.told()
	if first.Platform == "" || len(first.Archs) == 0 || first.Rev != 1 || len(first.Links) != 1 || first.Links[0].Bandwidth != 1000 || len(first.Commands) != 1 {
		t.Errorf("inventory %+v", first)
	}
	if status, err := AskStatus(t.Context(), cfg); err != nil || !slices.Equal(status.Isolation, first.Isolation) {
		t.Errorf("the inventory says that jobs are kept apart by %q, the status %q, %v", first.Isolation, status.Isolation, err)
	}
	for range 3 {
		s.beat("anything", func(wire.Heartbeat) bool { return true })
	}
	if len(s.tells) > 0 {
		t.Errorf("told again without a change: %+v", s.told())
	}
	s.conn.CloseNow()
	if again := c.welcome().told(); again.Rev != first.Rev {
		t.Errorf("the next session hears of revision %d, want %d", again.Rev, first.Rev)
	}
}

func TestConfig_RefusesLinksThatCannotBeTold(t *testing.T) {
	for _, bad := range []Link{{Peer: "../x", Kind: "lan"}, {Peer: "n2"}, {Peer: "n2", Kind: "lan", Mbps: -1}} {
		cfg := DefaultConfig()
		cfg.Links = []Link{bad}
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), "link 1 of 1: ") {
			t.Errorf("%+v: error %v, want one that names the link", bad, err)
		}
	}
}

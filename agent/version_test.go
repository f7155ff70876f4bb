package agent

import (
	"strings"
	"testing"

	"rockpool/shared/wire"
	"rockpool/shared/wire/wiretest"
)

// recorded is the first message of a golden frame as the server's side sends it
// again, to the byte (tests/wire checks that it does).
func recorded[T any, P interface {
	*T
	wire.Body
	Validate() error
}](t *testing.T, name string) T {
	t.Helper()
	messages, err := wire.DecodeFrame(wiretest.Golden(t, name), wire.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	body, err := wire.Decode[T, P](messages[0])
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestCase_N10_RecordedServersAreTakenAsTheyMeant: the matrix's other half, old and
// new control planes against this agent.
func TestCase_N10_RecordedServersAreTakenAsTheyMeant(t *testing.T) {
	t.Parallel()
	for name, chain := range map[string]string{"welcome": "", "welcome_chain": strings.Repeat("c4a2", 16)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newControl(t, nil)
			begin(t, testConfig(t, c.server.URL))
			s := c.next()
			welcome := recorded[wire.Welcome](t, name)
			s.send(welcome)
			s.beat("anything", func(wire.Heartbeat) bool { return true })
			offer := recorded[wire.Offer](t, "offer")
			s.send(recorded[wire.Start](t, "start"), recorded[wire.Void](t, "void"), recorded[wire.Cancel](t, "cancel"),
				recorded[wire.ResultAck](t, "result_ack"), offer)
			if d := expect[wire.Decline](s); d.Job != offer.Job || d.Attempt != 1 || d.Reason != "unknown_runner" {
				t.Errorf("declined %+v", d)
			}
			s.conn.CloseNow()
			if h := c.next().hello; h.Chain != chain || h.LastEpoch != welcome.Epoch || h.NodeID != "" || len(h.Running) != 0 {
				t.Errorf("the next hello %+v", h)
			}
		})
	}
}

func TestCase_N10_AServerOfAnotherProtocolIsLeftWithAClearLine(t *testing.T) {
	c := newControl(t, nil)
	n := begin(t, testConfig(t, c.server.URL))
	s := c.next()
	welcome := recorded[wire.Welcome](t, "welcome")
	welcome.Proto = wire.ProtoMax + 1
	s.send(welcome)
	await(t, "the line", func() bool {
		return strings.Contains(n.snapshot(), "speak no common protocol") && strings.Contains(n.snapshot(), "speaks protocol 2, this agent 1 to 1")
	})
	if _, open := <-s.inbox; open {
		t.Error("the agent spoke on")
	}
	n.stop() // a dial after milliseconds would be another one
	if len(c.dials()) != 1 {
		t.Errorf("%d dials", len(c.dials()))
	}
}

func TestCase_N10_RefusedForItsVersionSaysSoAndComesBackSlowly(t *testing.T) {
	c := newControl(t, nil)
	n := begin(t, testConfig(t, c.server.URL))
	s := c.next()
	s.send(wire.Refused{Code: wire.CodeVersion, Detail: "this server speaks protocol 2 to 3, the agent 1 to 1: upgrade the older one", RetryAfterMs: 600_000, Fatal: true})
	await(t, "the line", func() bool {
		return strings.Contains(n.snapshot(), "version_unsupported: this server speaks protocol 2 to 3")
	})
	n.stop()
	if len(c.dials()) != 1 {
		t.Errorf("%d dials", len(c.dials()))
	}
}

package agent

import (
	"net"
	"strings"
	"testing"
	"time"

	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

func TestCase_N18_StopDuringAJobLetsItEnd(t *testing.T) {
	c := newControl(t, nil)
	n := begin(t, testConfig(t, c.server.URL))
	s, dir := c.welcome(), t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("until", dir)))
	started(t, dir)
	n.cancel()
	s.beat("stopping", func(b wire.Heartbeat) bool { return !b.Accepting && b.Reason == "stopping" && len(b.Running) == 1 })
	s.send(offerOf(2, "tool", toolPayload("until", dir)))
	if d := expect[wire.Decline](s); d.Reason != "stopping" {
		t.Errorf("declined %+v", d)
	}
	release(t, dir)
	r := expect[wire.Result](s)
	if r.Status != wire.ResultSucceeded {
		t.Errorf("result %+v", r)
	}
	s.ackResult(r, wire.VerdictStored)
	expect[wire.Goodbye](s)
	n.wait()
}

func TestStop_AtTheDeadlineReportsTheShutdown(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]bool{"stop timeout": false, "second signal": true} {
		t.Run(name, func(t *testing.T) {
			c := newControl(t, nil)
			cfg := testConfig(t, c.server.URL)
			if !second {
				cfg.StopTimeout = settings.Duration(100 * time.Millisecond)
			}
			n := begin(t, cfg)
			s, dir := c.welcome(), t.TempDir()
			s.run(offerOf(1, "tool", toolPayload("stubborn", dir)))
			started(t, dir)
			n.cancel()
			if second {
				s.beat("stopping", func(b wire.Heartbeat) bool { return !b.Accepting })
				n.Hurry()
			}
			r := expect[wire.Result](s)
			if r.Status != wire.ResultFailed || r.Reason != "node_shutting_down" {
				t.Errorf("result %+v", r)
			}
			s.ackResult(r, wire.VerdictStored)
			n.wait()
		})
	}
}

func TestCase_N12_StopWithoutServerIsQuick(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // it never answers: the dial hangs
	n := begin(t, testConfig(t, "http://"+listener.Addr().String()))
	await(t, "the agent", func() bool { return strings.Contains(n.snapshot(), "agent begins") })
	began := time.Now()
	n.stop()
	if took := time.Since(began); took > 8*time.Second { // the dial alone would take rpc_timeout, 10 s
		t.Errorf("the stop took %v", took)
	}
}

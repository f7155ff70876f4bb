package agent

import (
	"testing"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// A server that takes no results fills the spool: the node takes no work then, says
// so, and works on once there are verdicts.
func TestFullSpool_TakesNoWorkAndSaysSo(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.SpoolLimit = cfg.Slots
	in := c.put([]byte("content"))
	begin(t, cfg)
	s := c.welcome()
	job := func(n byte) wire.Offer { return offerOf(n, "checksum", wire.Payload{Inputs: []wire.Input{in}}) }
	var results []wire.Result
	for n := range byte(cfg.Slots) {
		s.run(job(n + 1))
		results = append(results, expect[wire.Result](s))
	}
	s.beat("its spool is full", func(b wire.Heartbeat) bool {
		return !b.Accepting && b.Reason == nodecore.ReasonSpoolFull && b.Spooled == cfg.Slots && len(b.Running) == 0
	})
	s.send(job(9))
	if d := expect[wire.Decline](s); d.Reason != nodecore.ReasonSpoolFull {
		t.Errorf("declined for %s", d.Reason)
	}
	s.ackResult(results[0], wire.VerdictStored)
	s.beat("there is room", func(b wire.Heartbeat) bool { return b.Accepting && b.Spooled == cfg.Slots-1 })
	s.run(job(10))
	s.ackResult(results[1], wire.VerdictStored)
	for {
		if r := expect[wire.Result](s); r.Job == jobID(10) { // one before may have been sent again
			s.ackResult(r, wire.VerdictStored)
			return
		}
	}
}

package agent

import (
	"testing"

	"rockpool/shared/wire"
)

// TestStop_TheGoodbyeArrivesWhateverTheServerSays: a clean stop must not look
// like a broken link because something came in while the goodbye went out.
func TestStop_TheGoodbyeArrivesWhateverTheServerSays(t *testing.T) {
	t.Parallel()
	for range 20 {
		c := newControl(t, nil)
		n := begin(t, testConfig(t, c.server.URL))
		s := c.welcome()
		s.beat("anything", func(wire.Heartbeat) bool { return true }) // the session is open on its side too
		spoken := make(chan struct{})
		go func() {
			defer close(spoken)
			for s.conn.Send(wire.Msg(wire.HeartbeatAck{OK: true, LeaseMs: 1000})) == nil {
			}
		}()
		n.stop()
		if g := expect[wire.Goodbye](s); g.Kind != wire.GoodbyeStop {
			t.Fatalf("goodbye %+v", g)
		}
		s.conn.CloseNow()
		<-spoken
	}
}

package agent

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"rockpool/shared/wire"
)

// supervisor hears what the agent tells the one that started it.
type supervisor struct {
	t     *testing.T
	heard chan string
}

func newSupervisor(t *testing.T, cfg *Config, watchdog string) *supervisor {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	s := &supervisor{t, make(chan string, 4096)}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for buf := make([]byte, 1024); ; {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			s.heard <- string(buf[:n])
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-over })
	cfg.environ = append(cfg.environ, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC="+watchdog)
	return s
}

// hears waits for a message; what comes before it is returned.
func (s *supervisor) hears(what string) (before []string) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case text := <-s.heard:
			if text == what {
				return before
			}
			before = append(before, text)
		case <-deadline:
			s.t.Fatalf("the supervisor did not hear %s, but %q", what, before)
		}
	}
}

func TestSupervisor_WatchdogIsFedByAcknowledgedHeartbeatsAlone(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	super := newSupervisor(t, &cfg, "300000")
	n := begin(t, cfg)
	if before := super.hears("READY=1"); len(before) > 0 {
		t.Errorf("before it was ready it said %q", before)
	}
	s := c.welcome()
	super.hears("STATUS=session open as edge-1")
	super.hears("WATCHDOG=1")

	deaf := make(chan struct{}, 1)
	s.ackWith(func(wire.Heartbeat) *wire.HeartbeatAck {
		select {
		case deaf <- struct{}{}:
		default:
		}
		return nil
	})
	<-deaf // from here on nothing is acknowledged
	if b := super.hears("STATUS=no connection: it is tried again"); len(b) > 1 {
		t.Errorf("without an acknowledgement in a session it said %q", b) // one may have been under way
	}
	c.welcome()
	super.hears("STATUS=session open as edge-1")
	n.stop()
	super.hears("STOPPING=1")
}

func TestSupervisor_WatchdogIsFedWhileTheServerIsAway(t *testing.T) {
	c := newControl(t, nil)
	c.refuse = 503
	cfg := testConfig(t, c.server.URL)
	super := newSupervisor(t, &cfg, "30000")
	n := begin(t, cfg)
	super.hears("STATUS=no connection: it is tried again")
	super.hears("WATCHDOG=1")
	super.hears("WATCHDOG=1")
	n.stop()
	super.hears("STOPPING=1")
}

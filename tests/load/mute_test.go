package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
	"rockpool/shared/wsconn/wsconntest"
	"rockpool/tests/rig"
)

const (
	muteConsoles = 200
	muteNodes    = 20
	muteRounds   = 3
	muteJobs     = 100 // looked at, a round and half
	muteNoise    = 20  // more, beside each of them
)

// BenchmarkMuteConsoles shows what consoles that never read cost those which do:
// the time from a submission to the frame with the job's end, and the server's CPU
// time and heap, without and with 200 of them, in turns. Run it with -benchtime=1x.
func BenchmarkMuteConsoles(b *testing.B) {
	s := rig.NewServer(b, "ROCKPOOL_LOG_LEVEL=warn")
	user, client := s.NewUser(b, "mute", "mute")
	license := s.NewLicense(b, user, muteNodes)
	for i := range muteNodes {
		rig.JoinRawNode(b, s, rig.RawOptions{Name: fmt.Sprint("mute-", i), License: license, Slots: 16, Answer: rig.Diligent})
	}
	d := newDesk(b, s)
	reader := d.watch(b)
	ours := &target{pid: s.PID(), debug: s.DebugURL()}
	reader.follow(b, client, muteJobs) // warm
	b.ResetTimer()
	for range b.N {
		var alone, beside []time.Duration
		var base, most float64
		var cpuAlone, cpuBeside time.Duration
		timed := func(took *[]time.Duration, cpu *time.Duration) {
			before := cpuOf(b, s.PID())
			*took = append(*took, reader.follow(b, client, muteJobs)...)
			*cpu += cpuOf(b, s.PID()) - before
		}
		for range muteRounds {
			timed(&alone, &cpuAlone)
			base = max(base, ours.measure(b).heap)
			mutes := d.mute(b)
			timed(&beside, &cpuBeside)
			most = max(most, ours.measure(b).heap)
			for _, conn := range mutes {
				_ = conn.Close()
			}
		}
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		b.ReportMetric(ms(part(alone, 50)), "p50-alone-ms")
		b.ReportMetric(ms(part(beside, 50)), "p50-beside-ms")
		b.ReportMetric(ms(part(alone, 99)), "p99-alone-ms")
		b.ReportMetric(ms(part(beside, 99)), "p99-beside-ms")
		b.ReportMetric(float64(part(beside, 99))/float64(part(alone, 99)), "p99-ratio")
		b.ReportMetric(float64(cpuBeside)/float64(cpuAlone), "cpu-ratio")
		b.ReportMetric((most-base)/(1<<20), "heap-MiB-more")
		b.ReportMetric(s.Metric(b, "rockpool_channel_slow_consumers_total"), "closed-4009")
		b.ReportMetric(0, "ns/op")
	}
}

// cpuOf is the CPU time of the server's process.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	t, err := backendtest.ProcessTime(pid)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// mute opens consoles that ask for everything and never read. They come as fast as
// their budget lets them.
func (d *desk) mute(b *testing.B) (open []net.Conn) {
	b.Helper()
	header := http.Header{"Cookie": {d.cookie}, "Origin": {"http://x"}, "Sec-Websocket-Protocol": {wire.Subprotocol}}
	for len(open) < muteConsoles {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.s.URL, "http://"))
		if err != nil {
			b.Fatal(err)
		}
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		raw, answer, err := wsconntest.Upgrade(conn, header)
		switch {
		case err != nil:
			b.Fatal(err)
		case raw != nil:
			for _, topic := range []string{wire.TopicJobs, wire.TopicNodes, wire.TopicPools, wire.TopicFleet} {
				_, _ = raw.Conn.Write(message(b, wire.Subscribe{Topic: topic}))
			}
			open = append(open, conn)
		case answer.StatusCode == http.StatusServiceUnavailable:
			_ = conn.Close()
			<-time.After(50 * time.Millisecond)
		default:
			b.Fatalf("a console was refused: %s", answer.Status)
		}
	}
	return open
}

// watcher is a console that reads the jobs, and when each of them had ended.
type watcher struct {
	conn  *wsconn.Conn
	ended chan string // ids of jobs
}

func (d *desk) watch(b *testing.B) *watcher {
	b.Helper()
	conn, err := wsconn.Dial(b.Context(), d.s.URL+wire.ChannelPath, wsconn.DialOptions{Header: http.Header{"Cookie": {d.cookie}, "Origin": {d.s.URL}}})
	if err != nil {
		b.Fatal(err)
	}
	w := &watcher{conn: conn, ended: make(chan string, 1<<16)}
	if err := conn.Send(wire.Msg(wire.Subscribe{Topic: wire.TopicJobs})); err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); w.read(b) }()
	b.Cleanup(func() { conn.CloseNow(); <-done })
	return w
}

func (w *watcher) read(b *testing.B) {
	for {
		frame, err := w.conn.Receive()
		if err != nil {
			return
		}
		for _, m := range frame.Messages {
			if m.Type != wire.TypeDelta {
				continue
			}
			delta, err := wire.Decode[wire.Delta](m)
			if err != nil {
				b.Error(err)
				return
			}
			for _, row := range delta.Jobs {
				if row.State == "succeeded" {
					w.ended <- row.ID
				}
			}
		}
	}
}

// follow submits jobs one after the other, each beside some others, and gives the
// times from the submission to the frame that says it has ended.
func (w *watcher) follow(b *testing.B, client *backendtest.Client, jobs int) (took []time.Duration) {
	b.Helper()
	batch := make([]backendtest.JobRequest, 1+muteNoise)
	for i := range batch {
		batch[i] = backendtest.JobRequest{App: "mute", Runner: "noop"}
	}
	for range jobs {
		began := time.Now()
		answer, err := client.SubmitJobs(b.Context(), batch, "")
		if err != nil {
			b.Fatal(err)
		}
		if err := w.await(b.Context(), answer.Items[0].Job.ID); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	return took
}

func (w *watcher) await(ctx context.Context, id string) error {
	overdue := time.After(time.Minute)
	for {
		select {
		case ended := <-w.ended:
			if ended == id {
				return nil
			}
		case <-overdue:
			return errors.New("the job's end was not shown")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

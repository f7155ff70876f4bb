package load

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
	"rockpool/tests/rig"
)

// target is a server whose sessions are measured: ours, or the plain one.
type target struct {
	pid     int
	address string // of the channel
	debug   string // base URL of metrics and profiles
	header  func(i int) http.Header
	hello   func(i int) []byte
	spent   func() time.Duration // CPU time beside the process's own
	opened  int                  // sessions so far
}

// ours is a real server whose nodes join by license code.
func ours(b *testing.B, sessions int) *target {
	s := rig.NewServer(b, "ROCKPOOL_LOG_LEVEL=warn")
	user, _ := s.NewUser(b, "crowd", "crowd")
	license := s.NewLicense(b, user, int64(sessions))
	return &target{
		pid: s.PID(), address: strings.TrimPrefix(s.URL, "http://"), debug: s.DebugURL(),
		header: func(int) http.Header {
			var secret [32]byte
			rand.Read(secret[:])
			return http.Header{
				"Authorization": {"License " + license}, wire.NodeSecretHeader: {base64.RawURLEncoding.EncodeToString(secret[:])},
			}
		},
		hello: func(i int) []byte {
			return message(b, wire.Hello{
				NodeID: fmt.Sprintf("crowd-%d", i), ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, AgentVersion: "1.0.0",
				OS: "linux", Arch: "amd64", MachineID: fmt.Sprintf("machine-%d", i), BootID: fmt.Sprintf("boot-%d", i),
				Role: "worker", Region: "ams", Backend: "cpu", Capacity: wire.Capacity{Slots: 4}, Runners: []string{"noop"},
			})
		},
		spent: func() time.Duration { return postgresTime(b, s) },
	}
}

func postgresTime(b *testing.B, s *rig.Server) time.Duration {
	b.Helper()
	spent, err := backendtest.TreeTime(s.PostmasterPID())
	if err != nil {
		b.Fatal(err)
	}
	return spent
}

// plain is a process with the plain server, which answers every n-th heartbeat.
func plain(b *testing.B, every int) *target {
	b.Helper()
	pid, address, end := startPlain(b, "127.0.0.1:0")
	b.Cleanup(end)
	return &target{
		pid: pid, address: address, debug: "http://" + address,
		header: func(int) http.Header { return http.Header{everyHeader: {fmt.Sprint(every)}} },
		hello:  func(int) []byte { return nil },
		spent:  func() time.Duration { return 0 },
	}
}

// startPlain runs the plain server and returns once it listens; end kills it.
func startPlain(b *testing.B, listen string) (pid int, address string, end func()) {
	b.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), plainVariable+"="+listen)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	end = func() { _ = command.Process.Kill(); _ = command.Wait() }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end()
		b.Fatal(err)
	}
	return command.Process.Pid, strings.TrimSpace(line), end
}

// message is one message as a node sends it.
func message(b *testing.B, body wire.Body) []byte {
	b.Helper()
	frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(body))
	if err != nil {
		b.Fatal(err)
	}
	return wsconntest.Frame(wsconntest.Binary, true, frame)
}

// fill opens sessions, many at a time.
func (t *target) fill(b *testing.B, c *crowd, sessions int) *crowd {
	b.Helper()
	next := make(chan int)
	var dialers sync.WaitGroup
	for range 32 {
		dialers.Go(func() {
			for i := range next {
				if err := c.join(t.address, t.header(i), t.hello(i)); err != nil {
					b.Errorf("session %d: %v", i, err)
				}
			}
		})
	}
	for range sessions {
		next <- t.opened
		t.opened++
	}
	close(next)
	dialers.Wait()
	return c
}

// memory is what a process holds, in bytes.
type memory struct{ heap, stack, resident float64 }

// measure collects what is garbage and reads what is left.
func (t *target) measure(b *testing.B) memory {
	b.Helper()
	for range 3 { // stacks shrink by half a collection
		answer, err := http.Get(t.debug + "/debug/pprof/heap?gc=1")
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	return memory{
		heap: rig.MetricAt(b, t.debug+"/metrics", "go_memstats_heap_alloc_bytes"), stack: rig.MetricAt(b, t.debug+"/metrics", "go_memstats_stack_inuse_bytes"),
		resident: t.resident(b),
	}
}

// perSession is what a session costs a server at rest, after some heartbeats.
func (t *target) perSession(b *testing.B, sessions int) memory {
	b.Helper()
	t.fill(b, &crowd{}, 20).leave() // what the first ones make is made once
	before := t.measure(b)
	c := &crowd{}
	defer c.leave()
	rounds, stop := c.live(message(b, wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}}))
	t.fill(b, c, sessions)
	rounds(2)
	stop()
	after := t.measure(b)
	if lost := c.lost.Load(); lost > 0 {
		b.Errorf("%d sessions were lost", lost)
	}
	n := float64(sessions)
	return memory{(after.heap - before.heap) / n, (after.stack - before.stack) / n, (after.resident - before.resident) / n}
}

// BenchmarkIdleSessions holds sessions that say a heartbeat now and then, ours with
// all that belongs to a node, and as many on the plain server. Run it with
// -benchtime=1x.
func BenchmarkIdleSessions(b *testing.B) {
	for _, sessions := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			for range b.N {
				product := ours(b, sessions+20).perSession(b, sessions)
				bare := plain(b, 1).perSession(b, sessions)
				b.ReportMetric(product.heap, "heap-B/session")
				b.ReportMetric(product.stack, "stack-B/session")
				b.ReportMetric(product.resident, "resident-B/session")
				b.ReportMetric(bare.heap+bare.stack, "plain-heap+stack-B/session")
				b.ReportMetric(bare.resident, "plain-resident-B/session")
				b.ReportMetric((product.heap+product.stack)/(bare.heap+bare.stack), "heap+stack-ratio")
				b.ReportMetric(product.resident/bare.resident, "resident-ratio")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

const (
	beatSessions = 1_000
	beatRounds   = 50
	beatEvery    = 100 * time.Millisecond // each session's
)

// perBeat is the CPU time of a heartbeat, and what else it cost.
func (t *target) perBeat(b *testing.B, c *crowd, rounds int) (own, other time.Duration) {
	b.Helper()
	beat := message(b, wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}})
	began, elsewhere := t.own(b), t.spent()
	for range rounds {
		c.say(beat, beatEvery)
	}
	return (t.own(b) - began) / time.Duration(rounds*len(c.members)), (t.spent() - elsewhere) / time.Duration(rounds*len(c.members))
}

func (t *target) own(b *testing.B) time.Duration {
	b.Helper()
	spent, err := backendtest.ProcessTime(t.pid)
	if err != nil {
		b.Fatal(err)
	}
	return spent
}

// BenchmarkHeartbeats sends heartbeats, each session's ten a second, to our server,
// to the plain one which reads and decodes them, and to the plain one which answers
// them too, in turns. What counts is CPU time. Run it with -benchtime=1x.
func BenchmarkHeartbeats(b *testing.B) {
	targets := []*target{ours(b, beatSessions), plain(b, 1_000_000), plain(b, 1)}
	crowds := make([]*crowd, len(targets))
	for i, t := range targets {
		crowds[i] = t.fill(b, &crowd{}, beatSessions)
		defer crowds[i].leave()
		t.perBeat(b, crowds[i], 10) // warm
	}
	b.ResetTimer()
	for range b.N {
		var own, other [3]time.Duration
		const pairs = 5
		for range pairs {
			for i, t := range targets {
				o, e := t.perBeat(b, crowds[i], beatRounds)
				own[i], other[i] = own[i]+o/pairs, other[i]+e/pairs
			}
		}
		us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
		b.ReportMetric(us(own[0]), "server-µs/heartbeat")
		b.ReportMetric(us(other[0]), "postgres-µs/heartbeat")
		b.ReportMetric(us(own[1]), "read+decode-µs/heartbeat")
		b.ReportMetric(us(own[2]), "read+decode+answer-µs/heartbeat")
		b.ReportMetric(us(own[0])/us(own[1]), "ratio")
		b.ReportMetric(us(own[0])/us(own[2]), "ratio-answered")
		b.ReportMetric(0, "ns/op")
	}
}

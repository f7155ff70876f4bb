package wsconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// pair connects a client and a server.
func pair(t *testing.T, accept AcceptOptions, dial DialOptions) (client, server *Conn) {
	t.Helper()
	address, accepted := serve(t, accept)
	client, err := Dial(context.Background(), address, dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseNow)
	return client, next(t, accepted)
}

func progress(percent int64) wire.Outgoing {
	return wire.Msg(wire.Progress{Job: job, Attempt: 1, Percent: percent})
}

func TestCase_N43_ResultOf33KiBIsDelivered(t *testing.T) {
	client, server := pair(t, AcceptOptions{}, DialOptions{})
	sent := wire.Result{Job: job, Attempt: 1, Status: wire.ResultSucceeded, Output: []byte(strings.Repeat("x", 33<<10))}
	for _, way := range []struct{ from, to *Conn }{{client, server}, {server, client}} {
		if err := way.from.Send(wire.Msg(sent)); err != nil {
			t.Fatal(err)
		}
		frame, err := received(t, "the result", way.to)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.Decode[wire.Result](frame.Messages[0]); err != nil || string(got.Output) != string(sent.Output) {
			t.Errorf("%d bytes came, %v", len(got.Output), err)
		}
	}
}

func TestConn_ManySendersKeepTheirOrder(t *testing.T) {
	const senders, each = 8, 100
	client, server := pair(t, AcceptOptions{}, DialOptions{})
	for s := range senders {
		go func() {
			for i := range each {
				out := progress(int64(i))
				out.ID = strconv.Itoa(s)
				if err := client.Send(out); err != nil {
					t.Errorf("sender %d: %v", s, err)
				}
			}
		}()
	}
	next := map[string]int64{}
	for got := 0; got < senders*each; {
		frame, err := received(t, fmt.Sprintf("message %d", got), server)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range frame.Messages {
			p, err := wire.Decode[wire.Progress](m)
			if err != nil || p.Percent != next[m.ID] {
				t.Fatalf("sender %s: got %d, want %d (%v)", m.ID, p.Percent, next[m.ID], err)
			}
			next[m.ID]++
			got++
		}
	}
}

func TestConn_WhatWaitsGoesInOneFrame(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{Options: Options{OutboxBytes: 4 << 20}})
	client := upgrade(t, address, ours())
	server := next(t, accepted)
	stall(t, server)
	const n = 100
	for i := range int64(n) {
		if err := server.Send(progress(i)); err != nil {
			t.Fatal(err)
		}
	}
	for most := 0; most < n; {
		_, payload, err := client.Read()
		if err != nil {
			t.Fatalf("no frame of %d messages came: %v", n, err)
		}
		messages, err := wire.DecodeFrame(payload, wire.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(messages))
	}
}

func TestQueue_LeavesInOneFrameByTheFlush(t *testing.T) {
	for _, way := range []struct {
		name string
		out  func(*Conn)
	}{
		{"flush", (*Conn).Flush},
		{"close", func(c *Conn) { go c.Close(wire.CloseNormal, "") }},
	} {
		t.Run(way.name, func(t *testing.T) {
			client, server := pair(t, AcceptOptions{}, DialOptions{})
			for i := range int64(3) {
				if first, err := server.Queue(progress(i)); err != nil || first != (i == 0) {
					t.Fatalf("message %d: first %t, %v", i, first, err)
				}
			}
			if messages, _ := server.Waiting(); messages != 3 {
				t.Errorf("%d messages wait before the flush, not 3", messages)
			}
			way.out(server)
			if frame, err := received(t, "the frame", client); err != nil || len(frame.Messages) != 3 {
				t.Errorf("%d messages in the first frame, %v", len(frame.Messages), err)
			}
		})
	}
}

// stall sends to a peer that does not read until the writer sticks in a frame:
// its next message is not taken up for a while.
func stall(t *testing.T, c *Conn) {
	t.Helper()
	large := wire.Msg(wire.Result{Job: job, Attempt: 1, Status: wire.ResultFailed, Tail: make([]byte, 60<<10)})
	deadline := time.Now().Add(patience)
	for moved := time.Now(); time.Since(moved) < 300*time.Millisecond; {
		if messages, _ := c.Waiting(); messages == 0 {
			moved = time.Now()
			if err := c.Send(large); err != nil || moved.After(deadline) {
				t.Fatalf("the writer never stuck: %v", err)
			}
		}
		runtime.Gosched()
	}
}

func TestClose_DeliversWhatWasSentBefore(t *testing.T) {
	client, server := pair(t, AcceptOptions{}, DialOptions{})
	refused := wire.Refused{Code: wire.CodeLicenseLimit, Detail: "3 of 3 nodes"}
	if err := server.Send(wire.Msg(refused)); err != nil {
		t.Fatal(err)
	}
	go server.Close(wire.CloseLicenseLimit, "license limit")
	frame, err := received(t, "the refusal", client)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wire.Decode[wire.Refused](frame.Messages[0]); err != nil || got != refused {
		t.Errorf("got %+v, %v", got, err)
	}
	if end := ended(t, client, wire.CloseLicenseLimit, false); end.Reason != "license limit" {
		t.Errorf("reason %q", end.Reason)
	}
	ended(t, server, wire.CloseLicenseLimit, true)
	if err := server.Send(progress(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("send after close: %v", err)
	}
}

func TestClose_IsShortWhateverThePeerDoes(t *testing.T) {
	for name, busy := range map[string]bool{"silent peer": false, "full buffers": true} {
		t.Run(name, func(t *testing.T) {
			address, accepted := serve(t, AcceptOptions{})
			client := upgrade(t, address, ours())
			server := next(t, accepted)
			if busy {
				flood(t, server)
			}
			start := time.Now()
			server.Close(wire.CloseShutdown, strings.Repeat("a reason that is too long ", 20))
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("Close took %v", took)
			}
			server.Close(wire.CloseRestart, "a second end changes nothing")
			server.CloseNow()
			ended(t, server, wire.CloseShutdown, true)
			_ = client.Close()
		})
	}
}

func TestPing_MissingPongEndsTheConnection(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{Options: Options{PingEvery: time.Millisecond, PongWithin: 50 * time.Millisecond}})
	upgrade(t, address, ours()) // never answers
	ended(t, next(t, accepted), 0, false)
}

func TestPing_PongKeepsTheConnection(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{Options: Options{PingEvery: time.Millisecond}})
	client := upgrade(t, address, ours())
	server := next(t, accepted)
	go func() { _, _ = server.Receive() }()
	for range 5 {
		opcode, payload, err := client.Read()
		if err != nil || opcode != 9 {
			t.Fatalf("wanted a ping, got opcode %d, %v", opcode, err)
		}
		client.write(0x8a, true, payload)
	}
	server.CloseNow()
	within(t, "the end", server.Closed())
}

func TestWrite_StuckFrameEndsTheConnection(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{Options: Options{WriteTimeout: 100 * time.Millisecond, OutboxBytes: 64 << 20, SocketBytes: 64 << 10}})
	upgrade(t, address, ours()) // never reads
	server := next(t, accepted)
	large := wire.Msg(wire.Result{Job: job, Attempt: 1, Status: wire.ResultFailed, Tail: make([]byte, 60<<10)})
	for server.Send(large) == nil {
		if messages, _ := server.Waiting(); messages > 200 {
			break
		}
	}
	ended(t, server, wire.CloseSlowConsumer, true)
}

func TestSubprotocol_MustBeOurs(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{})
	for _, offered := range []http.Header{nil, {"Sec-WebSocket-Protocol": {"rockpool.v9"}}} {
		if code, _ := upgrade(t, address, offered).closeCode(); code != wire.CloseVersion {
			t.Errorf("offered %v: closed with %v", offered, code)
		}
	}
	select {
	case <-accepted:
		t.Error("a connection was accepted")
	default:
	}
}

func TestDial_ReportsARefusal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
			return
		}
		w.Header().Set("Retry-After", "7")
		http.Error(w, "later\x1b[2J", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	_, err := Dial(context.Background(), server.URL, DialOptions{})
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Status != 503 || refusal.RetryAfter != 7*time.Second {
		t.Errorf("got %v", err)
	}
	if strings.ContainsRune(err.Error(), '\x1b') {
		t.Errorf("the body was not cleaned: %q", err)
	}
	if _, err = Dial(context.Background(), server.URL+"/moved", DialOptions{}); !errors.As(err, &refusal) || refusal.Status != 302 {
		t.Errorf("a redirect was followed: %v", err)
	}
	if _, err = Dial(context.Background(), "ftp://x", DialOptions{}); err == nil {
		t.Error("ftp was dialed")
	}
}

func TestDial_TLSVerifiesTheServer(t *testing.T) {
	conns := make(chan *Conn, 1)
	server := httptest.NewUnstartedServer(acceptInto(conns, AcceptOptions{}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the handshake that must fail
	server.StartTLS()
	defer server.Close()
	if _, err := Dial(context.Background(), server.URL, DialOptions{}); err == nil {
		t.Fatal("an unknown authority was trusted")
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client, err := Dial(context.Background(), server.URL, DialOptions{TLS: &tls.Config{RootCAs: roots}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseNow()
	accepted := next(t, conns)
	flood(t, accepted) // the client does not read: neither does TLS delay the end
	start := time.Now()
	accepted.Close(wire.CloseShutdown, "")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
}

func TestRetryAfter_SecondsOrDate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "12": 12 * time.Second, "-1": 0, "soon": 0, "99999999999": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:05 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestEnd_SaysWhoAndWhy(t *testing.T) {
	for want, end := range map[string]End{
		"peer closed the connection: 4003 revoked":              {Code: wire.CloseRevoked},
		"we closed the connection: 4009 slow consumer: lagging": {Code: wire.CloseSlowConsumer, Reason: "lagging", Local: true},
		"connection broke: boom":                                {Err: errors.New("boom")},
	} {
		if end.Error() != want {
			t.Errorf("got %q, want %q", end.Error(), want)
		}
	}
}

// eager writes its first bytes together with those behind them.
type eager struct {
	net.Conn
	behind []byte
}

func (e *eager) Write(p []byte) (int, error) {
	_, err := e.Conn.Write(slices.Concat(p, e.behind))
	e.behind = nil
	return len(p), err
}

// What came with the request is not lost, however much it is, and what follows
// comes behind it.
func TestAccept_TakesWhatCameBehindTheRequest(t *testing.T) {
	for _, size := range []int{1, 500, 3000, 60 << 10} {
		address, accepted := serve(t, AcceptOptions{})
		conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		result, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(wire.Result{Job: job, Attempt: 1, Status: wire.ResultFailed, Tail: make([]byte, size)}))
		if err != nil {
			t.Fatal(err)
		}
		frame := wsconntest.Frame(wsconntest.Binary, true, result)
		client, answer, err := wsconntest.Upgrade(&eager{conn, slices.Concat(frame, frame, frame[:len(frame)-1])}, ours())
		if client == nil {
			t.Fatalf("upgrade: %v, %v", answer, err)
		}
		server := next(t, accepted)
		for range 2 {
			if got, err := received(t, "a frame behind the request", server); err != nil || got.Size != len(result) {
				t.Fatalf("size %d: got %d bytes, %v", size, got.Size, err)
			}
		}
		if _, err := client.Conn.Write(frame[len(frame)-1:]); err != nil {
			t.Fatal(err)
		}
		if got, err := received(t, "the third frame", server); err != nil || got.Size != len(result) {
			t.Fatalf("size %d: got %d bytes, %v", size, got.Size, err)
		}
	}
}

// Who speaks is alive: it is not pinged, and a pong that stands behind what it says
// is not missed.
func TestPing_NoneWhileThePeerSpeaks(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{Options: Options{PingEvery: time.Hour, PongWithin: time.Millisecond}})
	client := upgrade(t, address, ours())
	server := next(t, accepted)
	goodbye, err := wire.EncodeFrame(nil, wire.HelloLimits(), wire.Msg(wire.Goodbye{Kind: wire.GoodbyeStop}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		client.write(wsconntest.Binary, true, goodbye)
		if _, err := received(t, "a frame", server); err != nil {
			t.Fatal(err)
		}
		server.pingOnce()
	}
	server.ping.Stop()
	if err := server.Send(wire.Msg(wire.Goodbye{Kind: wire.GoodbyeStop})); err != nil {
		t.Fatal(err)
	}
	if opcode, _, err := client.Read(); err != nil || opcode != wsconntest.OpBinary {
		t.Errorf("the first frame to it has the opcode %d, %v", opcode, err)
	}
}

package agent

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"rockpool/shared/settings"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// stumble fails the agent's first connection in its own way; the next one is the
// control plane's.
type stumble func(t *testing.T, conn net.Conn)

// says reads the request of the upgrade and answers with a text.
func says(format string, args ...any) stumble {
	return func(_ *testing.T, conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = fmt.Fprintf(conn, format, args...)
		}
	}
}

// opened upgrades as it should be, and then goes on as told.
func opened(then func(conn *wsconn.Conn)) stumble {
	return func(t *testing.T, conn net.Conn) {
		once := &onceListener{conn: conn, over: make(chan struct{})}
		server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(once.over)
			ws, err := wsconn.Accept(w, r, wsconn.AcceptOptions{})
			if err != nil {
				t.Errorf("upgrade: %v", err)
				return
			}
			then(ws)
			ws.CloseNow()
		})}
		_ = server.Serve(once)
	}
}

// onceListener gives one connection, and ends when that one was served.
type onceListener struct {
	conn net.Conn
	over chan struct{}
}

func (l *onceListener) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.over
	return nil, io.EOF
}

func (l *onceListener) Close() error   { return nil }
func (l *onceListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestCase_N28_AFailureAtAnyStepIsFollowedByAnotherDial: each step of the handshake
// in turn.
func TestCase_N28_AFailureAtAnyStepIsFollowedByAnotherDial(t *testing.T) {
	hello := func(conn *wsconn.Conn) { _, _ = conn.Receive() }
	const accepted = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
	for name, fail := range map[string]stumble{
		"the connection is cut at once":  func(*testing.T, net.Conn) {},
		"the answer is no HTTP":          says("220 mail.example ESMTP\r\n"),
		"the answer is cut":              says("HTTP/1.1 101 Swit"),
		"the proxy's error":              says("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"),
		"put off":                        says("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"),
		"another place":                  says("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"),
		"the upgrade is forged":          says(accepted + "Sec-WebSocket-Accept: AAAA\r\n\r\n"),
		"the upgrade has no subprotocol": says(accepted + "\r\n"),
		"cut after the upgrade":          opened(func(*wsconn.Conn) {}),
		"cut after hello":                opened(hello),
		"mute after hello":               opened(func(conn *wsconn.Conn) { hello(conn); hello(conn) }),
		"restart instead of a welcome":   opened(func(conn *wsconn.Conn) { hello(conn); conn.Close(wire.CloseRestart, "") }),
		"refused, come back":             opened(func(conn *wsconn.Conn) { hello(conn); refuse(conn) }),
		"another message than a welcome": opened(func(conn *wsconn.Conn) {
			hello(conn)
			_ = conn.Send(wire.Msg(wire.Goodbye{Kind: wire.GoodbyeStop}))
			hello(conn)
		}),
		"a welcome that breaks the rules": opened(func(conn *wsconn.Conn) { hello(conn); _ = conn.Send(wire.Msg(wire.Welcome{})); hello(conn) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			cfg := testConfig(t, "http://"+listener.Addr().String())
			cfg.RPCTimeout = settings.Duration(500 * time.Millisecond)
			begin(t, cfg)
			conn, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(patience))
			fail(t, conn)
			_ = conn.Close()
			c := newControl(t, listener)
			c.welcome().beat("anything", func(wire.Heartbeat) bool { return true })
		})
	}
}

func refuse(conn *wsconn.Conn) {
	_ = conn.Send(wire.Msg(wire.Refused{Code: wire.CodeUnavailable, Detail: "the database is away"}))
	_, _ = conn.Receive()
}

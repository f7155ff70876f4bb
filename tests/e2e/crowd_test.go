package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
	"rockpool/tests/rig"
)

// reach opens a connection to a server without a word.
func reach(t testing.TB, s *rig.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// 500 connections that take their time, each in one of three ways, hold up nobody,
// and none outlives its deadline: 5 s for the headers, 10 s from the upgrade to the
// hello.
func TestAttack_A27_SlowConnectionsHoldUpNobody(t *testing.T) {
	t.Parallel()
	const each = 170
	x := newTarget(t)
	var conns []net.Conn
	var dribble []net.Conn
	open := func(first string) {
		conn := reach(t, x.s)
		_, _ = io.WriteString(conn, first)
		conns = append(conns, conn)
		if first != "" {
			dribble = append(dribble, conn)
		}
	}
	for range each {
		open("GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX-A: ")
		open("GET " + wire.ChannelPath + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-A: ")
	}
	for range each {
		conn := reach(t, x.s)
		header := x.node.Credential()
		header.Set("Sec-WebSocket-Protocol", wire.Subprotocol)
		raw, answer, err := wsconntest.Upgrade(conn, header)
		if raw == nil {
			t.Fatalf("upgrade: %v, %v", answer, err)
		}
		conns = append(conns, conn)
	}
	over := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { // a byte now and then, which is no reason for patience
		for tick := time.Tick(200 * time.Millisecond); ; {
			select {
			case <-over:
				return
			case <-tick:
				for _, conn := range dribble {
					_, _ = conn.Write([]byte("a"))
				}
			}
		}
	})
	x.unharmed() // a job runs, the live node stays
	most := time.Now().Add(patience)
	for i, conn := range conns {
		_ = conn.SetReadDeadline(most)
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d still stands %v after the last was opened", i, patience)
		}
	}
	close(over)
	work.Wait()
}

// A flood of pings is answered no faster than its budget, and costs the fleet
// nothing.
func TestAttack_A25_AFloodOfPingsCostsNobodyAnything(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	socket := x.s.MustUpgrade(t, x.node.Credential())
	socket.Send(x.node.Hello())
	socket.Receive()
	began := time.Now()
	var flood sync.WaitGroup
	flood.Go(func() {
		pings := make([]byte, 0, 64<<10)
		for len(pings) < 63<<10 {
			pings = append(pings, wsconntest.Frame(wsconntest.Ping, true, []byte("x"))...)
		}
		for socket.WriteRaw(pings) == nil {
		}
	})
	x.unharmed()
	pongs, last := 0, began
	for time.Since(began) < 3*time.Second {
		if !socket.Pong() {
			t.Fatal("the flood was ended before its time")
		}
		pongs, last = pongs+1, time.Now()
	}
	if most := 10*(4+last.Sub(began).Seconds()) + 1; float64(pongs) > most {
		t.Errorf("%d pings were answered in %v", pongs, last.Sub(began))
	}
	socket.Close()
	flood.Wait()
}

// Each kind of credential opens its own doors and no other. Every try comes from an
// address of its own, because wrong ones are counted by address.
func TestAttack_A32_KindsOfCredentialsDoNotMix(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	p := newPerson(t, u.s, "superadmin")
	p.signIn()
	cookieName, cookieValue, _ := strings.Cut(p.cookie, "=")
	node := strings.TrimPrefix(n.Credential().Get("Authorization"), "Bearer ")
	other := rig.NewRawNode(u.s, rig.RawOptions{}).Secret
	one := func(name, value string) http.Header { return http.Header{name: {value}} }
	page := func(h http.Header) http.Header { h.Set("Origin", "http://x"); return h } // Upgrade's Host is x
	license := func(code string) http.Header {
		return http.Header{"Authorization": {"License " + code}, wire.NodeSecretHeader: {other}}
	}
	for i, c := range []struct {
		name   string
		header http.Header
		want   int
	}{
		{"nothing", http.Header{}, 401},
		{"an API token", one("Authorization", "Bearer "+u.token), 401},
		{"an API token from a page", page(one("Authorization", "Bearer "+u.token)), 401},
		{"a console's secret as a bearer", one("Authorization", "Bearer "+cookieValue), 401},
		{"a license code as a bearer", one("Authorization", "Bearer "+u.license.LicenseCode), 401},
		{"a node's secret as a license code", license(node), 401},
		{"an API token as a license code", license(u.token), 401},
		{"a license code without the node's own secret", one("Authorization", "License "+u.license.LicenseCode), 401},
		{"a node's secret as the cookie", page(one("Cookie", cookieName+"="+node)), 401},
		{"an API token as the cookie", page(one("Cookie", cookieName+"="+u.token)), 401},
		{"a console's secret in another cookie", page(one("Cookie", "rockpool="+cookieValue)), 401},
		{"the cookie beside a node's secret", page(http.Header{"Cookie": {p.cookie}, "Authorization": {"Bearer " + node}}), 401},
		{"the cookie beside an API token", page(http.Header{"Cookie": {p.cookie}, "Authorization": {"Bearer " + u.token}}), 401},
		{"the cookie without a page", one("Cookie", p.cookie), 403},
		{"a secret in the URL", http.Header{"X-Nothing": {"x"}}, 401},
		{"a user and a password", one("Authorization", "Basic YTpi"), 401},
		{"the cookie of a page", page(one("Cookie", p.cookie)), 101},
		{"the node's secret", one("Authorization", "Bearer "+node), 101},
		{"the license code beside a node's own secret", license(u.license.LicenseCode), 101},
	} {
		_, answer := u.s.Upgrade(t, fmt.Sprintf("127.0.32.%d", i+1), c.header)
		if answer.StatusCode != c.want {
			t.Errorf("%s at the channel: %s, want %d", c.name, answer.Status, c.want)
		}
	}
	for name, header := range map[string][]string{
		"a node's secret": {"Authorization", "Bearer " + node}, "a license code": {"Authorization", "License " + u.license.LicenseCode},
		"a console's secret as a bearer": {"Authorization", "Bearer " + cookieValue}, "a node's secret as the cookie": {"Cookie", cookieName + "=" + node},
	} {
		want := 401
		if name == "a node's secret" { // known for what it is: none of these is a node's
			want = 403
		}
		for _, path := range []string{"/v1/jobs", "/v1/nodes", "/v1/session", "/v1/admin/users"} {
			if a := ask(t, u.s, "", "GET", path, "", header...); a.Status != want {
				t.Errorf("%s at %s: %d %s", name, path, a.Status, a.Body)
			}
		}
	}
	for name, token := range map[string]string{"an API token": u.token, "a console's secret": cookieValue} {
		if a := ask(t, u.s, token, "PUT", "/v1/node/secret", `{"id": "x", "secret": "y"}`); a.Status != 401 && a.Status != 403 && a.Status != 404 {
			t.Errorf("%s at a node's own route: %d %s", name, a.Status, a.Body)
		}
	}
}

// A page of anybody else opens no console, whatever it says of itself.
func TestAttack_A31_OnlyThisServersPagesOpenAConsole(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	p := newPerson(t, u.s, "operator")
	p.signIn()
	for origin, want := range map[string]int{
		"http://x": 101, "https://x": 101, "HTTP://X": 101, // Upgrade's Host is x
		"": 403, "null": 403, "file://": 403, "https://evil.example": 403, "http://x.evil.example": 403, "http://evilx": 403,
		"http://x:81": 403, "http://x/": 403, "http://x@evil.example": 403, "http://evil.example#http://x": 403, "http://x, http://evil.example": 403,
		"http://localhost": 403, "http://127.0.0.1": 403, "ws://x": 403, "http://x%00.evil.example": 403, "http://x.": 403, "http:x": 403,
	} {
		header := http.Header{"Cookie": {p.cookie}}
		if origin != "" {
			header.Set("Origin", origin)
		}
		_, answer := u.s.Upgrade(t, "", header)
		if answer.StatusCode != want {
			t.Errorf("from %q: %s, want %d", origin, answer.Status, want)
		}
	}
	for name, header := range map[string]http.Header{
		"two origins":      {"Cookie": {p.cookie}, "Origin": {"http://x", "http://x"}},
		"a forwarded host": {"Cookie": {p.cookie}, "Origin": {"https://evil.example"}, "X-Forwarded-Host": {"evil.example"}},
		"a referer":        {"Cookie": {p.cookie}, "Referer": {"http://x/"}},
	} {
		if _, answer := u.s.Upgrade(t, "", header); answer.StatusCode != 403 {
			t.Errorf("with %s: %s", name, answer.Status)
		}
	}
}

// What two servers in a row could read in two ways is refused, or its connection
// ends with it: a request that is hidden in the body of another is never answered.
// There is no HTTP/2, with or without asking.
func TestAttack_A82_NothingIsSmuggledAndThereIsNoHTTP2(t *testing.T) {
	t.Parallel()
	s := server(t)
	const hidden = "GET /livez HTTP/1.1\r\nHost: hidden\r\n\r\n"
	post := "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n"
	for name, c := range map[string]string{
		"length and chunked":     post + "Content-Length: 45\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunked and length":     post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
		"two lengths":            post + "Content-Length: 3\r\nContent-Length: 0\r\n\r\nabc" + hidden,
		"a signed length":        post + "Content-Length: +3\r\n\r\nabc" + hidden,
		"a list of lengths":      post + "Content-Length: 3, 0\r\n\r\nabc" + hidden,
		"an unknown encoding":    post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
		"two encodings":          post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
		"a space before a colon": post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + hidden,
		"a tab in the encoding":  post + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + hidden,
		"a bad chunk":            post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + hidden,
		"a bare line feed":       post + "Transfer-Encoding: chunked\r\n\r\n1;\nx\r\n0\r\n\r\n" + hidden,
		"two hosts":              "GET /livez HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + hidden,
		"no host":                "GET /livez HTTP/1.1\r\n\r\n" + hidden,
		"a zero byte":            "GET /livez HTTP/1.1\r\nHost: x\r\nX-A: a\x00b\r\n\r\n" + hidden,
		"HTTP/2 at once":         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hidden,
	} {
		answers, body := exchange(t, s, c)
		if len(answers) != 1 || answers[0].StatusCode < 400 || !answers[0].Close {
			t.Errorf("%s: %d answers: %v, %q", name, len(answers), answers, body)
		}
	}
	upgrade := "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
	if answers, _ := exchange(t, s, upgrade+strings.Replace(hidden, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)); len(answers) != 2 || answers[0].StatusCode != 200 || answers[0].ProtoMajor != 1 {
		t.Errorf("asked for HTTP/2: %v", answers)
	}
}

// exchange sends bytes and gives all answers until the connection ends.
func exchange(t *testing.T, s *rig.Server, request string) (answers []*http.Response, last string) {
	t.Helper()
	conn := reach(t, s)
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return answers, last
		}
		body, _ := io.ReadAll(answer.Body)
		answers, last = append(answers, answer), string(body)
	}
}

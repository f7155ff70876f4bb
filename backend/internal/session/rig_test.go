package session

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/view"
	"rockpool/backend/internal/view/viewtest"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a condition may take before a test gives up.
const patience = time.Minute

// rig is a gateway behind a real server, with a real desk.
type rig struct {
	t       *testing.T
	store   *ledger
	loop    *loop
	hub     *Hub
	gateway *Gateway
	door    *door
	stage   *viewtest.Stage
	view    *view.View
	url     string
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := newBareRig(t, change)
	r.serve(r.gateway)
	return r
}

// newBareRig is a rig without a server.
func newBareRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	cfg := Config{
		Times:  wire.Times{Heartbeat: 10_000, Suspect: 25_000, Lost: 90_000, RedialWindow: 5_000},
		Logger: slog.New(slog.DiscardHandler), TailPause: time.Millisecond,
	}
	if change != nil {
		change(&cfg)
	}
	now := time.Now
	if cfg.Now != nil {
		now = cfg.Now
	}
	r := &rig{t: t, hub: NewHub(cfg)}
	r.store = &ledger{license: enroll.NewLicenseCode(), nodes: map[enroll.Sum]fleet.NodeRecord{}}
	r.loop = &loop{hub: r.hub, change: make(chan struct{})}
	r.door = &door{users: map[enroll.Sum]ConsoleUser{}}
	r.stage = viewtest.New()
	r.view = view.New(view.Config{Source: r.stage, Store: r.stage})
	r.show()
	r.gateway = NewGateway(r.hub, r.loop, enroll.NewDesk(r.store, r.loop, cfg.Logger, now), r.door, r.view)
	return r
}

// serve puts a handler behind a server that ends with the test, after the gateway.
func (r *rig) serve(handler http.Handler) {
	server := httptest.NewServer(handler)
	r.url = server.URL + wire.ChannelPath
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.gateway.Close(ctx); err != nil {
			r.t.Errorf("close the gateway: %v", err)
		}
		server.Close()
	})
}

// node puts a record into the store and gives its secret.
func (r *rig) node(id string) enroll.Secret {
	secret := enroll.NewNodeSecret()
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.store.nodes[secret.Sum] = fleet.NodeRecord{ID: id, Owner: 7, Pool: "pool-7", Role: "edge", License: "lic-1"}
	return secret
}

func bearer(secret enroll.Secret) http.Header {
	return http.Header{"Authorization": {"Bearer " + secret.Text}}
}

func (r *rig) byLicense(secret enroll.Secret) http.Header {
	return http.Header{"Authorization": {"License " + r.store.license.Text}, wire.NodeSecretHeader: {secret.Text}}
}

// agent is the other end of a session.
type agent struct {
	t    *testing.T
	conn *wsconn.Conn
	came []wire.Message // received and not yet heard
}

func (r *rig) dial(header http.Header) *agent {
	r.t.Helper()
	conn, err := wsconn.Dial(r.t.Context(), r.url, wsconn.DialOptions{Header: header})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(conn.CloseNow)
	return &agent{t: r.t, conn: conn}
}

// join dials, says hello and waits for the welcome.
func (r *rig) join(id string, secret enroll.Secret) *agent {
	r.t.Helper()
	a := r.dial(bearer(secret))
	a.say(helloFrom(id))
	hear[wire.Welcome](a)
	return a
}

func helloFrom(id string) wire.Hello {
	return wire.Hello{
		NodeID: id, ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, AgentVersion: "1.0", OS: "linux", Arch: "amd64",
		MachineID: "m-1", BootID: "b-1", Role: "edge", Backend: "cpu", Capacity: wire.Capacity{Slots: 4},
		Runners: []string{"checksum"},
	}
}

func (a *agent) say(bodies ...wire.Body) {
	a.t.Helper()
	for _, body := range bodies {
		if err := a.conn.Send(wire.Msg(body)); err != nil {
			a.t.Fatalf("send %s: %v", body.Type(), err)
		}
	}
}

// hear waits for a message of T's type; others before it are passed over.
func hear[T any, P bodyOf[T]](a *agent) T {
	a.t.Helper()
	want := P(new(T)).Type()
	overdue := time.AfterFunc(patience, a.conn.CloseNow)
	defer overdue.Stop()
	for {
		for len(a.came) > 0 {
			m := a.came[0]
			a.came = a.came[1:]
			if m.Type == want {
				body, err := wire.Decode[T, P](m)
				if err != nil {
					a.t.Fatal(err)
				}
				return body
			}
		}
		frame, err := a.conn.Receive()
		if err != nil {
			a.t.Fatalf("waiting for %s: %v", want, err)
		}
		a.came = frame.Messages
	}
}

// ended waits for the connection's end and gives its code.
func (a *agent) ended() wire.CloseCode {
	a.t.Helper()
	overdue := time.AfterFunc(patience, a.conn.CloseNow)
	defer overdue.Stop()
	for {
		frame, err := a.conn.Receive()
		if err == nil {
			a.came = append(a.came, frame.Messages...)
			continue
		}
		end, ok := err.(*wsconn.End)
		if !ok || end.Local {
			a.t.Fatalf("the server did not end the connection: %v", err)
		}
		return end.Code
	}
}

// raw is an agent that may send any bytes.
type raw struct {
	t  *testing.T
	ws *websocket.Conn
}

func (r *rig) dialRaw(header http.Header) *raw {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, r.url, &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{wire.Subprotocol}})
	if err != nil {
		r.t.Fatal(err)
	}
	ws.SetReadLimit(1 << 20)
	r.t.Cleanup(func() { _ = ws.CloseNow() })
	return &raw{t: r.t, ws: ws}
}

func (w *raw) send(frame []byte) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if err := w.ws.Write(ctx, websocket.MessageBinary, frame); err != nil {
		w.t.Fatal(err)
	}
}

// receive gives the messages of the next frame, or the close code.
func (w *raw) receive() ([]wire.Message, wire.CloseCode) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	_, frame, err := w.ws.Read(ctx)
	if err != nil {
		code := websocket.CloseStatus(err)
		if code < 0 {
			w.t.Fatalf("the connection broke: %v", err)
		}
		return nil, wire.CloseCode(code)
	}
	messages, err := wire.DecodeFrame(frame, wire.DefaultLimits())
	if err != nil {
		w.t.Fatal(err)
	}
	return messages, 0
}

// until reads until the close and gives its code and the types that came before.
func (w *raw) until() (before []wire.Type, code wire.CloseCode) {
	w.t.Helper()
	for {
		messages, code := w.receive()
		if code != 0 {
			return before, code
		}
		for _, m := range messages {
			before = append(before, m.Type)
		}
	}
}

// frameOf encodes one message.
func frameOf(t *testing.T, body wire.Body) []byte {
	t.Helper()
	frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(body))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// withKeys adds keys with the value "pool-1" to the body of a frame of one message.
func withKeys(t *testing.T, frame []byte, keys ...string) []byte {
	t.Helper()
	messages, err := wire.DecodeFrame(frame, wire.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	body := messages[0].Body
	out := slices.Clone(frame[:len(frame)-len(body)])
	count, pairs := int(body[0]&0x0f), body[1:]
	if body[0] == 0xde { // map 16
		count, pairs = int(body[1])<<8|int(body[2]), body[3:]
	}
	count += len(keys)
	out = append(out, 0xde, byte(count>>8), byte(count))
	out = append(out, pairs...)
	for _, key := range keys {
		out = append(append(out, 0xa0|byte(len(key))), key...)
		out = append(append(out, 0xa6), "pool-1"...)
	}
	return out
}

func job(n byte) ids.JobID { return ids.JobID{0: 1, 6: 0x70, 8: 0x80, 15: n} }

func basic(user string) string { return base64.StdEncoding.EncodeToString([]byte(user + ":x")) }

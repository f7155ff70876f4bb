package load

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rockpool/shared/wire"
)

// redialWindow is over which nodes spread their first redial: the server's default.
const redialWindow = 5 * time.Second

// plainVariable makes this program the plain server instead of running tests, on
// the address that is its value.
const plainVariable = "ROCKPOOL_TEST_PLAIN"

// servePlain is what one would write first: websocket.Accept with the channel's
// subprotocol, and a loop in the handler that reads and decodes heartbeats. After
// each ?every=N-th one of a connection it writes an acknowledgement as large as
// ours. It knows no nodes, no credentials, no leases, no pings and no budgets. Its
// address goes to stdout; memory is read as from our server.
func servePlain() error {
	listener, err := net.Listen("tcp", os.Getenv(plainVariable))
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET "+wire.ChannelPath, acceptPlain)
	if _, err := fmt.Fprintln(os.Stdout, listener.Addr()); err != nil {
		return err
	}
	return http.Serve(listener, mux)
}

func acceptPlain(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{wire.Subprotocol}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return
	}
	defer conn.CloseNow()
	every, err := strconv.Atoi(r.Header.Get(everyHeader))
	if err != nil {
		every = 1
		if welcomePlain(conn) != nil {
			return
		}
	}
	for n := 1; ; n++ {
		if err := readPlain(conn); err != nil {
			return
		}
		if n%every == 0 {
			if err := writePlain(conn); err != nil {
				return
			}
		}
	}
}

// everyHeader says after how many heartbeats the plain server writes an
// acknowledgement. Without it a node dials, whose hello comes first.
const everyHeader = "Plain-Every"

// welcomePlain answers a hello, whatever it says, with the same welcome.
func welcomePlain(conn *websocket.Conn) error {
	if _, _, err := conn.Read(context.Background()); err != nil {
		return err
	}
	return sendPlain(conn, wire.Welcome{
		Proto: wire.ProtoMax, NodeID: "plain", Epoch: 1, Limits: wire.DefaultLimits(),
		Times: wire.Times{Heartbeat: 10_000, Suspect: 25_000, Lost: 90_000, RedialWindow: redialWindow.Milliseconds()},
	})
}

func readPlain(conn *websocket.Conn) error {
	_, frame, err := conn.Read(context.Background())
	if err != nil {
		return err
	}
	messages, err := wire.DecodeFrame(frame, wire.DefaultLimits())
	if err != nil {
		return err
	}
	_, err = wire.Decode[wire.Heartbeat](messages[0])
	return err
}

func writePlain(conn *websocket.Conn) error {
	return sendPlain(conn, wire.HeartbeatAck{OK: true, LeaseMs: 25_000})
}

func sendPlain(conn *websocket.Conn, body wire.Body) error {
	frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(body))
	if err != nil {
		return err
	}
	return conn.Write(context.Background(), websocket.MessageBinary, frame)
}

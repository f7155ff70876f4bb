package wsconn

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// names is a DNS server that gives every name one address, to be kept for a day.
type names struct{ address atomic.Pointer[net.IP] }

// answer is the response to a query of one question.
func (n *names) answer(query []byte) []byte {
	const header, typeA = 12, 1
	end := header
	for query[end] != 0 { // labels of the name
		end += int(query[end]) + 1
	}
	end += 5
	response := append([]byte(nil), query[:end]...)
	copy(response[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}) // a response without answers, for now
	if binary.BigEndian.Uint16(query[end-4:]) != typeA {
		return response
	}
	response[7] = 1
	response = append(response, 0xc0, header, 0, typeA, 0, 1, 0, 1, 0x51, 0x80, 0, 4)
	return append(response, n.address.Load().To4()...)
}

func serveNames(t *testing.T) *names {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n, done := &names{}, make(chan struct{})
	go func() {
		defer close(done)
		query := make([]byte, 512)
		for {
			size, from, err := socket.ReadFrom(query)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(n.answer(query[:size]), from)
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = before; _ = socket.Close(); <-done })
	return n
}

// TestDial_ResolvesTheNameAnewEachTime: a control plane that has moved is found with
// the very next dial, whatever the record's lifetime says.
func TestDial_ResolvesTheNameAnewEachTime(t *testing.T) {
	resolver := serveNames(t)
	first, err := net.Listen("tcp4", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this machine has one loopback address only: %v", err)
	}
	_, port, _ := net.SplitHostPort(first.Addr().String())
	second, err := net.Listen("tcp4", "127.0.0.3:"+port)
	if err != nil {
		t.Fatal(err)
	}
	reached := make(chan string, 2)
	for _, listener := range []net.Listener{first, second} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached <- r.Context().Value(http.LocalAddrContextKey).(net.Addr).(*net.TCPAddr).IP.String()
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}))
		_ = server.Listener.Close()
		server.Listener = listener
		server.Start()
		t.Cleanup(server.Close)
	}
	for _, address := range []string{"127.0.0.2", "127.0.0.3"} {
		ip := net.ParseIP(address)
		resolver.address.Store(&ip)
		if _, err := Dial(t.Context(), "http://fleet.rockpool.test:"+port, DialOptions{}); err == nil {
			t.Fatal("dialed, although the server says no")
		}
		select {
		case got := <-reached:
			if got != address {
				t.Errorf("reached %s, the name stands for %s now", got, address)
			}
		default:
			t.Errorf("nobody was reached at %s", address)
		}
	}
}

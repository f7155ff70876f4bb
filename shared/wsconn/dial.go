package wsconn

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"rockpool/shared/wire"
)

// DialTimeout bounds name resolution, connection, TLS and upgrade together: short
// enough that a stuck dial does not delay recovery.
const DialTimeout = 15 * time.Second

// DialOptions of the agent's side.
type DialOptions struct {
	Options
	Header http.Header // Authorization and what belongs to it
	TLS    *tls.Config // nil: the system's roots
	// Proxy chooses a proxy, as in http.Transport; nil dials directly.
	Proxy func(*http.Request) (*url.URL, error)
}

// Refusal is an answer to the upgrade other than yes.
type Refusal struct {
	Status     int
	RetryAfter time.Duration // what the server asked for; 0 if nothing
	Text       string        // what it says, in one line; empty: nothing that a person reads
}

func (r *Refusal) Error() string {
	text := fmt.Sprintf("server refused the upgrade: %d %s", r.Status, http.StatusText(r.Status))
	if r.Text != "" {
		text += ": " + r.Text
	}
	return text
}

// Dial connects to a ws, wss, http or https URL. ctx and DialTimeout bound the
// dial, not the connection. Names are resolved anew each time, redirects are not
// followed, HTTP/2 and compression are off. Unless told otherwise the connection
// sends no more than the server takes before the hello. An answer other than 101
// is a *Refusal.
func Dial(ctx context.Context, address string, options DialOptions) (*Conn, error) {
	setDefault(&options.SendLimits, wire.HelloLimits())
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	var raw atomic.Pointer[net.Conn]
	transport := newTransport(options, &raw)
	defer transport.CloseIdleConnections()
	ws, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPClient: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		HTTPHeader:      options.Header,
		Subprotocols:    []string{wire.Subprotocol},
		CompressionMode: websocket.CompressionDisabled,
	})
	switch {
	case err != nil && response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		return nil, newRefusal(response)
	case err != nil:
		return nil, fmt.Errorf("dial the control plane: %w", err)
	}
	return checked(newConn(ws, *raw.Load(), nil, options.Options))
}

// newTransport makes a transport for one dial, which records the connection it makes.
func newTransport(options DialOptions, raw *atomic.Pointer[net.Conn]) *http.Transport {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if options.TLS != nil {
		config = options.TLS.Clone()
	}
	config.NextProtos = []string{"http/1.1"}
	dialer := &net.Dialer{KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:           options.Proxy,
		TLSClientConfig: config,
		TLSNextProto:    map[string]func(string, *tls.Conn) http.RoundTripper{},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				raw.Store(&conn)
			}
			return conn, err
		},
		MaxResponseHeaderBytes: 32 << 10,
	}
}

func newRefusal(response *http.Response) *Refusal {
	return &Refusal{
		Status:     response.StatusCode,
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
		Text:       wire.AnswerText(response.Header.Get("Content-Type"), response.Body, 512),
	}
}

// retryAfter reads seconds or a date, at most a day.
func retryAfter(value string, now time.Time) time.Duration {
	const atMost = 24 * time.Hour
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(max(0, min(seconds, int64(atMost/time.Second)))) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, min(date.Sub(now), atMost))
	}
	return 0
}

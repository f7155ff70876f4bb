package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"rockpool/shared/wire"
)

// Artifacts fetches artifacts over HTTP with the node's secret.
type Artifacts struct {
	server *url.URL
	secret func() string
	wait   time.Duration // for an answer, and for each next piece of a body
	client *http.Client
}

// NewArtifacts makes a client of the server's artifacts. Wait bounds every single
// wait; a transfer that goes on may take long.
func NewArtifacts(server *url.URL, config *tls.Config, secret func() string, wait time.Duration) *Artifacts {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, TLSHandshakeTimeout: wait, ResponseHeaderTimeout: wait,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	return &Artifacts{server: server, secret: secret, wait: wait, client: &http.Client{
		Transport: transport,
		// A redirect would carry the secret to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// StatusError is an answer other than 200.
type StatusError struct {
	Status int
	Body   string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("server answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Body != "" {
		text += ": " + e.Body
	}
	return text
}

// Final reports an answer that another try would not change.
func (e *StatusError) Final() bool {
	return e.Status >= 300 && e.Status < 500 && e.Status != http.StatusTooManyRequests && e.Status != http.StatusRequestTimeout
}

// Open begins to read an artifact. Errors: *StatusError, or what the network says.
func (a *Artifacts) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server.JoinPath("v1", "artifacts", digest).String(), nil)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("ask for an artifact: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+a.secret())
	response, err := a.client.Do(request)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("ask for an artifact: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		defer cancel()
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 512))
		return nil, &StatusError{response.StatusCode, wire.CleanText(string(text), 512)}
	}
	return &patient{response.Body, cancel, time.AfterFunc(a.wait, cancel), a.wait}, nil
}

// Close lets go of idle connections.
func (a *Artifacts) Close() { a.client.CloseIdleConnections() }

// patient is a body that may take long but must not stand still.
type patient struct {
	body   io.ReadCloser
	cancel context.CancelFunc
	timer  *time.Timer
	wait   time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	p.timer.Reset(p.wait)
	return n, err
}

func (p *patient) Close() error {
	p.timer.Stop()
	p.cancel()
	return p.body.Close()
}

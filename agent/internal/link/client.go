package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"rockpool/shared/wire"
)

// Client fetches and uploads artifacts, and hands in new secrets, over HTTP with the
// secret that the node has.
type Client struct {
	server *url.URL
	secret func() string
	wait   time.Duration // for an answer, and for each next piece of a body
	client *http.Client
}

// NewClient makes a client of the control plane at that address. Wait bounds every single
// wait; a transfer that goes on may take long.
func NewClient(server *url.URL, config *tls.Config, secret func() string, wait time.Duration) *Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, TLSHandshakeTimeout: wait, ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	return &Client{server: server, secret: secret, wait: wait, client: &http.Client{
		Transport:     transport,
		CheckRedirect: sameOrigin,
	}}
}

// maxRedirects is how many are followed.
const maxRedirects = 3

// sameOrigin follows a redirect on the same server only: another one would be shown
// the secret. Elsewhere the redirect itself is the answer.
func sameOrigin(next *http.Request, before []*http.Request) error {
	if from := before[0].URL; next.URL.Scheme != from.Scheme || next.URL.Host != from.Host || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// StatusError is an answer other than success.
type StatusError struct {
	Status int
	Text   string // what it says, in one line; empty: nothing that a person reads
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("server answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// StatusCode is the answer's.
func (e *StatusError) StatusCode() int { return e.Status }

// Final reports an answer that another try would not change: a place without room
// gets none so soon.
func (e *StatusError) Final() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return false
	}
	return e.Status >= 300 && e.Status < 500 || e.Status == http.StatusInsufficientStorage
}

// do sends a request and demands one of the statuses; the caller closes the body.
func (c *Client) do(request *http.Request, want ...int) (*http.Response, error) {
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	if slices.Contains(want, response.StatusCode) {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, &StatusError{response.StatusCode, wire.AnswerText(response.Header.Get("Content-Type"), response.Body, 512)}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// patience is for what may take long but must not stand still: it ends its
// context when nothing has moved for a while.
type patience struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func newPatience(ctx context.Context, wait time.Duration) *patience {
	ctx, cancel := context.WithCancelCause(ctx)
	still := fmt.Errorf("nothing moved for %v", wait)
	return &patience{ctx, cancel, time.AfterFunc(wait, func() { cancel(still) })}
}

// why is the reason behind an error: who ended the context says more than that it ended.
func (p *patience) why(err error) error {
	if cause := context.Cause(p.ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

func (p *patience) end() {
	p.timer.Stop()
	p.cancel(nil)
}

// moving is a reader whose every piece resets the patience.
type moving struct {
	from io.Reader
	*patience
	wait time.Duration
}

func (m moving) Read(b []byte) (int, error) {
	n, err := m.from.Read(b)
	m.timer.Reset(m.wait)
	return n, err
}

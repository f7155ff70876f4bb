package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"rockpool/shared/nodecore"
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
		Transport: transport,
		// A redirect would carry the secret to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// StatusError is an answer other than success.
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

// StatusCode is the answer's.
func (e *StatusError) StatusCode() int { return e.Status }

// Final reports an answer that another try would not change.
func (e *StatusError) Final() bool {
	return e.Status >= 300 && e.Status < 500 && e.Status != http.StatusTooManyRequests && e.Status != http.StatusRequestTimeout
}

// Open begins to read an artifact. Errors: *StatusError, or what the network says.
func (c *Client) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	wait := newPatience(ctx, c.wait)
	request, err := c.request(wait.ctx, http.MethodGet, digest)
	if err != nil {
		wait.end()
		return nil, err
	}
	response, err := c.do(request, http.StatusOK)
	if err != nil {
		wait.end()
		return nil, fmt.Errorf("ask for an artifact: %w", wait.why(err))
	}
	return &download{moving{response.Body, wait, c.wait}, response.Body}, nil
}

// uploadPace is what a server's disk takes at the least in a second: the answer
// to an upload comes once all of it is safe.
const uploadPace = 16 << 20

// Put uploads a file as an output of the attempt that the node holds; the server
// checks the digest. Errors are as those of Open.
func (c *Client) Put(ctx context.Context, ref nodecore.Ref, out wire.Output, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("upload an artifact: %w", err)
	}
	wait := newPatience(ctx, c.wait)
	defer wait.end()
	request, err := c.request(wait.ctx, http.MethodPut, out.Digest)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	request.URL.RawQuery = url.Values{"job": {ref.Job.String()}, "attempt": {strconv.Itoa(int(ref.Attempt))}}.Encode()
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Expect", "100-continue") // a refusal comes before the bytes leave
	request.ContentLength = out.Size
	// Closed below, not by the transport: it is done with the body before the answer.
	request.Body = io.NopCloser(moving{file, wait, c.wait + time.Duration(out.Size/uploadPace)*time.Second})
	if out.Size == 0 {
		request.Body = http.NoBody
	}
	response, err := c.do(request, http.StatusCreated)
	_ = file.Close() // it was only read; what the transport still reads fails
	if err != nil {
		return fmt.Errorf("upload an artifact: %w", wait.why(err))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10)) // so that the connection is used again
	return response.Body.Close()
}

func (c *Client) request(ctx context.Context, method, digest string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.server.JoinPath("v1", "artifacts", digest).String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask for an artifact: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.secret())
	return request, nil
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
	text, _ := io.ReadAll(io.LimitReader(response.Body, 512))
	return nil, &StatusError{response.StatusCode, wire.CleanText(string(text), 512)}
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

// download is the body of an artifact that is read.
type download struct {
	moving
	body io.Closer
}

func (d *download) Close() error {
	d.end()
	return d.body.Close()
}

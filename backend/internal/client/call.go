package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rockpool/backend/internal/rest"
)

// Bounds of one call.
const (
	callTimeout = 100 * time.Second // of one try; the server gives its own work less and says so
	maxTries    = 4
	maxPause    = 10 * time.Second // between two tries, whatever the server asks for
	maxDocument = 64 << 20         // bytes of a JSON answer
)

// call is one request with a JSON answer.
type call struct {
	method string
	path   string // escaped; see route
	query  url.Values
	header map[string]string
	body   any           // a document, or nil
	wait   time.Duration // that the server is asked to hold the answer
}

// route makes a path of segments, each escaped, so that an id can't leave its place.
func route(segments ...string) string {
	var path strings.Builder
	for _, s := range segments {
		path.WriteByte('/')
		if s == "." || s == ".." {
			s = strings.ReplaceAll(s, ".", "%2E")
		} else {
			s = url.PathEscape(s)
		}
		path.WriteString(s)
	}
	return path.String()
}

// repeatable reports a call that does the same when it is sent again.
func (in call) repeatable() bool {
	return in.method == http.MethodGet || in.header[rest.HeaderIdempotencyKey] != ""
}

// do sends the call and reads the answer into out (nil: it is dropped). A
// repeatable one that meets 503 with Retry-After is sent again, maxTries times in
// all. Errors: *Problem, *StatusError, or why the server was not reached.
func (c *Client) do(ctx context.Context, in call, out any) error {
	var payload []byte
	if in.body != nil {
		var err error
		if payload, err = json.Marshal(in.body); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
	}
	for try := 1; ; try++ {
		after, err := c.try(ctx, in, payload, out)
		if err == nil || after < 0 || !in.repeatable() || try == maxTries || !pause(ctx, min(after, maxPause)) {
			return err
		}
	}
}

// try sends the call once. after is the pause that a 503 asked for, else negative.
func (c *Client) try(ctx context.Context, in call, payload []byte, out any) (after time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout+in.wait, errSilent)
	defer cancel()
	var body io.Reader
	if payload != nil {
		body = bytes.NewReader(payload)
	}
	req, err := c.request(ctx, in.method, in.path, in.query, body)
	if err != nil {
		return -1, err
	}
	for name, value := range in.header {
		req.Header.Set(name, value)
	}
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.send(req)
	if err != nil {
		return -1, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return retryAfter(resp, time.Now()), refusal(resp)
	}
	return -1, c.read(resp, out)
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	target := c.server + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Accept", "application/json, "+rest.ProblemType)
	req.Header.Set("User-Agent", c.userAgent)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

var errSilent = errors.New("no answer in time")

func (c *Client) send(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err == nil {
		return resp, nil
	}
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err // its text repeats the whole address
	}
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(req.Context()) == errSilent {
		err = errSilent
	}
	return nil, fmt.Errorf("ask %s: %w", c.server, err)
}

func (c *Client) read(resp *http.Response, out any) error {
	if out == nil {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.server, err)
	}
	if len(body) > maxDocument {
		return fmt.Errorf("the answer of %s is larger than %d bytes", c.server, maxDocument)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("the answer of %s is no document of Rockpool's API (is it another server?): %w", c.server, err)
	}
	return nil
}

// pause waits, and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

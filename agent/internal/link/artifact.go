package link

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// Headers of an upload in parts.
const (
	headerOffset = "Upload-Offset"
	headerLength = "Upload-Length"
)

// Open begins to read an artifact at an offset; at is where the body begins, which
// is 0 when the server does not go on. Errors: *StatusError, or what the network says.
func (c *Client) Open(ctx context.Context, digest string, offset int64) (body io.ReadCloser, at int64, err error) {
	wait := newPatience(ctx, c.wait)
	defer func() {
		if err != nil {
			wait.end()
		}
	}()
	request, err := c.request(wait.ctx, http.MethodGet, "artifacts", digest)
	if err != nil {
		return nil, 0, err
	}
	want := []int{http.StatusOK}
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		request.Header.Set("If-Range", strconv.Quote(digest))
		want = append(want, http.StatusPartialContent)
	}
	response, err := c.do(request, want...)
	if err != nil {
		return nil, 0, fmt.Errorf("ask for an artifact: %w", wait.why(err))
	}
	if response.StatusCode == http.StatusPartialContent {
		if !strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)) {
			_ = response.Body.Close()
			return nil, 0, fmt.Errorf("ask for an artifact from byte %d on: the server sends %q", offset, wire.CleanText(response.Header.Get("Content-Range"), 64))
		}
		at = offset
	}
	return &download{moving{response.Body, wait, c.wait}, response.Body}, at, nil
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

// Offset asks how much of an output of the attempt the server has already.
func (c *Client) Offset(ctx context.Context, ref nodecore.Ref, digest string) (int64, error) {
	wait := newPatience(ctx, c.wait)
	defer wait.end()
	request, err := c.request(wait.ctx, http.MethodHead, "uploads", digest)
	if err != nil {
		return 0, err
	}
	request.URL.RawQuery = attemptQuery(ref)
	response, err := c.do(request, http.StatusOK, http.StatusNoContent)
	if err != nil {
		return 0, fmt.Errorf("ask how much of an artifact is uploaded: %w", wait.why(err))
	}
	_ = response.Body.Close()
	offset, err := strconv.ParseInt(response.Header.Get(headerOffset), 10, 64)
	if err != nil || offset < 0 {
		return 0, fmt.Errorf("ask how much of an artifact is uploaded: the server answers with no %s", headerOffset)
	}
	return offset, nil
}

// uploadPace is what a server's disk takes at the least in a second: the answer
// to an upload comes once all of it is safe.
const uploadPace = 16 << 20

// Put uploads content from an offset on, as an output of the attempt that the node
// holds; the server checks the digest of the whole. What is cut goes on from the
// Offset that the server has then. Errors are as those of Open.
func (c *Client) Put(ctx context.Context, ref nodecore.Ref, out wire.Output, content io.ReaderAt, offset int64) error {
	wait := newPatience(ctx, c.wait)
	defer wait.end()
	request, err := c.request(wait.ctx, http.MethodPatch, "uploads", out.Digest)
	if err != nil {
		return err
	}
	request.URL.RawQuery = attemptQuery(ref)
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Expect", "100-continue") // a refusal comes before the bytes leave
	request.Header.Set(headerOffset, strconv.FormatInt(offset, 10))
	request.Header.Set(headerLength, strconv.FormatInt(out.Size, 10))
	request.ContentLength = out.Size - offset
	rest := io.NewSectionReader(content, offset, out.Size-offset)
	// The caller's to close, not the transport's.
	request.Body = io.NopCloser(moving{rest, wait, c.wait + time.Duration(out.Size/uploadPace)*time.Second})
	if request.ContentLength == 0 {
		request.Body = http.NoBody
	}
	response, err := c.do(request, http.StatusCreated)
	if err != nil {
		return fmt.Errorf("upload an artifact: %w", wait.why(err))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10)) // so that the connection is used again
	return response.Body.Close()
}

func attemptQuery(ref nodecore.Ref) string {
	return url.Values{"job": {ref.Job.String()}, "attempt": {strconv.Itoa(int(ref.Attempt))}}.Encode()
}

func (c *Client) request(ctx context.Context, method, what, digest string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.server.JoinPath("v1", what, digest).String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask for an artifact: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.secret())
	return request, nil
}

package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"rockpool/backend/internal/rest"
)

const digestPrefix = "sha256:"

// ErrDigest says that downloaded bytes are not what their digest names.
var ErrDigest = errors.New("the bytes do not match the digest")

// IsDigest reports the one spelling of an artifact's address.
func IsDigest(s string) bool {
	letters, ok := strings.CutPrefix(s, digestPrefix)
	sum, err := hex.DecodeString(letters)
	return ok && err == nil && len(sum) == sha256.Size && strings.ToLower(letters) == letters
}

// HasArtifact reports whether the server keeps the artifact for the asking user.
func (c *Client) HasArtifact(ctx context.Context, digest string) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errSilent)
	defer cancel()
	req, err := c.request(ctx, http.MethodHead, route("v1", "artifacts", digest), nil, nil)
	if err != nil {
		return false, err
	}
	resp, err := c.send(req)
	if err != nil {
		return false, err
	}
	resp.Body.Close()
	switch {
	case resp.StatusCode < 300:
		return true, nil
	case resp.StatusCode == http.StatusNotFound:
		return false, nil
	}
	return false, refusal(resp)
}

// UploadFile uploads a regular file unless the server has its content already,
// and returns its address. Its bytes are summed first and then streamed. What an
// earlier upload of it that broke off brought is not sent again.
func (c *Client) UploadFile(ctx context.Context, path string) (rest.Artifact, error) {
	// Asked before it is opened: opening a pipe waits for its writer.
	if info, err := os.Stat(path); err != nil {
		return rest.Artifact{}, fmt.Errorf("find a file to upload: %w", err)
	} else if !info.Mode().IsRegular() {
		return rest.Artifact{}, fmt.Errorf("upload %s: it is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return rest.Artifact{}, fmt.Errorf("open a file to upload: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return rest.Artifact{}, fmt.Errorf("read %s: %w", path, err)
	}
	digest := digestOf(sum)
	if there, err := c.HasArtifact(ctx, digest); err != nil || there {
		return rest.Artifact{Digest: digest, Size: size}, err
	}
	offset, err := c.UploadOffset(ctx, digest)
	if err != nil {
		return rest.Artifact{}, err
	}
	offset = min(offset, size)
	return c.PatchUpload(ctx, digest, offset, size, io.NewSectionReader(file, offset, size-offset))
}

// PutArtifact uploads exactly size bytes of body, which the server checks
// against digest.
func (c *Client) PutArtifact(ctx context.Context, digest string, size int64, body io.Reader) (rest.Artifact, error) {
	req, err := c.upload(ctx, http.MethodPut, "artifacts", digest, size, body)
	if err != nil {
		return rest.Artifact{}, err
	}
	req.Header.Set(rest.HeaderContentDigest, contentDigest(digest))
	return c.kept(req)
}

// UploadOffset asks how many bytes of an upload in parts the server has.
func (c *Client) UploadOffset(ctx context.Context, digest string) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errSilent)
	defer cancel()
	req, err := c.request(ctx, http.MethodHead, route("v1", "uploads", digest), nil, nil)
	if err != nil {
		return 0, err
	}
	resp, err := c.send(req)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		return 0, refusal(resp)
	}
	offset, err := strconv.ParseInt(resp.Header.Get(rest.HeaderUploadOffset), 10, 64)
	if err != nil || offset < 0 {
		return 0, fmt.Errorf("the server answers with no %s", rest.HeaderUploadOffset)
	}
	return offset, nil
}

// PatchUpload uploads the rest of a file of size bytes, from offset on: what is cut
// can go on later.
func (c *Client) PatchUpload(ctx context.Context, digest string, offset, size int64, body io.Reader) (rest.Artifact, error) {
	req, err := c.upload(ctx, http.MethodPatch, "uploads", digest, size-offset, body)
	if err != nil {
		return rest.Artifact{}, err
	}
	req.Header.Set(rest.HeaderUploadOffset, strconv.FormatInt(offset, 10))
	req.Header.Set(rest.HeaderUploadLength, strconv.FormatInt(size, 10))
	return c.kept(req)
}

// upload is a request with exactly size bytes of body.
func (c *Client) upload(ctx context.Context, method, what, digest string, size int64, body io.Reader) (*http.Request, error) {
	if !IsDigest(digest) {
		return nil, fmt.Errorf("%q is no digest: it reads sha256: and 64 lower-case hex digits", digest)
	}
	// NopCloser: the transport shall not close what it did not open.
	req, err := c.request(ctx, method, route("v1", what, digest), nil, io.NopCloser(body))
	if err != nil {
		return nil, err
	}
	req.ContentLength = size
	if size == 0 {
		req.Body = http.NoBody
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	return req, nil
}

// kept sends an upload, of which the server has the whole then.
func (c *Client) kept(req *http.Request) (kept rest.Artifact, err error) {
	resp, err := c.send(req)
	if err != nil {
		return kept, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return kept, refusal(resp)
	}
	return kept, c.read(resp, &kept)
}

// GetArtifact streams an artifact to w and checks its bytes on the way: when it
// returns an error (ErrDigest among them) what was written is not to be used.
func (c *Client) GetArtifact(ctx context.Context, digest string, w io.Writer) (int64, error) {
	if !IsDigest(digest) {
		return 0, fmt.Errorf("%q is no digest: it reads sha256: and 64 lower-case hex digits", digest)
	}
	req, err := c.request(ctx, http.MethodGet, route("v1", "artifacts", digest), nil, nil)
	if err != nil {
		return 0, err
	}
	resp, err := c.send(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return 0, refusal(resp)
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(w, sum), resp.Body)
	if err != nil {
		return size, fmt.Errorf("fetch %s: %w", digest, err)
	}
	if got := digestOf(sum); got != digest {
		return size, fmt.Errorf("fetch %s: %w: they are %s", digest, ErrDigest, got)
	}
	return size, nil
}

func digestOf(sum hash.Hash) string { return digestPrefix + hex.EncodeToString(sum.Sum(nil)) }

// contentDigest is the digest as RFC 9530 writes it.
func contentDigest(digest string) string {
	sum, _ := hex.DecodeString(strings.TrimPrefix(digest, digestPrefix)) // IsDigest said so
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum) + ":"
}

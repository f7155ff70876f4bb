package api

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

// uploadStall is how long an upload may bring nothing.
const uploadStall = 30 * time.Second

// sender is who uploads a file, and whose it will be.
type sender struct {
	name  string // the same for each part of one file, and nobody else's
	owner int64
	note  func(*call, record.Artifact) error
}

// sender is a user, for whom the file is kept, or a node that has an output of an
// attempt that it holds.
func (a *API) sender(c *call) (sender, error) {
	if c.who.Kind == access.ByNodeSecret {
		return a.nodeSender(c)
	}
	if c.QueryParam("job") != "" || c.QueryParam("attempt") != "" {
		return sender{}, badRequest("job and attempt are for nodes, which upload outputs")
	}
	user := c.who.User.ID
	return sender{name: "user " + userText(user), owner: user, note: func(c *call, row record.Artifact) error {
		row.Owner = user
		return a.store.PutArtifact(c.ctx(), row)
	}}, nil
}

// pathDigest is the path's artifact that is uploaded.
func (c *call) pathDigest() (artifact.Digest, error) {
	digest, ok := artifact.ParseDigest(c.param("digest"))
	if !ok {
		return "", badRequest("the path ends with sha256: and 64 lower-case hex digits")
	}
	return digest, nil
}

// putArtifact takes a file under the digest in the path.
func (a *API) putArtifact(c *call) error {
	digest, err := c.pathDigest()
	if err != nil {
		return err
	}
	return a.takeWhole(c, digest)
}

// postArtifact takes a file and answers under which digest it is kept.
func (a *API) postArtifact(c *call) error { return a.takeWhole(c, "") }

// takeWhole takes a file in one request. What the client says of its digest, in the
// path, in ?digest or as Content-Digest, must be true.
func (a *API) takeWhole(c *call, announced artifact.Digest) error {
	by, err := a.sender(c)
	if err != nil {
		return err
	}
	announced, err = c.announced(announced)
	if err != nil {
		return err
	}
	return a.take(c, by, artifact.Upload{Digest: announced, Size: c.Request().ContentLength})
}

// take receives the body as the upload's next bytes, and answers what is kept or
// how much is there.
func (a *API) take(c *call, by sender, u artifact.Upload) error {
	if c.Request().ContentLength < 0 {
		return badRequest("send Content-Length: an upload says how long it is")
	}
	u.Owner = by.owner
	conn := http.NewResponseController(c.Response())
	body := &stallGuard{Reader: c.Request().Body, conn: conn}
	got, err := a.artifacts.Receive(c.ctx(), u, body, func(digest artifact.Digest) error {
		readWithin(conn, 0)
		return by.note(c, record.Artifact{Digest: string(digest), Size: u.Size, CreatedAt: a.now()})
	})
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return endedEarly(err)
	case err != nil:
		return err
	case !got.Whole:
		readWithin(conn, 0)
		return a.answerOffset(c, got.Size)
	}
	return c.created("/v1/artifacts/"+string(got.Digest), rest.Artifact{Digest: string(got.Digest), Size: got.Size})
}

// announced is what the client says that the digest is; empty: nothing.
func (c *call) announced(inPath artifact.Digest) (artifact.Digest, error) {
	digest := inPath
	if text := c.QueryParam("digest"); text != "" {
		asked, ok := artifact.ParseDigest(text)
		if !ok || digest != "" && digest != asked {
			return "", badRequest("digest must be sha256: and 64 lower-case hex digits")
		}
		digest = asked
	}
	header := c.Request().Header.Get(rest.HeaderContentDigest)
	if header == "" {
		return digest, nil
	}
	said, ok := parseContentDigest(header)
	if !ok {
		return "", badRequest("%s must be sha-256=:<base64>: (RFC 9530)", rest.HeaderContentDigest)
	}
	if digest != "" && digest != said {
		return "", badRequest("%s and the announced digest differ", rest.HeaderContentDigest)
	}
	return said, nil
}

// parseContentDigest reads the sha-256 member of RFC 9530's header.
func parseContentDigest(header string) (artifact.Digest, bool) {
	for member := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		if name != "sha-256" {
			continue
		}
		text, opened := strings.CutPrefix(value, ":")
		text, closed := strings.CutSuffix(text, ":")
		sum, err := base64.StdEncoding.DecodeString(text)
		return artifact.DigestOf(sum), opened && closed && err == nil && len(sum) == 32
	}
	return "", false
}

// endedEarly is a body of which no more comes: its connection broke, or stands still.
func endedEarly(err error) error {
	return &fleet.Error{Code: fleet.CodeBadRequest, Detail: "the body ended early", Cause: err}
}

// stallGuard ends an upload that brings nothing for uploadStall.
type stallGuard struct {
	io.Reader
	conn *http.ResponseController
}

func (g *stallGuard) Read(p []byte) (int, error) {
	readWithin(g.conn, uploadStall)
	n, err := g.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = endedEarly(err) // the client's, not the disk's
	}
	return n, err
}

// getArtifact serves a file's bytes to those who own it, and to a node for an
// input of a job that is open there. It is never shown in place: whoever made
// the bytes is not trusted by a browser that opens them.
func (a *API) getArtifact(c *call) error {
	digest, ok := artifact.ParseDigest(c.param("digest"))
	if !ok {
		return notFound("artifact")
	}
	row, err := a.findArtifact(c, digest)
	if err != nil {
		return err
	}
	file, err := a.artifacts.Get(digest)
	if err != nil {
		return err
	}
	defer file.Close()
	return serveArtifact(c, digest, row.Size, file)
}

func (a *API) findArtifact(c *call, digest artifact.Digest) (record.Artifact, error) {
	if c.who.Kind == access.ByNodeSecret {
		return a.store.ArtifactForNode(c.ctx(), string(digest), c.who.Node.ID)
	}
	return a.store.Artifact(c.ctx(), string(digest), c.owner())
}

func serveArtifact(c *call, digest artifact.Digest, size int64, file *os.File) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, echo.MIMEOctetStream)
	h.Set(echo.HeaderContentDisposition, "attachment")
	h.Set(echo.HeaderContentSecurityPolicy, "sandbox; default-src 'none'; frame-ancestors 'none'")
	h.Set("ETag", strconv.Quote(string(digest)))
	// Ranges and conditions come with it; the moment says nothing, the ETag all.
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, io.NewSectionReader(file, 0, size))
	return nil
}

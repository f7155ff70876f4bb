package api

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/rest"
)

// Uploads in parts: HEAD tells how much of a file is there, PATCH adds to it. A
// connection that broke costs what was in flight.

// uploadOffset says from where on the asker's upload goes on.
func (a *API) uploadOffset(c *call) error {
	_, u, err := a.uploadOf(c)
	if err != nil {
		return err
	}
	offset, err := a.artifacts.Offset(u.Sender, u.Digest)
	if err != nil {
		return err
	}
	return a.answerOffset(c, offset)
}

// uploadOf is whose upload of which file the request is about.
func (a *API) uploadOf(c *call) (by sender, u artifact.Upload, err error) {
	if u.Digest, err = c.pathDigest(); err != nil {
		return by, u, err
	}
	by, err = a.sender(c)
	u.Sender = by.name
	return by, u, err
}

func (a *API) answerOffset(c *call, offset int64) error {
	h := c.Response().Header()
	h.Set(rest.HeaderUploadOffset, strconv.FormatInt(offset, 10))
	h.Set(echo.HeaderCacheControl, "no-store")
	return c.NoContent(http.StatusNoContent)
}

// patchUpload takes the next bytes of a file; the last ones make it an artifact.
func (a *API) patchUpload(c *call) error {
	by, u, err := a.uploadOf(c)
	if err != nil {
		return err
	}
	if u.Offset, err = c.bytesIn(rest.HeaderUploadOffset); err != nil {
		return err
	}
	if u.Size, err = c.bytesIn(rest.HeaderUploadLength); err != nil {
		return err
	}
	if c.Request().ContentLength > u.Size-u.Offset {
		return badRequest("the body has more bytes than %s leaves after %s", rest.HeaderUploadLength, rest.HeaderUploadOffset)
	}
	return a.take(c, by, u)
}

// bytesIn reads a header that counts bytes.
func (c *call) bytesIn(header string) (int64, error) {
	n, err := strconv.ParseInt(c.Request().Header.Get(header), 10, 64)
	if err != nil || n < 0 {
		return 0, badRequest("%s must be a number of bytes", header)
	}
	return n, nil
}

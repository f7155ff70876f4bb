package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

// rememberTimeout bounds the keeping of an answer, which goes on when its client has
// gone.
const rememberTimeout = 5 * time.Second

// once carries a POST out one time for each Idempotency-Key of a user's, and answers
// the others as the first. What makes work takes the key along with it instead
// (Route.Keyed); uploads are what they are by their content; who has not signed in
// has no keys.
func (a *API) once(c *call, in any, do func() error) error {
	r := c.route
	if r.Method != http.MethodPost || r.Keyed || r.Streams || c.who.User.ID == 0 || c.QueryParam("dryRun") == "true" {
		return do()
	}
	posted, err := c.posted(c.Request().URL.Path, in)
	if err != nil || posted.key == "" {
		return orDo(err, do)
	}
	unlock, err := a.alone(c, posted)
	if err != nil {
		return err
	}
	defer unlock()
	claim, before, err := a.store.ClaimKey(c.ctx(), c.who.User.ID, posted.key, posted.digest)
	if err != nil {
		return err
	}
	if before != nil {
		return replay(c, before, posted)
	}
	return a.carryOut(c, claim, do)
}

func orDo(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// carryOut does what the claim is for, and keeps the answer. What was refused leaves
// the key free.
func (a *API) carryOut(c *call, claim record.Claim, do func() error) (err error) {
	c.claim = claim
	answered := &copied{ResponseWriter: c.Response().Writer}
	c.Response().Writer = answered
	done := false
	defer func() {
		c.Response().Writer = answered.ResponseWriter
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), rememberTimeout)
		defer cancel()
		var kept error
		if done && err == nil {
			kept = a.store.RememberAnswer(ctx, claim, answered.answer(c))
		} else {
			kept = a.store.ForgetKey(ctx, claim)
		}
		if kept != nil {
			a.log.Warn("an idempotency key was not brought up to its request", "request_id", requestID(c), "error", kept)
		}
	}()
	err = do()
	done = true
	return err
}

// replay answers as the first POST with the key was.
func replay(c *call, before *record.Idempotent, posted posting) error {
	switch {
	case before.RequestDigest != posted.digest:
		return errReused
	case before.Answer == nil && before.Acted:
		return fleet.Errorf(fleet.CodeConflict, "the first request with this Idempotency-Key was carried out and its answer is lost: read what it made")
	case before.Answer == nil:
		return fleet.Errorf(fleet.CodeUnavailable, "the first request with this Idempotency-Key is under way: ask again")
	}
	h := c.Response().Header()
	h.Set(rest.HeaderIdempotencyReplayed, "true")
	if before.Answer.Location != "" {
		h.Set(echo.HeaderLocation, before.Answer.Location)
	}
	switch {
	case before.Answer.Status == http.StatusNoContent:
		return c.NoContent(http.StatusNoContent)
	case before.Answer.Body == nil:
		return fleet.Errorf(fleet.CodeConflict, "the first request with this Idempotency-Key was carried out and its answer was too long to keep: read what it made")
	}
	return c.JSONBlob(before.Answer.Status, before.Answer.Body)
}

// copied keeps what a handler answers beside sending it, as far as it would be kept.
type copied struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (w *copied) Write(p []byte) (int, error) {
	if room := record.MaxAnswer + 1 - w.body.Len(); room > 0 {
		w.body.Write(p[:min(room, len(p))])
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets the connection's deadlines be set.
func (w *copied) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// answer is what was sent, without secrets.
func (w *copied) answer(c *call) record.Answer {
	answer := record.Answer{Status: c.Response().Status, Location: c.Response().Header().Get(echo.HeaderLocation)}
	if w.body.Len() > 0 && w.body.Len() <= record.MaxAnswer {
		answer.Body = withoutSecrets(w.body.Bytes())
	}
	return answer
}

// secretKeys are the keys of documents that hold secrets. None is kept, neither in
// an answer nor, where it could be guessed, in a request's digest.
var secretKeys = []string{"password", "licenseCode", "token", "secret"}

// withoutSecrets blanks the secrets of a document. What is no document comes back as
// nothing.
func withoutSecrets(doc []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(doc, &fields) != nil {
		return nil
	}
	found := false
	for _, key := range secretKeys {
		if _, has := fields[key]; has {
			fields[key], found = json.RawMessage(`""`), true
		}
	}
	if !found {
		return bytes.TrimSpace(doc)
	}
	blanked, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return blanked
}

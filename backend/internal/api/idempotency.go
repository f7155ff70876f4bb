package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"strconv"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

// maxKey is the longest Idempotency-Key, in bytes.
const maxKey = 200

// posting is what makes a POST repeatable: the client's key and the digest of
// what it asked for.
type posting struct {
	key    string // empty: it is not repeatable
	digest [32]byte
}

// posted reads the Idempotency-Key of a request for doc: 1 to maxKey visible
// ASCII characters, or none. What is asked of, such as a path, tells the same
// document for two things apart; of a job's submit it is empty.
func (c *call) posted(of string, doc any) (posting, error) {
	values := c.Request().Header.Values(rest.HeaderIdempotencyKey)
	if len(values) == 0 {
		return posting{}, nil
	}
	key := values[0]
	visible := key != "" && len(key) <= maxKey && len(values) == 1
	for i := range len(key) {
		visible = visible && key[i] > ' ' && key[i] <= '~'
	}
	if !visible {
		return posting{}, badRequest("%s is one header of 1 to %d visible characters", rest.HeaderIdempotencyKey, maxKey)
	}
	// The decoded document, not its bytes: keys are sorted and blanks gone.
	canonical, err := json.Marshal(doc)
	if _, secret := doc.(*rest.UserRequest); secret {
		canonical = withoutSecrets(canonical)
	}
	return posting{key: key, digest: sha256.Sum256(append([]byte(of), canonical...))}, err
}

// alone lets one request of the user's with this key through at a time.
func (a *API) alone(c *call, p posting) (unlock func(), err error) {
	if p.key == "" {
		return func() {}, nil
	}
	return a.keys.lock(c.ctx(), idempotencyKey{c.who.User.ID, p.key})
}

// item is the posting of one job of a batch. A client's own key holds no blank,
// so that the two can't meet; the digest is the whole batch's and the place.
func (p posting) item(index int) posting {
	if p.key == "" {
		return p
	}
	return posting{
		key:    p.key + " " + strconv.Itoa(index),
		digest: sha256.Sum256(binary.BigEndian.AppendUint32(p.digest[:], uint32(index))),
	}
}

// before is the earlier POST with the same key, if there is one. Another request
// under the same key is idempotency_key_reused.
func (a *API) before(c *call, posted posting) (earlier record.Idempotent, found bool, err error) {
	if posted.key == "" {
		return earlier, false, nil
	}
	earlier, found, err = a.store.IdempotentWork(c.ctx(), c.who.User.ID, posted.key)
	if err == nil && found && subtle.ConstantTimeCompare(earlier.RequestDigest[:], posted.digest[:]) != 1 {
		err = errReused
	}
	return earlier, found, err
}

var errReused = fleet.Errorf(fleet.CodeIdempotencyReused, "this Idempotency-Key came with another request before")

// earlier is the job of an earlier POST with the same key, or nil.
func (a *API) earlier(c *call, posted posting) (*rest.Job, error) {
	before, found, err := a.before(c, posted)
	if err != nil || !found {
		return nil, err
	}
	return a.readJob(c, before.Job)
}

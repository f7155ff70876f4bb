package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"
)

// Costs of a password's hash: memory in KiB, passes, and how many are made at
// once and may wait. A hash costs some 20 ms and as many MiB while it is made.
const (
	hashMemory  = 19 << 10
	hashPasses  = 2
	hashLength  = 32
	saltLength  = 16
	hashesAtime = 2
	hashesWait  = 30
)

// Bounds of a password, in bytes.
const (
	MinPassword = 12
	MaxPassword = 128
)

// BusyError refuses a password because too many others are being checked.
type BusyError struct{ RetryAfter time.Duration }

func (e *BusyError) Error() string { return "too many passwords are being checked: try again" }

// Hasher makes and checks argon2id hashes, few at a time: a crowd of sign-ins
// costs neither all memory nor all processors.
type Hasher struct {
	queue *semaphore.Weighted // who is in: at work or waiting
	work  *semaphore.Weighted
	dummy string // what the password of an unknown user is checked against
}

// NewHasher makes a hasher with its own dummy.
func NewHasher() *Hasher {
	h := &Hasher{queue: semaphore.NewWeighted(hashesAtime + hashesWait), work: semaphore.NewWeighted(hashesAtime)}
	h.dummy = spell(newSalt(), make([]byte, hashLength))
	return h
}

// Hash gives the text form that the store keeps. Errors: *BusyError or ctx's.
func (h *Hasher) Hash(ctx context.Context, password string) (hash string, err error) {
	err = h.turn(ctx, func() {
		salt := newSalt()
		hash = spell(salt, derive(password, salt))
	})
	return hash, err
}

// Check reports whether the password is the one of the hash. An empty hash is an
// unknown user's: it costs the same and is never right. Errors: as of Hash, or a
// hash that is none.
func (h *Hasher) Check(ctx context.Context, hash, password string) (right bool, err error) {
	unknown := hash == ""
	if unknown {
		hash = h.dummy
	}
	salt, want, err := parse(hash)
	if err != nil {
		return false, err
	}
	err = h.turn(ctx, func() { right = subtle.ConstantTimeCompare(derive(password, salt), want) == 1 })
	return right && !unknown, err
}

// turn waits for a place and works there.
func (h *Hasher) turn(ctx context.Context, work func()) error {
	if !h.queue.TryAcquire(1) {
		return &BusyError{RetryAfter: time.Second}
	}
	defer h.queue.Release(1)
	if err := h.work.Acquire(ctx, 1); err != nil {
		return err
	}
	defer h.work.Release(1)
	work()
	return nil
}

func derive(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, hashPasses, hashMemory, 1, hashLength)
}

func newSalt() []byte {
	salt := make([]byte, saltLength)
	rand.Read(salt)
	return salt
}

var hashHead = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$", argon2.Version, hashMemory, hashPasses)

func spell(salt, sum []byte) string {
	return hashHead + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(sum)
}

// parse reads a hash of these very costs: no other has ever been written.
func parse(hash string) (salt, sum []byte, err error) {
	rest, ok := strings.CutPrefix(hash, hashHead)
	salted, summed, cut := strings.Cut(rest, "$")
	if !ok || !cut {
		return nil, nil, errors.New("a stored password hash is not of this release's form")
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(salted)
	sum, sumErr := base64.RawStdEncoding.DecodeString(summed)
	return salt, sum, errors.Join(saltErr, sumErr)
}

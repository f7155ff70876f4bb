// Package ids holds the identifiers of a Rockpool fleet: their shapes, their
// validation and their order. It is pure: who makes an id (and with which clock
// and randomness) is the caller's business.
package ids

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// JobID is the UUIDv7 of a job in its 16 raw bytes: ids compare by bytes in the
// order in which they were made, in Go and in PostgreSQL alike.
type JobID [16]byte

// ErrJobID says that a text is not the id of a job.
var ErrJobID = errors.New("a job id is a lower-case UUID such as 0199c0de-0000-7000-8000-000000000000")

// ParseJobID reads the canonical 36-character form; upper case, braces and other
// spellings are refused, so that one id has one spelling.
func ParseJobID(s string) (JobID, error) {
	var id JobID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, ErrJobID
	}
	at, all := 0, byte(0)
	for i := range id {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			at++
		}
		high, low := values[s[at]], values[s[at+1]]
		id[i], all = high<<4|low, all|high|low
		at += 2
	}
	if all == noDigit {
		return JobID{}, ErrJobID
	}
	return id, nil
}

// noDigit is the value of what is no lower-case hex digit: all bits, which no digit has.
const noDigit = 0xff

// values are those of hex digits.
var values = func() (all [256]byte) {
	for i := range all {
		all[i] = noDigit
	}
	for value, digit := range []byte("0123456789abcdef") {
		all[digit] = byte(value)
	}
	return all
}()

// String gives the canonical 36-character form.
func (id JobID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], id[10:16])
	return string(b[:])
}

// IsZero reports the id that no job has.
func (id JobID) IsZero() bool { return id == JobID{} }

// Compare orders ids by bytes, which for UUIDv7 is by the time of making.
func (id JobID) Compare(other JobID) int { return slices.Compare(id[:], other[:]) }

// MarshalText lets JSON and flags write the canonical form.
func (id JobID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the canonical form.
func (id *JobID) UnmarshalText(text []byte) error {
	parsed, err := ParseJobID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// MaxName is the longest name of a node, pool or app, in bytes.
const MaxName = 63

// reserved words would read as something else in a path, a filter or a log line.
var reserved = []string{"all", "any", "auto", "me", "new", "none", "null", "self", "system", "true", "false"}

// CheckName says whether s may name a node, pool, app, role or runner:
// [a-z0-9][a-z0-9-]{0,62}, compared by bytes, no reserved word.
// The error names what is wrong and never repeats more than MaxName bytes of s.
func CheckName(s string) error {
	if s == "" {
		return errors.New("name is empty")
	}
	if len(s) > MaxName {
		return fmt.Errorf("name is longer than %d characters", MaxName)
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (c != '-' || i == 0) {
			return fmt.Errorf("name %q: use a-z, 0-9 and - only, and begin with a letter or digit", s)
		}
	}
	if slices.Contains(reserved, s) {
		return fmt.Errorf("name %q is a reserved word", s)
	}
	return nil
}

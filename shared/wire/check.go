package wire

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"rockpool/shared/ids"
)

// checker collects the first thing that is wrong with a message. Its methods do
// nothing once there is one, so that a Validate reads as a list of rules.
type checker struct {
	kind Type
	bad  *BadMessage
}

// err is the verdict: nil, or a *BadMessage.
func (c *checker) err() error {
	if c.bad == nil {
		return nil
	}
	return c.bad
}

func (c *checker) fail(field, problem string) {
	if c.bad == nil {
		c.bad = &BadMessage{Type: c.kind, Field: field, Problem: problem}
	}
}

// within demands lo ≤ n ≤ hi.
func (c *checker) within(field string, n, lo, hi int64) {
	if n < lo || n > hi {
		c.fail(field, fmt.Sprintf("must be %d..%d", lo, hi))
	}
}

// count demands an integer that is not negative.
func (c *checker) count(field string, n int64) { c.within(field, n, 0, MaxInteger) }

// list demands at most limit items.
func (c *checker) list(field string, n, limit int) {
	if n > limit {
		c.fail(field, fmt.Sprintf("has %d items, at most %d are allowed", n, limit))
	}
}

// name demands a name in the sense of ids.CheckName.
func (c *checker) name(field, s string) {
	if err := ids.CheckName(s); err != nil {
		c.fail(field, err.Error())
	}
}

// optionalName demands a name or nothing.
func (c *checker) optionalName(field, s string) {
	if s != "" {
		c.name(field, s)
	}
}

// token demands 1..limit characters of a machine's word.
func (c *checker) token(field, s string, limit int) {
	if len(s) > limit || !isToken(s) {
		c.fail(field, fmt.Sprintf("must be 1..%d letters, digits, _ . : -", limit))
	}
}

// optionalToken demands a token or nothing.
func (c *checker) optionalToken(field, s string, limit int) {
	if s != "" {
		c.token(field, s, limit)
	}
}

// attempt demands the key of an attempt.
func (c *checker) attempt(prefix, job string, attempt int64) {
	if _, err := ids.ParseJobID(job); err != nil {
		c.fail(prefix+"job", err.Error())
	}
	if attempt < 1 || attempt > maxAttempt {
		c.fail(prefix+"attempt", fmt.Sprintf("must be 1..%d", maxAttempt))
	}
}

const maxAttempt = 1<<31 - 1

// oneOf demands one of the words of an enumeration.
func oneOf[S ~string](c *checker, field string, s S, words ...S) {
	if slices.Contains(words, s) {
		return
	}
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	c.fail(field, "must be one of "+strings.Join(list, ", "))
}

// amounts demands distinct names with amounts that are not negative.
func (c *checker) amounts(field string, list []Amount) {
	c.list(field, len(list), MaxAmounts)
	for i, a := range list {
		at := item(field, i)
		c.token(at+".n", a.Name, ids.MaxName)
		c.count(at+".a", a.Amount)
		if slices.ContainsFunc(list[:i], func(b Amount) bool { return b.Name == a.Name }) {
			c.fail(at+".n", "stands there twice")
		}
		if c.bad != nil {
			return
		}
	}
}

// capacity demands amounts in which nothing is negative.
func (c *checker) capacity(field string, v Capacity) {
	c.within(field+".slots", v.Slots, 0, MaxSlots)
	c.amounts(field+".resources", v.Resources)
	c.amounts(field+".memory", v.Memory)
}

// file demands a plain file name, a SHA-256 and a size.
func (c *checker) file(at, name, digest string, size int64) {
	c.token(at+".n", name, MaxText)
	if name == "." || name == ".." || strings.Contains(name, ":") {
		c.fail(at+".n", "is no plain file name")
	}
	if !isDigest(digest) {
		c.fail(at+".digest", "must be sha256: and 64 lower-case hex digits")
	}
	c.count(at+".size", size)
}

// endpoint demands an address that a client can be sent to, without credentials.
func (c *checker) endpoint(field, address string) {
	u, err := url.Parse(address)
	switch {
	case len(address) > MaxURL:
		c.fail(field, fmt.Sprintf("is longer than %d bytes", MaxURL))
	case err != nil || u.Host == "" || CleanText(address, MaxURL) != address:
		c.fail(field, "must be an absolute URL")
	case !slices.Contains(endpointSchemes, u.Scheme):
		c.fail(field, "must begin with one of "+strings.Join(endpointSchemes, ", "))
	case u.User != nil:
		c.fail(field, "must not hold a user or password")
	}
}

// endpointSchemes keep out what a browser would run.
var endpointSchemes = []string{"http", "https", "ws", "wss", "rtmp", "rtmps", "rtsp", "rtsps", "srt", "udp", "tcp"}

func item(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// isToken says whether s is a machine's word: at least one ASCII letter or digit, _ . : -
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '.' && c != ':' && c != '-' {
			return false
		}
	}
	return s != ""
}

// isDigest says whether s is "sha256:" and 64 lower-case hex digits.
func isDigest(s string) bool {
	digits, ok := strings.CutPrefix(s, "sha256:")
	if !ok || len(digits) != 64 {
		return false
	}
	return isHex(digits)
}

// isHex says whether s has nothing but lower-case hex digits.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

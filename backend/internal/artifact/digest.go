package artifact

import (
	"encoding/hex"
	"strings"
)

// Digest is a file's SHA-256 in its canonical text: sha256:<64 lower-case hex>.
type Digest string

const digestPrefix = "sha256:"

// ParseDigest reads the canonical text and nothing else, so that a digest is
// always safe as a file's name.
func ParseDigest(text string) (Digest, bool) {
	letters, ok := strings.CutPrefix(text, digestPrefix)
	if !ok || len(letters) != 64 || strings.ToLower(letters) != letters {
		return "", false
	}
	if _, err := hex.DecodeString(letters); err != nil {
		return "", false
	}
	return Digest(text), true
}

// DigestOf writes a sum as a digest.
func DigestOf(sum []byte) Digest { return Digest(digestPrefix + hex.EncodeToString(sum)) }

func (d Digest) letters() string { return strings.TrimPrefix(string(d), digestPrefix) }

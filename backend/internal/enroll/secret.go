package enroll

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"strings"
)

// Sum is the SHA-256 of a secret's canonical text: all that the store keeps of it.
type Sum = [sha256.Size]byte

// Secret is a new secret. Text is shown once and then forgotten; Sum is kept.
type Secret struct {
	Text string
	Sum  Sum
}

const (
	licensePrefix = "RPL-"
	tokenPrefix   = "rp_"
	setupPrefix   = "rps_"
	consolePrefix = "rpc_"

	licenseBytes = 20 // 160 bits: 32 characters without padding
	licenseGroup = 4
	secretBytes  = 32
)

// secretChars is the length of 256 bits in base64url without padding.
var secretChars = base64.RawURLEncoding.EncodedLen(secretBytes)

// strict refuses a second spelling of the same bits, such as stray trailing ones.
var strict = base64.RawURLEncoding.Strict()

// NewLicenseCode makes a license code: RPL- and eight groups of four letters and digits.
func NewLicenseCode() Secret {
	var bits [licenseBytes]byte
	rand.Read(bits[:])
	return newSecret(spellLicense(base32.StdEncoding.EncodeToString(bits[:])))
}

// NewTokenSecret makes the secret of an API token.
func NewTokenSecret() Secret { return newSecret(tokenPrefix + randomText()) }

// NewSetupToken makes the one-time secret that the first start prints.
func NewSetupToken() Secret { return newSecret(setupPrefix + randomText()) }

// NewConsoleSecret makes the secret of a console session, for a browser's cookie.
func NewConsoleSecret() Secret { return newSecret(consolePrefix + randomText()) }

// NewNodeSecret makes a node's secret as the agent makes its own.
func NewNodeSecret() Secret { return newSecret(randomText()) }

// ParseLicenseCode gives the sum of a well-formed license code. People type it:
// lower case and missing hyphens are forgiven.
func ParseLicenseCode(text string) (Sum, bool) {
	const longest = len(licensePrefix) + 2*licenseBytes // with all its hyphens
	if len(text) > longest {
		return Sum{}, false
	}
	letters, ok := strings.CutPrefix(strings.ReplaceAll(strings.ToUpper(text), "-", ""), "RPL")
	if !ok {
		return Sum{}, false
	}
	bits, err := base32.StdEncoding.DecodeString(letters)
	if err != nil || len(bits) != licenseBytes {
		return Sum{}, false
	}
	return sumOf(spellLicense(letters)), true
}

// ParseTokenSecret gives the sum of a well-formed API token.
func ParseTokenSecret(text string) (Sum, bool) { return parseRandom(text, tokenPrefix) }

// ParseSetupToken gives the sum of a well-formed setup token.
func ParseSetupToken(text string) (Sum, bool) { return parseRandom(text, setupPrefix) }

// ParseConsoleSecret gives the sum of a well-formed secret of a console session.
func ParseConsoleSecret(text string) (Sum, bool) { return parseRandom(text, consolePrefix) }

// ParseNodeSecret gives the sum of a well-formed node secret. A license code has
// as many characters, all of them of the same alphabet, and is none.
func ParseNodeSecret(text string) (Sum, bool) {
	if _, license := ParseLicenseCode(text); license {
		return Sum{}, false
	}
	return parseRandom(text, "")
}

func parseRandom(text, prefix string) (Sum, bool) {
	if len(text) != len(prefix)+secretChars || !strings.HasPrefix(text, prefix) {
		return Sum{}, false
	}
	bits, err := strict.DecodeString(text[len(prefix):])
	if err != nil || len(bits) != secretBytes { // the decoder skips line ends
		return Sum{}, false
	}
	return sumOf(text), true
}

// spellLicense groups the letters into the one spelling that is summed.
func spellLicense(letters string) string {
	var b strings.Builder
	b.WriteString(licensePrefix)
	for i := 0; i < len(letters); i += licenseGroup {
		if i > 0 {
			b.WriteByte('-')
		}
		b.WriteString(letters[i:min(i+licenseGroup, len(letters))])
	}
	return b.String()
}

func newSecret(text string) Secret { return Secret{Text: text, Sum: sumOf(text)} }

func sumOf(text string) Sum { return sha256.Sum256([]byte(text)) }

func randomText() string {
	var bits [secretBytes]byte
	rand.Read(bits[:])
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

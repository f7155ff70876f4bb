package enroll

import (
	"crypto/sha256"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNewSecrets_HaveTheirShapesAndReadBack(t *testing.T) {
	kinds := []struct {
		name  string
		make  func() Secret
		parse func(string) (Sum, bool)
		shape string
	}{
		{"license", NewLicenseCode, ParseLicenseCode, `^RPL(-[A-Z2-7]{4}){8}$`},
		{"token", NewTokenSecret, ParseTokenSecret, `^rp_[A-Za-z0-9_-]{43}$`},
		{"setup", NewSetupToken, ParseSetupToken, `^rps_[A-Za-z0-9_-]{43}$`},
		{"node", NewNodeSecret, ParseNodeSecret, `^[A-Za-z0-9_-]{43}$`},
	}
	for _, made := range kinds {
		secret, again := made.make(), made.make()
		if secret.Text == again.Text {
			t.Fatalf("%s: the same secret twice", made.name)
		}
		if !regexp.MustCompile(made.shape).MatchString(secret.Text) {
			t.Errorf("%s: %q does not match %s", made.name, secret.Text, made.shape)
		}
		if secret.Sum != sha256.Sum256([]byte(secret.Text)) {
			t.Errorf("%s: the sum is not the SHA-256 of the text", made.name)
		}
		for _, reader := range kinds {
			sum, ok := reader.parse(secret.Text)
			if ok != (reader.name == made.name) {
				t.Errorf("%s read as %s: ok=%v", made.name, reader.name, ok)
			}
			if ok && sum != secret.Sum {
				t.Errorf("%s: read back with another sum", made.name)
			}
		}
	}
}

func TestParseLicenseCode_ForgivesCaseAndHyphensOnly(t *testing.T) {
	code := NewLicenseCode()
	for _, typed := range []string{strings.ToLower(code.Text), strings.ReplaceAll(code.Text, "-", "")} {
		if sum, ok := ParseLicenseCode(typed); !ok || sum != code.Sum {
			t.Errorf("%q: ok=%v", typed, ok)
		}
	}
	for _, wrong := range []string{"", "RPL-", code.Text + "A", code.Text[4:], code.Text[:len(code.Text)-1], " " + code.Text, strings.Repeat("-", 1<<20), code.Text[:len(code.Text)-1] + "\n"} {
		if _, ok := ParseLicenseCode(wrong); ok {
			t.Errorf("%.60q was taken", wrong)
		}
	}
}

// One secret has one spelling: no other text of any kind is read as the same bits.
func TestParseNodeSecret_TakesOneSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := NewNodeSecret()
		text := []byte(secret.Text)
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		text[at] = rapid.Byte().Draw(t, "char")
		if sum, ok := ParseNodeSecret(string(text)); ok && sum == secret.Sum && string(text) != secret.Text {
			t.Fatalf("%q is read as %q", text, secret.Text)
		}
	})
	for _, wrong := range []string{"", "=", strings.Repeat("A", 42), strings.Repeat("A", 44), strings.Repeat("A", 42) + "B", strings.Repeat("A", 42) + "\n", strings.Repeat("A", 42) + "="} {
		if _, ok := ParseNodeSecret(wrong); ok {
			t.Errorf("%q was taken", wrong)
		}
	}
}

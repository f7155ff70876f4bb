package identity

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rockpool/agent/internal/durable"
)

// secretBytes of randomness make a node's secret; 43 characters of base64url.
const secretBytes = 32

// Secret proves who the node is. It prints as a placeholder; Reveal is for the
// request's header only.
type Secret struct{ text string }

// Reveal gives the secret's text.
func (s Secret) Reveal() string { return s.text }

func (s Secret) String() string { return "[secret]" }

// GoString keeps %#v from showing it.
func (s Secret) GoString() string { return "[secret]" }

// loadSecret reads the node's secret, or makes one when the node has none yet. A
// node that is registered never gets a new one: it would be another node.
func loadSecret(path string, registered bool) (Secret, error) {
	secret, err := readSecret(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && registered:
		return Secret{}, fmt.Errorf("%w: %s has a registration without its secret: restore the file secret, or remove the directory to register as a new node", ErrUnfit, filepath.Dir(path))
	case errors.Is(err, fs.ErrNotExist):
		return makeSecret(path)
	}
	return secret, err
}

func readSecret(path string) (Secret, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, fmt.Errorf("read the node's secret: %w", err)
	}
	if err := durable.CheckPrivate(path); err != nil {
		return Secret{}, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	secret, err := parseSecret(strings.TrimSpace(string(content)))
	if err != nil {
		return Secret{}, fmt.Errorf("%w: %s %w: restore it, or remove the state directory to register as a new node", ErrUnfit, path, err)
	}
	return secret, nil
}

func parseSecret(text string) (Secret, error) {
	if raw, err := base64.RawURLEncoding.DecodeString(text); err != nil || len(raw) != secretBytes {
		return Secret{}, errors.New("holds no node secret")
	}
	return Secret{text}, nil
}

func makeSecret(path string) (Secret, error) {
	secret, err := newSecret()
	if err != nil {
		return Secret{}, err
	}
	return secret, storeSecret(path, secret)
}

func newSecret() (Secret, error) {
	var raw [secretBytes]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return Secret{}, fmt.Errorf("make the node's secret: %w", err)
	}
	return Secret{base64.RawURLEncoding.EncodeToString(raw[:])}, nil
}

func storeSecret(path string, secret Secret) error {
	if err := durable.WriteFile(path, []byte(secret.text+"\n")); err != nil {
		return fmt.Errorf("store the node's secret: %w", err)
	}
	return nil
}

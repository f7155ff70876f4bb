package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"rockpool/agent/internal/durable"
)

// next is a secret that is to take the place of the node's own. It stands beside
// that one, in the file secret.next, until it has opened a session: whenever the
// process dies, one of the two is the one that the control plane knows.
type next struct {
	Rotation string `json:"rotation"`
	Text     string `json:"secret"`
}

func (id *Identity) nextPath() string { return filepath.Join(id.dir, "secret.next") }

// loadNext reads the secret of a rotation that was not finished, and shows it
// first: when the control plane refuses it, the old one is still good.
func (id *Identity) loadNext() error {
	content, err := os.ReadFile(id.nextPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read the node's next secret: %w", err)
	}
	var n next
	if err := json.Unmarshal(content, &n); err != nil {
		return fmt.Errorf("%s holds no node secret: restore it, or remove it if the node was not about to get a new one: %w", id.nextPath(), err)
	}
	if _, err := parseSecret(n.Text); err != nil {
		return fmt.Errorf("%s %w: restore it, or remove it if the node was not about to get a new one", id.nextPath(), err)
	}
	id.next, id.showNext = &n, true
	return nil
}

// NextSecret gives the secret of a rotation: it makes one, and has it on the disk
// before it returns.
func (id *Identity) NextSecret(rotation string) (Secret, error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.next != nil && id.shown.text == id.next.Text {
		if err := id.promote(); err != nil { // the open session is that of an earlier rotation
			return Secret{}, err
		}
	}
	if id.next != nil && id.next.Rotation == rotation {
		return Secret{id.next.Text}, nil
	}
	secret, err := newSecret()
	if err != nil {
		return Secret{}, err
	}
	content, err := json.Marshal(next{rotation, secret.text})
	if err == nil {
		err = durable.WriteFile(id.nextPath(), append(content, '\n'))
	}
	if err != nil {
		return Secret{}, fmt.Errorf("store the node's next secret: %w", err)
	}
	id.next, id.showNext = &next{rotation, secret.text}, false
	return secret, nil
}

// Known notes that the control plane has the next secret: it is shown from now on.
func (id *Identity) Known(rotation string) {
	id.mu.Lock()
	defer id.mu.Unlock()
	id.showNext = id.next != nil && id.next.Rotation == rotation
}

// Refused notes that the secret that was shown last is not one of this node's, and
// reports whether there is another one to be shown at once.
func (id *Identity) Refused() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.next == nil {
		return false
	}
	id.showNext = id.shown.text != id.next.Text
	return !id.showNext
}

// Confirm notes that the secret that was shown last has opened a session. A next
// one takes its place then: the control plane refuses the old one from now on.
func (id *Identity) Confirm() error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.next == nil || id.shown.text != id.next.Text {
		return nil
	}
	return id.promote()
}

// promote puts the next secret in the place of the node's own. Between the two
// steps both files hold the same one.
func (id *Identity) promote() error {
	if err := storeSecret(id.secretPath(), Secret{id.next.Text}); err != nil {
		return err
	}
	id.secret = Secret{id.next.Text}
	if err := os.Remove(id.nextPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end the change of the node's secret: %w", err)
	}
	id.next, id.showNext = nil, false
	return nil
}

// Show gives the secret for the next dial. The file counts: what an owner has put
// there since is read.
func (id *Identity) Show() (Secret, error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if _, err := id.reread(); err != nil {
		return Secret{}, err
	}
	id.shown = id.inUse()
	return id.shown, nil
}

// Changed reports that the file of the secret holds another one than the open
// session was opened with.
func (id *Identity) Changed() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	changed, err := id.reread()
	return changed && err == nil
}

// Stale reports that the secret of the next dial is not the one of the newest.
func (id *Identity) Stale() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.shown != id.inUse()
}

// reread loads the secret from its file; a new one there ends a rotation of the
// old one.
func (id *Identity) reread() (changed bool, err error) {
	secret, err := readSecret(id.secretPath())
	if err != nil {
		return false, err
	}
	if secret == id.secret {
		return false, nil
	}
	id.secret, id.showNext = secret, false
	return true, nil
}

func (id *Identity) inUse() Secret {
	if id.showNext {
		return Secret{id.next.Text}
	}
	return id.secret
}

package identity

import (
	"os"
	"path/filepath"
	"testing"
)

func registered(t *testing.T) (*Identity, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	id := open(t, dir)
	if err := id.Remember(Record{NodeID: "edge-1", Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	return id, dir
}

func show(t *testing.T, id *Identity) Secret {
	t.Helper()
	secret, err := id.Show()
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func nextOf(t *testing.T, id *Identity, rotation string) Secret {
	t.Helper()
	secret, err := id.NextSecret(rotation)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// reopen is a new process on the state directory.
func reopen(t *testing.T, id *Identity) *Identity {
	t.Helper()
	_ = id.Close()
	return open(t, id.Dir())
}

func TestRotation_TheOldSecretIsShownUntilTheNewOneIsKnown(t *testing.T) {
	id, dir := registered(t)
	old := show(t, id)
	next := nextOf(t, id, "rot-1")
	if info, err := os.Stat(filepath.Join(dir, "secret.next")); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the new secret's file: %v, %v, want mode 0600", info, err)
	}
	if next == old || nextOf(t, id, "rot-1") != next || show(t, id) != old || id.Stale() {
		t.Error("a secret that is not known yet is shown, or another one is made for the same rotation")
	}
	id.Known("rot-1")
	if !id.Stale() || show(t, id) != next || id.Secret() != next {
		t.Error("the secret that both sides know is not shown")
	}
	if err := id.Confirm(); err != nil {
		t.Fatal(err)
	}
	if again := reopen(t, id); show(t, again) != next || again.Refused() {
		t.Error("after the change another secret is shown than the new one, or there is a second one")
	}
}

func TestRotation_ARefusedSecretGivesWayToTheOther(t *testing.T) {
	id, _ := registered(t)
	old := show(t, id)
	next := nextOf(t, id, "rot-1")
	id = reopen(t, id) // it died before the control plane knew
	if show(t, id) != next {
		t.Fatal("the new secret is not tried first")
	}
	if !id.Refused() || show(t, id) != old {
		t.Fatal("the old secret is not tried at once")
	}
	if err := id.Confirm(); err != nil || id.Secret() != old {
		t.Error("the session of the old secret put the new one in its place")
	}
	if id.Refused() || show(t, id) != next {
		t.Error("both are refused: want the other one, later")
	}
}

func TestRotation_CrashBetweenTheTwoFiles(t *testing.T) {
	id, dir := registered(t)
	next := nextOf(t, id, "rot-1")
	kept, err := os.ReadFile(filepath.Join(dir, "secret.next"))
	if err != nil {
		t.Fatal(err)
	}
	id.Known("rot-1")
	show(t, id)
	if err := id.Confirm(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret.next"), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	id = reopen(t, id)
	if show(t, id) != next {
		t.Error("another secret is shown")
	}
	if err := id.Confirm(); err != nil || exists(filepath.Join(dir, "secret.next")) {
		t.Errorf("the change was not ended: %v", err)
	}
}

// TestRotation_ANewOneDoesNotLoseTheSecretInUse: the second rotation comes while
// the session of the first one's secret has not put it in its place yet.
func TestRotation_ANewOneDoesNotLoseTheSecretInUse(t *testing.T) {
	id, _ := registered(t)
	first := nextOf(t, id, "rot-1")
	id.Known("rot-1")
	show(t, id)
	second := nextOf(t, id, "rot-2")
	if id.Secret() != first || second == first {
		t.Fatal("the secret of the open session is gone")
	}
	id = reopen(t, id)
	if show(t, id) != second || !id.Refused() || show(t, id) != first {
		t.Error("the secret of the open session did not survive")
	}
}

func TestShow_ReadsWhatTheOwnerPutThere(t *testing.T) {
	id, dir := registered(t)
	old := show(t, id)
	if id.Changed() {
		t.Error("changed without a change")
	}
	other, err := newSecret()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "secret")
	if err := os.WriteFile(path, []byte(other.Reveal()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !id.Changed() || !id.Stale() || id.Changed() {
		t.Error("want the change told once")
	}
	if got := show(t, id); got == old || got != other {
		t.Error("the next dial shows another secret than the file's")
	}
	if err := os.WriteFile(path, []byte("no secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := id.Show(); err == nil || id.Changed() {
		t.Errorf("a file without a secret is shown: %v", err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

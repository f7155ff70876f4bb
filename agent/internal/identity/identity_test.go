package identity

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, dir string) *Identity {
	t.Helper()
	id, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = id.Close() })
	return id
}

func TestOpen_MakesASecretOnceAndKeepsIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first := open(t, dir)
	if len(first.Secret().Reveal()) != 43 || first.Record().Registered() {
		t.Fatalf("new identity: secret of %d characters, %+v", len(first.Secret().Reveal()), first.Record())
	}
	info, err := os.Stat(filepath.Join(dir, "secret"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("secret file: %v, %v, want mode 0600", info, err)
	}
	if err := first.Remember(Record{NodeID: "edge-1", Epoch: 7, Chain: "c7"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Remember(Record{NodeID: "edge-1", Epoch: 8}); err != nil { // of a control plane that gives no chain
		t.Fatal(err)
	}
	_ = first.Close()
	second := open(t, dir)
	if second.Secret() != first.Secret() || second.Record() != (Record{NodeID: "edge-1", Epoch: 8, Chain: "c7"}) {
		t.Errorf("reopened: another secret or %+v", second.Record())
	}
	if second.BootID() == first.BootID() {
		t.Error("two processes have one boot id")
	}
}

func TestOpen_OneProcessPerStateDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first := open(t, dir)
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "in use by another agent") {
		t.Fatalf("second open: %v", err)
	}
	_ = first.Close()
	open(t, dir)
}

func TestOpen_Refuses(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, dir string)
		want  string
	}{
		"readable by others":    {func(t *testing.T, dir string) { chmod(t, dir, 0o750) }, "chmod 700"},
		"secret lost":           {func(t *testing.T, dir string) { remove(t, dir, "secret") }, "without its secret"},
		"secret spoilt":         {func(t *testing.T, dir string) { write(t, dir, "secret", "short") }, "holds no node secret"},
		"registration spoilt":   {func(t *testing.T, dir string) { write(t, dir, "node.json", "{") }, "holds no registration"},
		"a file, no directory":  {func(t *testing.T, dir string) { _ = os.RemoveAll(dir); write(t, filepath.Dir(dir), "state", "") }, "state_dir"},
		"half-written file too": {func(t *testing.T, dir string) { write(t, dir, "secret", "") }, "holds no node secret"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			id := open(t, dir)
			if err := id.Remember(Record{NodeID: "edge-1", Epoch: 1}); err != nil {
				t.Fatal(err)
			}
			_ = id.Close()
			tc.spoil(t, dir)
			if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func chmod(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSecret_NeverPrints(t *testing.T) {
	id := open(t, filepath.Join(t.TempDir(), "state"))
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if shown := fmt.Sprintf(format, id.Secret()); strings.Contains(shown, id.Secret().Reveal()) {
			t.Errorf("%s prints the secret", format)
		}
	}
}

func TestMachine_LeavesOutWhatCantBeRead(t *testing.T) {
	whole := machineOf([]mark{{"machine-id", "a\n"}, {"product-uuid", "b"}})
	part := machineOf([]mark{{"machine-id", "a"}, {"product-uuid", ""}})
	if len(whole.ID) != 64 || whole.ID == part.ID {
		t.Errorf("ids %q and %q", whole.ID, part.ID)
	}
	if len(part.From) != 1 || len(part.Missing) != 1 || part.Missing[0] != "product-uuid" {
		t.Errorf("made of %v without %v", part.From, part.Missing)
	}
	if none := machineOf([]mark{{"machine-id", ""}}); none.ID != "" {
		t.Errorf("an id %q made of nothing: every such machine would be a copy of the other", none.ID)
	}
	if here := ThisMachine(t.TempDir()); here.ID == "" && len(here.Missing) == 0 {
		t.Errorf("this machine: %+v", here)
	}
}

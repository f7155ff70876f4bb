package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// TestAttack_A40_NoSecretIsKept takes a whole flow and then reads every byte below
// the data folder, PostgreSQL's own files and write-ahead log among them, and the
// server's log.
func TestAttack_A40_NoSecretIsKept(t *testing.T) {
	t.Parallel()
	s := server(t)
	u, w := newTenant(t, s), newWorkshop(t)
	a := u.agent("real", 1, w)
	n := u.node("raw", rig.RawOptions{Answer: rig.Diligent})
	w.Release()
	u.await(u.submit(runner("wait")).ID, "succeeded")
	u.await(u.submit().ID, "succeeded")
	own, err := u.client.CreateToken(t.Context(), "", backendtest.TokenRequest{Name: "own"})
	if err != nil {
		t.Fatal(err)
	}
	// Wrong ones are secrets too: somebody may have mistyped a right one.
	wrong := "rp_" + strings.Repeat("Z", 42) + "g"
	ask(t, s, wrong, "GET", "/v1/jobs", "").refused(t, "a wrong token", 401, "unauthenticated")
	execute(t, s, `CHECKPOINT`)

	secrets := map[string][]byte{}
	for name, secret := range map[string]string{
		"setup token": s.SetupToken, "superadmin's token": s.AdminToken, "user's token": u.token, "own token": own.Secret,
		"wrong token": wrong, "license code": u.license.LicenseCode, "agent's secret": a.Secret(t), "node's secret": n.Secret,
	} {
		for form, needle := range forms(secret) {
			secrets[name+" "+form] = needle
		}
	}
	files, found := 0, false
	err = filepath.WalkDir(s.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return ignoreGone(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return ignoreGone(err)
		}
		files++
		found = found || bytes.Contains(content, []byte(n.Name))
		for name, secret := range secrets {
			if bytes.Contains(content, secret) {
				t.Errorf("%s holds the %s", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 || !found {
		t.Errorf("%d files were read, a node's name was found: %v; the search shows nothing", files, found)
	}
	for name, secret := range secrets {
		if bytes.Contains([]byte(s.Log()), secret) {
			t.Errorf("the log holds the %s", name)
		}
	}
	if !strings.Contains(s.Log(), n.Name) {
		t.Error("the log does not even name the node: the search shows nothing")
	}
	if strings.Contains(a.Output(), a.Secret(t)) || strings.Contains(a.Output(), u.license.LicenseCode) {
		t.Error("the agent printed its secret or its license code")
	}
}

// forms of a secret: as it is, and what it could be stored as.
func forms(secret string) map[string][]byte {
	all := map[string][]byte{"": []byte(secret), "in hex": []byte(hex.EncodeToString([]byte(secret)))}
	random := strings.TrimPrefix(strings.TrimPrefix(secret, "rps_"), "rp_")
	if bits, err := base64.RawURLEncoding.DecodeString(random); err == nil && len(bits) == 32 {
		all["decoded"] = bits
		all["decoded, in hex"] = []byte(hex.EncodeToString(bits))
	}
	if letters, found := strings.CutPrefix(secret, "RPL-"); found {
		all["without hyphens"] = []byte(strings.ReplaceAll(letters, "-", ""))
	}
	return all
}

// ignoreGone lets PostgreSQL remove files while they are read.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

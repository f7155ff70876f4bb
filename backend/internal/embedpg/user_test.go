package embedpg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAsRoot_PostgresRunsUnprivileged(t *testing.T) {
	unprivileged(t)
	s := start(t, testConfig(newDir(t)))
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	must(t, err)
	want := fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\n", s.identity.uid)
	if s.identity.uid == 0 || !strings.Contains(string(status), want) || !strings.Contains(string(status), "Groups:\t \n") {
		t.Errorf("want %q and no groups in\n%s", want, status)
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.PID()))
	must(t, err)
	if strings.Contains(string(environ), "HOME=") {
		t.Errorf("PostgreSQL sees our environment: %q", environ)
	}
}

func TestAsRoot_BlockedFolderIsNamed(t *testing.T) {
	unprivileged(t)
	dir := newDir(t)
	private := filepath.Dir(dir)
	must(t, os.Chmod(private, 0o700))
	mustBe(t, startErr(t, testConfig(dir)), nil, "cannot pass "+private, "chmod o+x "+private)
}

// A cluster that root copied into place, as a restore does, is PostgreSQL's again.
func TestAsRoot_CopiedClusterIsGivenToItsUser(t *testing.T) {
	unprivileged(t)
	config := testConfig(newDir(t))
	s := start(t, config)
	closeServer(t, s)
	must(t, identity{drop: true}.own(s.folder.cluster)) // to root
	query(t, start(t, config), "SELECT 1")
}

func TestAsOrdinaryUser_WorksAndRootMayTakeOver(t *testing.T) {
	credential := unprivileged(t)
	dir := newDir(t)
	must(t, os.Chown(filepath.Dir(dir), int(credential.Uid), int(credential.Gid)))
	makeTestBinaryReachable(t, credential)
	h := startHelper(t, dir, &syscall.SysProcAttr{Credential: credential})
	h.kill9(t)
	s := start(t, testConfig(dir))
	query(t, s, "SELECT 1")
	if s.identity.uid != credential.Uid {
		t.Errorf("root runs user %d's cluster as user %d", credential.Uid, s.identity.uid)
	}
}

// makeTestBinaryReachable opens the folders in which go test put this binary.
func makeTestBinaryReachable(t *testing.T, credential *syscall.Credential) {
	t.Helper()
	id := identity{uid: credential.Uid, gid: credential.Gid}
	for blocked := id.blockedBy(os.Args[0]); blocked != ""; blocked = id.blockedBy(os.Args[0]) {
		if !strings.HasPrefix(blocked, os.TempDir()) {
			t.Skipf("the test binary lies in %s, which the ordinary user cannot pass", blocked)
		}
		info, err := os.Stat(blocked)
		must(t, err)
		must(t, os.Chmod(blocked, info.Mode()|0o011))
	}
}

func TestAsOrdinaryUser_RootsFolderIsRefused(t *testing.T) {
	credential := unprivileged(t)
	config := testConfig(newDir(t))
	closeServer(t, start(t, config))
	makeTestBinaryReachable(t, credential)
	line := spawnHelper(t, config.DataDir, &syscall.SysProcAttr{Credential: credential}).says(t)
	if !strings.HasPrefix(line, "failed: ") || !strings.Contains(line, config.DataDir+" belongs to another user") {
		t.Errorf("the ordinary user's server said %q", line)
	}
}

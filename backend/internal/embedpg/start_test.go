package embedpg

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// One life of a data folder with production settings: made, stopped, reused.
func TestStart_MakesTheClusterOnceAndReusesIt(t *testing.T) {
	config := testConfig(newDir(t))
	config.UnsafeTestSpeed = false
	first := start(t, config)
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "listen_addresses": "",
		"server_encoding": "UTF8", "lc_collate": "C", "max_connections": "60", "shared_buffers": "128MB",
		"data_checksums": "on", "TimeZone": "UTC", "unix_socket_permissions": "0700",
	} {
		if got := query(t, first, "SHOW "+setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	roles := query(t, first, "SELECT rolname||rolcanlogin||rolsuper FROM pg_roles WHERE rolname LIKE 'rockpool%' ORDER BY 1")
	if roles != "rockpool_admintruetrue,rockpool_servertruefalse" {
		t.Errorf("roles (login, superuser): %s", roles)
	}
	query(t, first, "CREATE TABLE kept AS SELECT 42 AS n")
	closeServer(t, first)
	awaitNoProcess(t, first.folder.cluster)

	second := start(t, config)
	if got := query(t, second, "SELECT n FROM kept"); got != "42" {
		t.Errorf("after the second start the row is %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(second.folder.root, newClusterPrefix+"*")); len(left) > 0 {
		t.Errorf("half-made clusters left: %v", left)
	}
}

func TestClose_IsIdempotentAndLeavesNothing(t *testing.T) {
	s := start(t, testConfig(newDir(t)))
	pid := s.PID()
	for range 3 {
		closeServer(t, s)
	}
	if s.PID() != 0 || processExists(pid) {
		t.Errorf("postmaster %d still there (PID says %d)", pid, s.PID())
	}
	awaitNoProcess(t, s.folder.cluster)
	if left, _ := os.ReadDir(s.folder.socket); len(left) > 0 {
		t.Errorf("left in the socket directory: %v", left)
	}
}

func TestClose_AtTheDeadlineStopsAtOnceAndTheNextStartRecovers(t *testing.T) {
	config := testConfig(newDir(t))
	s := start(t, config)
	query(t, s, "CREATE TABLE kept AS SELECT 42 AS n")
	expired, cancel := context.WithCancel(context.Background())
	cancel()
	must(t, syscall.Kill(s.PID(), syscall.SIGSTOP)) // it cannot answer a fast shutdown
	err := s.Close(expired)
	mustBe(t, err, errImmediate)
	if again := s.Close(context.Background()); again != err {
		t.Errorf("second Close says %v", again)
	}
	if got := query(t, start(t, config), "SELECT n FROM kept"); got != "42" {
		t.Errorf("the committed row is %q", got)
	}
}

func TestStart_SecondServerIsRefusedAndNamesTheHolder(t *testing.T) {
	config := testConfig(newDir(t))
	holder := startHelper(t, config.DataDir, nil)
	mustBe(t, startErr(t, config), ErrInUse, fmt.Sprintf("process %d;", holder.cmd.Process.Pid))
	if !processExists(holder.postmaster) {
		t.Error("the refused server disturbed the holder's PostgreSQL")
	}
}

func TestStart_OtherMajorVersionIsRefused(t *testing.T) {
	config := testConfig(newDir(t))
	cluster := filepath.Join(config.DataDir, "cluster")
	must(t, os.MkdirAll(cluster, 0o700))
	must(t, os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("9\n"), 0o600))
	mustBe(t, startErr(t, config), ErrVersionMismatch, "made by PostgreSQL 9, found PostgreSQL ", "install PostgreSQL 9 again", "restore a backup")
}

func TestStart_ForeignFolderIsRefused(t *testing.T) {
	config := testConfig(newDir(t))
	must(t, os.MkdirAll(filepath.Join(config.DataDir, "cluster"), 0o700))
	mustBe(t, startErr(t, config), nil, "not a PostgreSQL data directory")
}

func TestStart_CanceledInTheMiddleLeavesNoHalfCluster(t *testing.T) {
	config := testConfig(newDir(t))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, config); err == nil {
		t.Fatal("a start within 50 ms is not believable")
	}
	left, _ := filepath.Glob(filepath.Join(config.DataDir, "cluster*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	query(t, start(t, config), "SELECT 1")
}

func TestStart_ClearsAHalfMadeCluster(t *testing.T) {
	config := testConfig(newDir(t))
	half := filepath.Join(config.DataDir, newClusterPrefix+"123")
	must(t, os.MkdirAll(filepath.Join(half, "base"), 0o700))
	must(t, os.Chmod(config.DataDir, 0o711))
	start(t, config)
	if _, err := os.Stat(half); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", half, err)
	}
}

func TestSocketDir_IsPrivate(t *testing.T) {
	s := start(t, testConfig(newDir(t)))
	info, err := os.Stat(s.folder.socket)
	must(t, err)
	if info.Mode().Perm() != 0o700 || ownerOf(info) != s.identity.uid {
		t.Errorf("socket directory is %v of user %d", info.Mode(), ownerOf(info))
	}
	if want := filepath.Join(s.folder.root, "run"); s.folder.socket != want {
		t.Errorf("socket in %s, want %s", s.folder.socket, want)
	}
}

func TestSocketDir_OfALongPathIsShortPrivateAndRemoved(t *testing.T) {
	config := testConfig(filepath.Join(newDir(t), strings.Repeat("long", 30)))
	must(t, os.MkdirAll(filepath.Dir(config.DataDir), 0o711))
	s := start(t, config)
	query(t, s, "SELECT 1")
	info, err := os.Stat(s.folder.socket)
	must(t, err)
	if !socketFits(s.folder.socket) || info.Mode().Perm() != 0o700 || filepath.Dir(s.folder.socket) == s.folder.root {
		t.Errorf("socket in %s, mode %v", s.folder.socket, info.Mode())
	}
	closeServer(t, s)
	if _, err := os.Stat(s.folder.socket); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", s.folder.socket, err)
	}
}

// Somebody else's directory in a shared temp folder must not become ours.
func TestSocketDir_OfAStrangerIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rockpool-squat")
	must(t, os.Symlink(t.TempDir(), dir))
	id := identity{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
	mustBe(t, makePrivateDir(dir, id), nil, "must be a directory of our own")
	if os.Geteuid() == 0 {
		must(t, os.Remove(dir))
		must(t, os.Mkdir(dir, 0o777))
		must(t, os.Chown(dir, 12345, 12345))
		mustBe(t, makePrivateDir(dir, id), nil, "belongs to user id 12345")
	}
}

func TestURL_QuotesWhatNeedsIt(t *testing.T) {
	s := &Server{folder: folder{socket: `/var/my data/o'neil\run`}}
	want := `host='/var/my data/o\'neil\\run' port=5432 user=rockpool_server dbname=rockpool sslmode=disable`
	if got := s.URL(ServerRole); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLog_IsBounded(t *testing.T) {
	l := newLogFile(filepath.Join(t.TempDir(), "postgres.log"))
	file, err := l.open()
	must(t, err)
	defer file.Close()
	must(t, os.Truncate(l.path, logMax+10))
	must(t, l.bound())
	if _, err := file.WriteString("FATAL:  still heard\n"); err != nil {
		t.Fatal(err)
	}
	now, err := os.Stat(l.path)
	must(t, err)
	old, err := os.Stat(l.path + ".1")
	must(t, err)
	if now.Size() > 100 || old.Size() != logMax || l.words() != "FATAL: still heard" {
		t.Errorf("log %d bytes, before it %d bytes, words %q", now.Size(), old.Size(), l.words())
	}
}

func TestLastWords(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"cause with explanation": {
			"2026-11-29 16:44:29.035 UTC [5599] LOG:  starting\n" +
				"2026-11-29 16:44:29.035 UTC [5599] FATAL:  lock file \"postmaster.pid\" already exists\n" +
				"2026-11-29 16:44:29.035 UTC [5599] HINT:  Is another postmaster running?\n" +
				"2026-11-29 16:44:29.035 UTC [5599] LOG:  database system is shut down\n",
			`FATAL: lock file "postmaster.pid" already exists; HINT: Is another postmaster running?`,
		},
		"initdb":           {"ok\ninitdb: error: no space\ninitdb: hint: buy some\ninitdb: removing\n", "initdb: error: no space; initdb: hint: buy some"},
		"no cause":         {"a\nb\nc\nd\n", "b; c; d"},
		"nothing":          {"\n", "PostgreSQL said nothing"},
		"too many to tell": {strings.Repeat("FATAL: "+strings.Repeat("x", 693)+"\n", 3), "FATAL: " + strings.Repeat("x", 693)},
	} {
		if got := lastWords(c.text); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}

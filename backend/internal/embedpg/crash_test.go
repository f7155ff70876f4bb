package embedpg

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A killed server's PostgreSQL is told by the kernel and goes away by itself.
func TestKill9OfTheServer_TakesPostgresAlong(t *testing.T) {
	dir := newDir(t)
	h := startHelper(t, dir, nil)
	h.kill9(t)
	awaitNoProcess(t, filepath.Join(dir, "cluster"))
}

func TestKill9OfTheServer_DuringInitdbLeavesNoHalfCluster(t *testing.T) {
	config := testConfig(newDir(t))
	h := spawnHelper(t, config.DataDir, nil)
	eventually(t, "initdb at work", func() (bool, string) {
		made, err := filepath.Glob(filepath.Join(config.DataDir, newClusterPrefix+"*", "global"))
		return len(made) > 0, fmt.Sprint(made, err)
	})
	h.kill9(t)
	if _, err := os.Stat(filepath.Join(config.DataDir, "cluster")); !os.IsNotExist(err) {
		t.Errorf("a half-made cluster stands in place (%v)", err)
	}
	query(t, start(t, config), "SELECT 1")
}

// The next start may come while the old PostgreSQL is still dying.
func TestKill9OfTheServer_NextStartStopsTheDyingOrphan(t *testing.T) {
	config := testConfig(newDir(t))
	h := startHelper(t, config.DataDir, nil)
	h.kill9(t)
	startBesideOrphan(t, config, h.postmaster)
}

// Where the kernel tells nobody of our death, the old PostgreSQL lives on.
func TestKill9OfTheServer_NextStartStopsTheLivingOrphan(t *testing.T) {
	config := testConfig(newDir(t))
	closeServer(t, start(t, config))
	startBesideOrphan(t, config, startOrphan(t, config))
}

func startBesideOrphan(t *testing.T, config Config, orphan int) {
	t.Helper()
	s := start(t, config)
	query(t, s, "SELECT 1")
	if s.PID() == orphan {
		t.Error("the orphan passes for our child")
	}
	if pids, err := clusterProcesses(s.folder.cluster); err != nil || slices.Contains(pids, orphan) {
		t.Errorf("orphan %d still lives: %v (%v)", orphan, pids, err)
	}
}

// startOrphan runs a postmaster that no server holds.
func startOrphan(t *testing.T, config Config) int {
	t.Helper()
	s, err := prepare(config)
	must(t, err)
	defer s.release()
	cmd := s.command(s.folder.cluster, s.binaries.postgres(), "-D", s.folder.cluster, "-c", "config_file="+s.folder.conf)
	c, err := spawn(cmd)
	must(t, err)
	t.Cleanup(func() {
		c.process.Kill()
		<-c.exited
	})
	eventually(t, "orphan ready", func() (bool, string) {
		err := s.probe(context.Background(), c)
		return err == nil, fmt.Sprint(err)
	})
	return c.pid
}

func TestKill9OfPostgres_IsRestartedWithItsData(t *testing.T) {
	s := start(t, testConfig(newDir(t)))
	query(t, s, "CREATE TABLE kept AS SELECT 42 AS n")
	for range 2 {
		died := s.PID()
		must(t, syscall.Kill(died, syscall.SIGKILL))
		eventually(t, "restart", func() (bool, string) {
			now := s.PID()
			return now != 0 && now != died, fmt.Sprint("pid ", now)
		})
		if got := query(t, s, "SELECT n FROM kept"); got != "42" {
			t.Fatalf("the committed row is %q", got)
		}
	}
}

// Close must win against a restart that is under way.
func TestClose_DuringARestart(t *testing.T) {
	s := start(t, testConfig(newDir(t)))
	died := s.PID()
	must(t, syscall.Kill(died, syscall.SIGKILL))
	eventually(t, "death noticed", func() (bool, string) {
		now := s.PID()
		return now != died, fmt.Sprint("pid ", now)
	})
	closeServer(t, s)
	awaitNoProcess(t, s.folder.cluster)
}

func TestCase_N24_Kill9OfServerAndPostgresRecovers(t *testing.T) {
	config := testConfig(newDir(t))
	s := start(t, config)
	query(t, s, "CREATE TABLE kept AS SELECT 42 AS n")
	closeServer(t, s)
	h := startHelper(t, config.DataDir, nil)
	must(t, h.cmd.Process.Signal(syscall.SIGSTOP)) // it must not restart what dies now
	must(t, syscall.Kill(h.postmaster, syscall.SIGKILL))
	h.kill9(t)
	if got := query(t, start(t, config), "SELECT n FROM kept"); got != "42" {
		t.Errorf("the committed row is %q", got)
	}
}

func TestCase_N24_FailedStartQuotesPostgresOwnReason(t *testing.T) {
	config := testConfig(newDir(t))
	s := start(t, config)
	must(t, syscall.Kill(s.PID(), syscall.SIGKILL))
	closeServer(t, s)
	awaitNoProcess(t, s.folder.cluster)
	must(t, os.Truncate(filepath.Join(s.folder.cluster, "global", "pg_control"), 100))
	mustBe(t, startErr(t, config), nil, "postgres could not start", "PANIC", "global/pg_control", s.folder.log)
}

func TestStart_PidFileOfAnUnrelatedLiveProcess(t *testing.T) {
	config := testConfig(newDir(t))
	s := start(t, config)
	closeServer(t, s)
	stranger := startStranger(t, s)
	for _, path := range []string{pidPath(s.folder.cluster), filepath.Join(s.folder.socket, socketName+".lock")} {
		text := fmt.Sprintf("%d\n%s\n1700000000\n5432\n%s\n\n\nready\n", stranger, s.folder.cluster, s.folder.socket)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		must(t, os.Chown(path, int(s.identity.uid), int(s.identity.gid)))
	}
	query(t, start(t, config), "SELECT 1")
	if !processExists(stranger) {
		t.Error("the unrelated process was harmed")
	}
}

// startStranger runs a process of PostgreSQL's user that has nothing to do with it.
func startStranger(t *testing.T, s *Server) int {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.identity.credential()}
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd.Process.Pid
}

// A dead postmaster that nobody has reaped still "exists" for PostgreSQL.
func TestStart_PidFileOfAZombie(t *testing.T) {
	config := testConfig(newDir(t))
	s := start(t, config)
	closeServer(t, s)
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.identity.credential()}
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Wait() })
	eventually(t, "zombie", func() (bool, string) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return strings.Contains(string(stat), ") Z "), fmt.Sprint(string(stat), err)
	})
	must(t, os.WriteFile(pidPath(s.folder.cluster), []byte(fmt.Sprintf("%d\n%s\n", cmd.Process.Pid, s.folder.cluster)), 0o600))
	must(t, os.Chown(pidPath(s.folder.cluster), int(s.identity.uid), int(s.identity.gid)))
	query(t, start(t, config), "SELECT 1")
}

func TestStart_GarbledPidFile(t *testing.T) {
	config := testConfig(newDir(t))
	s := start(t, config)
	closeServer(t, s)
	must(t, os.WriteFile(pidPath(s.folder.cluster), nil, 0o600))
	must(t, os.Chown(pidPath(s.folder.cluster), int(s.identity.uid), int(s.identity.gid)))
	query(t, start(t, config), "SELECT 1")
}

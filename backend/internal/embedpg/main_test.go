package embedpg

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// envServe makes the test binary a server process on the data folder it names.
const envServe = "ROCKPOOL_EMBEDPG_TEST_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envServe); dir != "" {
		serveUntilStdinEnds(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// serveUntilStdinEnds is a small Rockpool: it starts PostgreSQL, prints its process
// id and closes it when the test closes the pipe.
func serveUntilStdinEnds(dir string) {
	s, err := Start(context.Background(), testConfig(dir))
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("ready", s.PID())
	io.Copy(io.Discard, os.Stdin)
	if err := s.Close(context.Background()); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// helper is a server process of ours.
type helper struct {
	cmd        *exec.Cmd
	stdout     *bufio.Reader
	postmaster int
}

// startHelper returns a helper whose PostgreSQL is ready.
func startHelper(t *testing.T, dir string, attr *syscall.SysProcAttr) *helper {
	t.Helper()
	h := spawnHelper(t, dir, attr)
	line := h.says(t)
	pid, err := strconv.Atoi(strings.TrimPrefix(line, "ready "))
	if err != nil {
		t.Fatalf("helper said %q", line)
	}
	h.postmaster = pid
	return h
}

// spawnHelper returns a helper that is about to start PostgreSQL.
func spawnHelper(t *testing.T, dir string, attr *syscall.SysProcAttr) *helper {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envServe+"="+dir)
	cmd.SysProcAttr = attr
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close() // a living helper now closes its server and ends
		cmd.Wait()
	})
	return &helper{cmd: cmd, stdout: bufio.NewReader(stdout)}
}

// says is the helper's next line.
func (h *helper) says(t *testing.T) string {
	t.Helper()
	line, err := h.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("helper said %q (%v)", line, err)
	}
	return strings.TrimSpace(line)
}

// kill9 kills the helper, and only it, and reaps it.
func (h *helper) kill9(t *testing.T) {
	t.Helper()
	must(t, h.cmd.Process.Kill())
	h.cmd.Wait()
}

func testConfig(dir string) Config {
	return Config{DataDir: dir, UnsafeTestSpeed: true, Logger: slog.New(slog.DiscardHandler)}
}

// newDir is a data folder that the unprivileged user can reach; t.TempDir is not.
func newDir(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "embedpg-test-")
	must(t, err)
	must(t, os.Chmod(parent, 0o711))
	t.Cleanup(func() { os.RemoveAll(parent) })
	return filepath.Join(parent, "pg")
}

// startLimit is how long the making of a cluster may take on a busy machine, and
// whatever else a test waits for.
const startLimit = 3 * time.Minute

func start(t *testing.T, config Config) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	s, err := Start(ctx, config)
	must(t, err)
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// startErr starts a server that must fail and returns why.
func startErr(t *testing.T, config Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	s, err := Start(ctx, config)
	if err == nil {
		s.Close(ctx)
		t.Fatal("Start succeeded")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is not one line: %q", err)
	}
	return err
}

func closeServer(t *testing.T, s *Server) {
	t.Helper()
	must(t, s.Close(context.Background()))
}

// query runs one statement on a new connection and returns the first column of its
// rows, joined by commas.
func query(t *testing.T, s *Server, sql string) string {
	t.Helper()
	text, err := tryQuery(s, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

func tryQuery(s *Server, sql string) (string, error) {
	c, err := connect(context.Background(), s.folder.socket, AdminRole, Database)
	if err != nil {
		return "", err
	}
	defer c.close()
	packet := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(len(sql)+5))
	if _, err := c.Write(append(append(packet, sql...), 0)); err != nil {
		return "", err
	}
	var rows []string
	for {
		kind, body, err := c.receive()
		if err != nil {
			return "", err
		}
		switch kind {
		case 'D':
			size := binary.BigEndian.Uint32(body[2:])
			rows = append(rows, string(body[6:6+size]))
		case 'Z':
			return strings.Join(rows, ","), nil
		}
	}
}

// eventually waits for a named condition and prints the last state on a timeout.
func eventually(t *testing.T, what string, condition func() (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		ok, state := condition()
		if ok {
			return
		}
		if !pause(ctx, 20*time.Millisecond) {
			t.Fatalf("%s did not happen; last state: %s", what, state)
		}
	}
}

func awaitNoProcess(t *testing.T, cluster string) {
	t.Helper()
	eventually(t, "no process of the cluster left", func() (bool, string) {
		pids, err := clusterProcesses(cluster)
		return err == nil && len(pids) == 0, fmt.Sprint(pids, err)
	})
}

// unprivileged is the user that plays the ordinary user when tests run as root.
func unprivileged(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	u, err := user.Lookup("nobody")
	must(t, err)
	uid, err := strconv.Atoi(u.Uid)
	must(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustBe(t *testing.T, err, want error, parts ...string) {
	t.Helper()
	if want != nil && !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

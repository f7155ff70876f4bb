package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a server of this very program on a throw-away folder, as a process of
// its own: what is measured is what runs in production.
type server struct {
	url     string
	dir     string
	process *exec.Cmd
	ended   chan error
}

// stopWait is how long a server may take to stop.
const stopWait = 30 * time.Second

// startServer runs the server until it has printed its setup link, whose token
// it returns. Settings of the environment are left out: they may name a database
// that is nobody's to fill; settings are this server's own.
func startServer(ctx context.Context, settings ...string) (*server, string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "rockpool-load-")
	if err != nil {
		return nil, "", fmt.Errorf("make a throw-away folder: %w", err)
	}
	s := &server{dir: dir, ended: make(chan error, 1)}
	token, err := s.start(ctx, program, settings)
	if err != nil {
		return nil, "", errors.Join(err, s.stop())
	}
	return s, token, nil
}

var setupLink = regexp.MustCompile(`(http://\S+)/setup#token=(\S+)`)

func (s *server) start(ctx context.Context, program string, settings []string) (token string, err error) {
	if err := os.Chmod(s.dir, 0o755); err != nil { // started by root, PostgreSQL is somebody else's
		return "", fmt.Errorf("open the throw-away folder: %w", err)
	}
	log, err := os.Create(s.logFile())
	if err != nil {
		return "", fmt.Errorf("make the server's log: %w", err)
	}
	defer log.Close()
	process := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(s.dir, "data"))
	process.Env, process.Stderr = append(plainEnvironment(), settings...), log
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is the caller's to handle
	out, err := process.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("start the server: %w", err)
	}
	if err := process.Start(); err != nil {
		return "", fmt.Errorf("start the server: %w", err)
	}
	s.process = process
	links := make(chan []string, 1)
	go func() {
		links <- findLink(out)
		_, _ = io.Copy(io.Discard, out)
		s.ended <- process.Wait()
	}()
	select {
	case link := <-links:
		if link == nil {
			return "", fmt.Errorf("the server did not start: %s", lastWords(s.logFile()))
		}
		s.url = link[1]
		return link[2], nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// findLink reads until the setup link has come, or the server has ended.
func findLink(out io.Reader) []string {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := setupLink.FindStringSubmatch(lines.Text()); found != nil {
			return found
		}
	}
	return nil
}

// plainEnvironment is this process's without Rockpool's variables, but for where
// PostgreSQL's programs are.
func plainEnvironment() (env []string) {
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "ROCKPOOL_") || strings.HasPrefix(entry, "ROCKPOOL_POSTGRES_") {
			env = append(env, entry)
		}
	}
	return env
}

func (s *server) logFile() string { return filepath.Join(s.dir, "server.log") }

// lastWords is the last line of a log.
func lastWords(file string) string {
	content, _ := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return lines[len(lines)-1]
}

// database reaches the server's private PostgreSQL as its owner.
func (s *server) database() string {
	return fmt.Sprintf("host=%s user=rockpool_admin dbname=rockpool sslmode=disable", filepath.Join(s.dir, "data", "postgres", "run"))
}

// stop ends the server and removes its folder.
func (s *server) stop() error {
	if s.process == nil {
		return os.RemoveAll(s.dir)
	}
	_ = s.process.Process.Signal(syscall.SIGTERM) // it fails when the server has ended
	select {
	case err := <-s.ended:
		return errors.Join(err, os.RemoveAll(s.dir))
	case <-time.After(stopWait):
		_ = s.process.Process.Kill()
		return fmt.Errorf("the server did not stop within %v: its data stays in %s", stopWait, s.dir)
	}
}

// postmaster is the process id of the server's private PostgreSQL.
func (s *server) postmaster() (int, error) {
	content, err := os.ReadFile(filepath.Join(s.dir, "data", "postgres", "cluster", "postmaster.pid"))
	if err != nil {
		return 0, fmt.Errorf("find PostgreSQL's process: %w", err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0, fmt.Errorf("find PostgreSQL's process: %w", err)
	}
	return pid, nil
}

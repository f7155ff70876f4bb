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
)

// server is a server of this very program on a throw-away folder, as a process of
// its own: what is measured is what runs in production.
type server struct {
	url   string
	dir   string
	child *child
}

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
	s := &server{dir: dir}
	token, err := s.start(ctx, program, settings)
	if err != nil {
		return nil, "", errors.Join(err, s.stop())
	}
	return s, token, nil
}

var setupLink = regexp.MustCompile(`(http://\S+)/setup#token=(\S+)`)

func (s *server) start(ctx context.Context, program string, settings []string) (token string, err error) {
	if err := s.checkSocket(); err != nil {
		return "", err
	}
	if err := os.Chmod(s.dir, 0o755); err != nil { // started by root, PostgreSQL is somebody else's
		return "", fmt.Errorf("open the throw-away folder: %w", err)
	}
	process := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(s.dir, "data"))
	process.Env = append(plainEnvironment(), settings...)
	out, in, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("start the server: %w", err)
	}
	process.Stdout = in
	s.child, err = startChild("the server", filepath.Join(s.dir, "server.log"), process)
	_ = in.Close() // the server has its own
	if err != nil {
		_ = out.Close()
		return "", err
	}
	links := make(chan []string, 1)
	go func() {
		defer out.Close()
		links <- findLink(out)
		_, _ = io.Copy(io.Discard, out)
	}()
	select {
	case link := <-links:
		if link == nil {
			return "", fmt.Errorf("the server did not start: %s", lastWords(s.child.log))
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
// PostgreSQL's programs are, and without those that libpq reads.
func plainEnvironment() (env []string) {
	for _, entry := range os.Environ() {
		ours := strings.HasPrefix(entry, "ROCKPOOL_") && !strings.HasPrefix(entry, "ROCKPOOL_POSTGRES_")
		if !ours && !strings.HasPrefix(entry, "PG") {
			env = append(env, entry)
		}
	}
	return env
}

// socketPort names the socket of the server's private PostgreSQL.
const socketPort = "5432"

// database reaches the server's private PostgreSQL as its owner.
func (s *server) database() string {
	folder := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s.socketFolder())
	return fmt.Sprintf("host='%s' port=%s user=rockpool_admin dbname=rockpool sslmode=disable", folder, socketPort)
}

func (s *server) socketFolder() string { return filepath.Join(s.dir, "data", "postgres", "run") }

// socketPathMax is how many bytes a socket's path may have.
const socketPathMax = 103

// checkSocket refuses a folder in which PostgreSQL could not have its socket.
func (s *server) checkSocket() error {
	if path := filepath.Join(s.socketFolder(), ".s.PGSQL."+socketPort); len(path) > socketPathMax {
		return fmt.Errorf("the throw-away folder %s is too deep for PostgreSQL's socket: set TMPDIR to a shorter one, by %d bytes", s.dir, len(path)-socketPathMax)
	}
	return nil
}

// stop ends the server and removes its folder.
func (s *server) stop() (err error) {
	if s.child != nil {
		err = s.child.end()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
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

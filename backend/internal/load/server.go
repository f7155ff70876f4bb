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
	"strings"
	"syscall"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
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
// that is nobody's to fill.
func startServer(ctx context.Context) (*server, string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "rockpool-load-")
	if err != nil {
		return nil, "", fmt.Errorf("make a throw-away folder: %w", err)
	}
	s := &server{dir: dir, ended: make(chan error, 1)}
	token, err := s.start(ctx, program)
	if err != nil {
		return nil, "", errors.Join(err, s.stop())
	}
	return s, token, nil
}

var setupLink = regexp.MustCompile(`(http://\S+)/setup#token=(\S+)`)

func (s *server) start(ctx context.Context, program string) (token string, err error) {
	if err := os.Chmod(s.dir, 0o755); err != nil { // started by root, PostgreSQL is somebody else's
		return "", fmt.Errorf("open the throw-away folder: %w", err)
	}
	log, err := os.Create(s.logFile())
	if err != nil {
		return "", fmt.Errorf("make the server's log: %w", err)
	}
	defer log.Close()
	process := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(s.dir, "data"))
	process.Env, process.Stderr = plainEnvironment(), log
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
			return "", fmt.Errorf("the server did not start: %s", s.lastWords())
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

func (s *server) lastWords() string {
	content, _ := os.ReadFile(s.logFile())
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

// house is what the load belongs to: a user with an app and a license.
type house struct {
	client  *client.Client // as that user
	app     string
	license string
}

// readyWait is how long a server that has printed its link may take to begin.
const readyWait = 30 * time.Second

// awaitReady waits until the server takes work: it prints its link a moment earlier.
func awaitReady(ctx context.Context, server *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for {
		health, err := server.Ready(ctx)
		if err != nil || health.Status == "ok" {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready: %s: %w", health.Detail, ctx.Err())
		}
	}
}

// furnish makes the first superadmin and the house.
func (s *server) furnish(ctx context.Context, setupToken string) (h house, err error) {
	nobody, err := client.New(client.Options{Server: s.url})
	if err != nil {
		return h, err
	}
	if err := awaitReady(ctx, nobody); err != nil {
		return h, err
	}
	done, err := nobody.Setup(ctx, rest.SetupRequest{SetupToken: setupToken})
	if err != nil {
		return h, fmt.Errorf("set the server up: %w", err)
	}
	admin, err := client.New(client.Options{Server: s.url, Token: done.Token.Secret})
	if err != nil {
		return h, err
	}
	user, err := admin.CreateUser(ctx, rest.UserRequest{Name: "load"})
	if err != nil {
		return h, fmt.Errorf("create a user: %w", err)
	}
	app, err := admin.CreateApp(ctx, rest.AppRequest{ID: "load", Owner: &user.ID})
	if err != nil {
		return h, fmt.Errorf("create an app: %w", err)
	}
	nodes := int64(1000)
	license, err := admin.CreateLicense(ctx, rest.LicenseRequest{User: user.ID, Nodes: &nodes})
	if err != nil {
		return h, fmt.Errorf("create a license: %w", err)
	}
	token, err := admin.CreateToken(ctx, user.ID, rest.TokenRequest{Name: "load"})
	if err != nil {
		return h, fmt.Errorf("create a token: %w", err)
	}
	h = house{app: app.ID, license: license.LicenseCode}
	h.client, err = client.New(client.Options{Server: s.url, Token: token.Secret})
	return h, err
}

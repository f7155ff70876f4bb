// Package pgtest gives tests a real PostgreSQL that may be thrown away: the one
// that ROCKPOOL_TEST_DATABASE_ADMIN_URL names (cmd/testcluster starts it for a
// whole test run), otherwise one for this test process, started when first asked
// for. It speaks no SQL; making databases in the cluster is the store's business.
package pgtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rockpool/backend/internal/embedpg"
)

// EnvAdminURL names the superuser's connection string of a shared cluster.
const EnvAdminURL = "ROCKPOOL_TEST_DATABASE_ADMIN_URL"

const (
	folderPrefix = "rockpool-pgtest-"
	startLimit   = 2 * time.Minute
	stopLimit    = 30 * time.Second
	// maxConnections serves the packages that test at the same time.
	maxConnections = 200
	// leftoverAge is when the folder of a killed test run may be cleared away.
	leftoverAge = time.Hour
)

// Cluster is a throw-away PostgreSQL in a temp folder, without fsync.
type Cluster struct {
	*embedpg.Server
	dir string
}

// Start makes a cluster; Stop it, or its folder stays.
func Start(ctx context.Context, logger *slog.Logger) (*Cluster, error) {
	clearLeftovers()
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("test cluster: %w", err)
	}
	// as root, PostgreSQL runs as another user and must get through
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, fmt.Errorf("test cluster: %w", err)
	}
	server, err := embedpg.Start(ctx, embedpg.Config{
		DataDir: dir, Logger: logger, MaxConnections: maxConnections, UnsafeTestSpeed: true,
	})
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("test cluster: %w", err)
	}
	return &Cluster{Server: server, dir: dir}, nil
}

// Stop ends PostgreSQL and removes the folder.
func (c *Cluster) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		return err
	}
	return os.RemoveAll(c.dir)
}

// clearLeftovers removes old folders whose lock nobody holds: those of test runs
// that were killed.
func clearLeftovers() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	for _, dir := range dirs {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > leftoverAge && unheld(dir) {
			os.RemoveAll(dir)
		}
	}
}

func unheld(dir string) bool {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return os.IsNotExist(err)
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// private is this process's own cluster.
var private struct {
	sync.Mutex
	open    bool // Main is running
	cluster *Cluster
	err     error
}

// Main runs a package's tests, stops the private cluster if one was started and
// fails on leaked goroutines. Use it so:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
func Main(m *testing.M, leaks ...goleak.Option) int {
	private.Lock()
	private.open = true
	private.Unlock()
	code := m.Run()
	if err := stopPrivate(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(leaks...); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest: leaked goroutines:", err)
			code = 1
		}
	}
	return code
}

func stopPrivate() error {
	private.Lock()
	defer private.Unlock()
	private.open = false
	if private.cluster == nil {
		return nil
	}
	return private.cluster.Stop()
}

// AdminURL is the superuser's connection string of the test cluster. It ends the
// test when there is no PostgreSQL: the machine lacks something, which is no pass.
func AdminURL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(EnvAdminURL); url != "" {
		return url
	}
	cluster, err := startPrivate()
	if err != nil {
		t.Fatal(err)
	}
	return cluster.AdminURL()
}

// startPrivate starts this process's cluster once; a failure is remembered, so
// that every test says it at once.
func startPrivate() (*Cluster, error) {
	private.Lock()
	defer private.Unlock()
	if !private.open {
		return nil, fmt.Errorf("pgtest: TestMain must call pgtest.Main, which stops the cluster (or set %s)", EnvAdminURL)
	}
	if private.cluster == nil && private.err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		private.cluster, private.err = Start(ctx, quiet)
	}
	return private.cluster, private.err
}

// Command testcluster runs a command with a throw-away PostgreSQL beside it:
//
//	testcluster -- go test ./...
//
// The command finds the superuser's connection string in
// ROCKPOOL_TEST_DATABASE_ADMIN_URL. testcluster ends with the command's exit code
// (128 + n when signal n ended it), or 1 when there is no PostgreSQL. Build it
// first: "go run" turns every other exit code into 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"rockpool/backend/internal/embedpg/pgtest"
)

const exitUsage = 64

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: testcluster -- COMMAND [ARGUMENT ...]")
		os.Exit(exitUsage)
	}
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcluster:", err)
	}
	os.Exit(code)
}

// run holds the cluster around one command and returns the command's exit code.
func run(args []string) (int, error) {
	// a signal is passed on to the command; we stay to stop PostgreSQL after it
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cluster, err := pgtest.Start(ctx, quiet)
	if err != nil {
		return 1, err
	}
	code, err := runCommand(ctx, args, cluster.AdminURL())
	if stopErr := cluster.Stop(); stopErr != nil {
		return max(code, 1), errors.Join(err, stopErr)
	}
	return code, err
}

func runCommand(ctx context.Context, args []string, adminURL string) (int, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), pgtest.EnvAdminURL+"="+adminURL)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return 127, err // never started
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

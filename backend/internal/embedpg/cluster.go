package embedpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// newClusterPrefix names clusters that are still being made.
const newClusterPrefix = "cluster.new-"

// firstStatements complete a fresh cluster, so that every cluster that exists is a
// whole one. Single-user mode reads one statement a line.
const firstStatements = "CREATE DATABASE " + Database + ";\n" +
	"CREATE ROLE " + ServerRole + " LOGIN;\n"

// ensureCluster writes our settings and makes the cluster if there is none.
func (s *Server) ensureCluster(ctx context.Context) error {
	if err := s.writeSettings(); err != nil {
		return err
	}
	s.removeHalfMade()
	info, err := os.Lstat(s.folder.cluster)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.makeCluster(ctx)
	case err != nil:
		return fmt.Errorf("data folder: %w", err)
	case s.identity.drop && ownerOf(info) == 0:
		// root copied it here, from a backup say; PostgreSQL must own it
		return s.identity.own(s.folder.cluster)
	}
	return nil
}

// removeHalfMade clears what a kill in the middle of makeCluster left behind. An
// initdb of then may still be dying in there: what stays is cleared next time.
func (s *Server) removeHalfMade() {
	left, _ := filepath.Glob(filepath.Join(s.folder.root, newClusterPrefix+"*"))
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			s.logger.Warn("half-made cluster not removed", keyData, dir, keyError, err)
		}
	}
}

// makeCluster makes the cluster aside and renames it into place when whole.
func (s *Server) makeCluster(ctx context.Context) error {
	begin := time.Now()
	dir, err := os.MkdirTemp(s.folder.root, newClusterPrefix)
	if err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	defer os.RemoveAll(dir) // gone already when the rename succeeded
	if err := s.identity.own(dir); err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	if err := s.runToEnd(ctx, dir, "", s.binaries.initdb(), s.initdbArgs(dir)...); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	single := append([]string{"--single", "-D", dir, "-c", "exit_on_error=on"}, s.promises()...)
	if err := s.runToEnd(ctx, dir, firstStatements, s.binaries.postgres(), append(single, "postgres")...); err != nil {
		return fmt.Errorf("create database and role: %w", err)
	}
	if err := os.Rename(dir, s.folder.cluster); err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	if err := syncDir(s.folder.root); err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	s.logger.Info("postgres cluster created", keyData, s.folder.cluster, keyVersion, s.binaries.Version,
		keyUser, s.identity.name, keyTook, time.Since(begin))
	return nil
}

func (s *Server) initdbArgs(dir string) []string {
	args := []string{"-D", dir, "-U", AdminRole, "--auth=trust", "--encoding=UTF8", "--locale=C", "--data-checksums"}
	if s.config.UnsafeTestSpeed {
		args = append(args, "--no-sync")
	}
	return args
}

// runToEnd runs one of PostgreSQL's programs; its error quotes the program.
func (s *Server) runToEnd(ctx context.Context, dir, input, program string, args ...string) error {
	cmd := s.command(dir, program, args...)
	cmd.WaitDelay = impatience
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	c, err := spawn(cmd)
	if err != nil {
		return err
	}
	select {
	case <-c.exited:
	case <-ctx.Done():
		stopCtx, cancel := context.WithTimeout(context.Background(), impatience)
		defer cancel()
		return errors.Join(context.Cause(ctx), c.stop(stopCtx))
	}
	if c.err != nil {
		return fmt.Errorf("%s (%w)", lastWords(output.String()), c.err)
	}
	return nil
}

func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

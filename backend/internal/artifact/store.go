package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"rockpool/backend/internal/core/fleet"
)

// Rows is what the database says of the files.
type Rows interface {
	// OwnedBytes adds up the owner's artifacts.
	OwnedBytes(ctx context.Context, owner int64) (int64, error)
	// UnknownArtifacts gives those of the digests that no row names.
	UnknownArtifacts(ctx context.Context, digests []string) ([]string, error)
}

// Store is the folder of artifacts. Safe for concurrent use.
type Store struct {
	root   string
	rows   Rows
	book   book
	serial atomic.Int64 // names whole uploads

	// naming is held shared from a file's rename to its row, and whole while files
	// without a row are looked for.
	naming sync.RWMutex
}

// Open makes the folder (0700) when it is missing, counts what is in it and drops
// what a crash left of uploads that can't go on.
func Open(root string, limits Limits, rows Rows) (*Store, error) {
	if limits.File <= 0 {
		return nil, fmt.Errorf("the largest artifact must be at least 1 byte, not %d", limits.File)
	}
	s := &Store{root: root, rows: rows, book: book{limits: limits, uploads: map[string]entry{}}}
	for _, dir := range []string{s.incoming(), s.finished()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of artifacts: %w", err)
		}
	}
	if err := s.recall(); err != nil {
		return nil, fmt.Errorf("look through the folder of artifacts: %w", err)
	}
	return s, nil
}

// recall counts what is there.
func (s *Store) recall() error {
	if err := each(s.incoming(), s.recallPart); err != nil {
		return err
	}
	return s.eachFolder(func(dir string) error {
		return each(dir, func(info fs.FileInfo) error { s.book.add(info.Size()); return nil })
	})
}

// eachFolder gives the folders of finished files.
func (s *Store) eachFolder(do func(dir string) error) error {
	return each(s.finished(), func(info fs.FileInfo) error {
		if !info.IsDir() {
			return nil
		}
		return do(filepath.Join(s.finished(), info.Name()))
	})
}

// each gives what stands in a folder. What vanishes meanwhile is left out.
func each(dir string, do func(fs.FileInfo) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = do(info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Max is the largest artifact in bytes.
func (s *Store) Max() int64 { return s.book.limits.File }

// Get opens an artifact's bytes; the caller closes it. not_found when the file
// is gone although a record names it.
func (s *Store) Get(digest Digest) (*os.File, error) {
	file, err := os.Open(s.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fleet.Errorf(fleet.CodeNotFound, "the artifact's bytes are not kept any more")
	}
	if err != nil {
		return nil, fmt.Errorf("open artifact %s: %w", digest, err)
	}
	return file, nil
}

func (s *Store) incoming() string { return filepath.Join(s.root, "incoming") }
func (s *Store) finished() string { return filepath.Join(s.root, "sha256") }

func (s *Store) path(d Digest) string {
	letters := d.letters()
	return filepath.Join(s.finished(), letters[:2], letters)
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

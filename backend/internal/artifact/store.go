package artifact

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"rockpool/backend/internal/core/fleet"
)

// Store is the folder of artifacts. Safe for concurrent use.
type Store struct {
	root string
	max  int64
}

// Open makes the folder (0700) when it is missing and drops what a crash left of
// unfinished uploads. max is the largest artifact in bytes.
func Open(root string, max int64) (*Store, error) {
	if max <= 0 {
		return nil, fmt.Errorf("the largest artifact must be at least 1 byte, not %d", max)
	}
	s := &Store{root: root, max: max}
	if err := os.RemoveAll(s.incoming()); err != nil {
		return nil, fmt.Errorf("drop unfinished uploads: %w", err)
	}
	for _, dir := range []string{s.incoming(), filepath.Join(root, "sha256")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of artifacts: %w", err)
		}
	}
	return s, nil
}

// Max is the largest artifact in bytes.
func (s *Store) Max() int64 { return s.max }

// Put stores what body reads as, and returns its digest and size once it is on
// the disk. A digest that was announced must match; empty: none was. Errors are
// *fleet.Error: too_large, unprocessable (another digest), unavailable (the disk
// is full), or the reader's own.
func (s *Store) Put(body io.Reader, announced Digest) (Digest, int64, error) {
	file, err := os.CreateTemp(s.incoming(), "upload-*")
	if err != nil {
		return "", 0, diskError(err)
	}
	defer os.Remove(file.Name()) // a no-op once it is renamed
	defer file.Close()
	digest, size, err := s.receive(file, body)
	if err != nil {
		return "", 0, err
	}
	if announced != "" && announced != digest {
		return "", 0, fleet.Errorf(fleet.CodeUnprocessable, fmt.Sprintf("the body's digest is %s, not the announced %s", digest, announced))
	}
	if err := s.keep(file, digest); err != nil {
		return "", 0, diskError(err)
	}
	return digest, size, nil
}

// receive writes body to file and sums it on the way, up to one byte over the bound.
func (s *Store) receive(file *os.File, body io.Reader) (Digest, int64, error) {
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(body, s.max+1))
	if err != nil {
		return "", 0, diskError(err)
	}
	if size > s.max {
		return "", 0, fleet.Errorf(fleet.CodeTooLarge, fmt.Sprintf("an artifact is at most %d bytes", s.max))
	}
	return DigestOf(sum.Sum(nil)), size, nil
}

// keep gives a finished file its name. An equal file that is there already is
// replaced: same content, and a damaged one is healed.
func (s *Store) keep(file *os.File, digest Digest) error {
	if err := file.Sync(); err != nil {
		return err
	}
	path := s.path(digest)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err == nil {
		if err := syncDir(filepath.Dir(filepath.Dir(path))); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

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

func (s *Store) path(d Digest) string {
	letters := d.letters()
	return filepath.Join(s.root, "sha256", letters[:2], letters)
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// diskError tells a full disk from other trouble: it passes, the client tries again.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &fleet.Error{Code: fleet.CodeUnavailable, Detail: "the disk is full: try again later", Cause: err}
	}
	return fmt.Errorf("store an artifact: %w", err)
}

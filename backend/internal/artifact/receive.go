package artifact

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"rockpool/backend/internal/core/fleet"
)

// Upload is what a client announces of a file.
type Upload struct {
	Owner  int64  // whose it will be
	Digest Digest // empty: it is what the bytes say
	Size   int64  // bytes of the whole
	Offset int64  // bytes that came before; 0 without a sender
	// Sender names who uploads: of the same sender and digest what broke off goes on.
	// Empty: the file comes as a whole or not at all.
	Sender string
}

// Received says how far an upload came.
type Received struct {
	Digest Digest
	Size   int64 // bytes that are there
	Whole  bool
}

// Receive takes the bytes of an upload from its offset on. Once all are there they
// must have the digest that was announced; then they are on the disk under it, and
// note writes down whose they are. What was cut stays, where the upload has a
// sender, and is told as not Whole or with the reader's error.
//
// Errors are *fleet.Error: too_large, storage_full, conflict (another offset; or
// another size than was announced before, or what came in parts is another file: begin
// anew), unprocessable (another digest), unavailable (the disk is full), or the
// reader's and note's own.
func (s *Store) Receive(ctx context.Context, u Upload, body io.Reader, note func(Digest) error) (Received, error) {
	if u.Size > s.Max() {
		return Received{}, fleet.Errorf(fleet.CodeTooLarge, fmt.Sprintf("an artifact is at most %d bytes", s.Max()))
	}
	if u.Offset < 0 || u.Offset > u.Size {
		return Received{}, fleet.Errorf(fleet.CodeBadRequest, fmt.Sprintf("an offset of %d is not within the file's %d bytes", u.Offset, u.Size))
	}
	key := s.keyOf(u)
	booked, err := s.book.begin(key, u, func() (int64, error) { return s.rows.OwnedBytes(ctx, u.Owner) })
	if err != nil {
		return Received{}, err
	}
	p := &part{store: s, upload: u, booked: booked, path: s.partPath(key, booked), sum: sha256.New()}
	got, err := p.receive(body, note)
	if p.stays {
		s.book.pause(key)
	} else {
		_ = s.discard(key, booked) // what can't be removed stays counted; a sweep comes back to it
	}
	return got, err
}

// Offset is how many bytes of a sender's upload are there.
func (s *Store) Offset(sender string, digest Digest) (int64, error) {
	key := s.keyOf(Upload{Sender: sender, Digest: digest})
	booked, known := s.book.announced(key)
	if !known {
		return 0, nil
	}
	info, err := os.Stat(s.partPath(key, booked))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for an upload: %w", err)
	}
	return info.Size(), nil
}

// part is an upload whose bytes come now.
type part struct {
	store  *Store
	upload Upload
	booked entry // what was announced first
	path   string
	sum    hash.Hash
	stays  bool // what is there may go on later
}

func (p *part) receive(body io.Reader, note func(Digest) error) (Received, error) {
	if p.booked.size != p.upload.Size || p.booked.owner != p.upload.Owner {
		return Received{}, fleet.Errorf(fleet.CodeConflict, fmt.Sprintf("%d bytes were announced for this file before, not %d: begin anew", p.booked.size, p.upload.Size))
	}
	file, err := os.OpenFile(p.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return Received{}, diskError(err)
	}
	defer file.Close()
	if err := p.goOn(file); err != nil {
		return Received{}, err
	}
	size, err := p.write(file, body)
	got := Received{Digest: p.upload.Digest, Size: size}
	if err != nil {
		return got, err
	}
	if size < p.upload.Size {
		if p.stays = p.upload.Sender != ""; p.stays {
			return got, nil
		}
		return got, io.ErrUnexpectedEOF
	}
	if got.Digest, err = p.checked(); err != nil {
		return got, err
	}
	if err := file.Sync(); err != nil {
		return got, diskError(err)
	}
	got.Whole = true
	return got, p.store.keep(p.path, got.Digest, size, func() error { return note(got.Digest) })
}

// goOn stands behind the bytes that came before, which it sums.
func (p *part) goOn(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return diskError(err)
	}
	if at := info.Size(); at != p.upload.Offset {
		p.stays = at > 0
		return fleet.Errorf(fleet.CodeConflict, fmt.Sprintf("%d bytes are there, not %d: go on from there", at, p.upload.Offset))
	}
	if _, err := io.Copy(p.sum, file); err != nil {
		return diskError(err)
	}
	return nil
}

// write adds what comes, at most what was announced.
func (p *part) write(file *os.File, body io.Reader) (size int64, err error) {
	left := p.upload.Size - p.upload.Offset
	n, err := io.Copy(io.MultiWriter(file, p.sum), io.LimitReader(body, left))
	size = p.upload.Offset + n
	if err == nil && n == left {
		more, end := io.ReadFull(body, make([]byte, 1))
		if more > 0 {
			return size, fleet.Errorf(fleet.CodeTooLarge, fmt.Sprintf("more came than the %d bytes that were announced", p.upload.Size))
		}
		if !errors.Is(end, io.EOF) {
			err = end
		}
	}
	if err != nil {
		p.stays = p.upload.Sender != ""
		return size, diskError(err)
	}
	return size, nil
}

// checked is the digest of all that came, if it is the one that was announced.
func (p *part) checked() (Digest, error) {
	digest := DigestOf(p.sum.Sum(nil))
	switch {
	case p.upload.Digest == "" || p.upload.Digest == digest:
		return digest, nil
	case p.upload.Offset > 0:
		return digest, fleet.Errorf(fleet.CodeConflict, "what came in parts is "+string(digest)+", not the announced file: begin anew")
	}
	return digest, fleet.Errorf(fleet.CodeUnprocessable, fmt.Sprintf("the body's digest is %s, not the announced %s", digest, p.upload.Digest))
}

// keep gives a finished file its name and has it noted. An equal file that is there
// already is replaced: same content, and a damaged one is healed.
func (s *Store) keep(from string, digest Digest, size int64, note func() error) error {
	path := s.path(digest)
	s.naming.RLock()
	defer s.naming.RUnlock()
	if err := os.Mkdir(filepath.Dir(path), 0o700); err == nil {
		if err := syncDir(s.finished()); err != nil {
			return diskError(err)
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return diskError(err)
	}
	if err := s.rename(from, path, size); err != nil {
		return diskError(err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return diskError(err)
	}
	return note()
}

// rename counts the file once, however many have it.
func (s *Store) rename(from, to string, size int64) error {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	if old, err := os.Lstat(to); err == nil {
		size -= old.Size()
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	s.book.files += size
	return nil
}

// diskError tells a full disk from other trouble: it passes, the client tries again.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &fleet.Error{Code: fleet.CodeUnavailable, Detail: "the disk is full: try again later", Cause: err}
	}
	return fmt.Errorf("store an artifact: %w", err)
}

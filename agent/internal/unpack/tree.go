package unpack

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// Bounds of one entry's name.
const (
	maxName  = 1024 // bytes
	maxDepth = 32
)

// tree is what comes out of an archive.
type tree struct {
	ctx     context.Context
	root    *os.Root // no name leads out of it
	limits  Limits
	left    int64 // bytes that the limit leaves
	ratio   int64 // bytes of content that the ratio leaves
	entries int64
	made    map[string]bool // the folders
}

// block is what a file or folder takes on the disk beside its content, in bytes.
const block = 4 << 10

// room is how many bytes of content may still come.
func (t *tree) room() int64 { return min(t.left, t.ratio) }

// tooMuch refuses what has no room.
func (t *tree) tooMuch() error {
	if t.ratio < t.left {
		return refuse("it unpacks to more than %d times its size: that is a bomb", ratio)
	}
	return refuse("it unpacks to more than %d bytes", t.limits.Bytes)
}

// count counts an entry.
func (t *tree) count() error {
	if t.entries++; t.entries > t.limits.Entries {
		return refuse("it has more than %d entries", t.limits.Entries)
	}
	return t.ctx.Err()
}

// occupy counts what a new file or folder takes on the disk.
func (t *tree) occupy() error {
	if t.left -= block; t.left < 0 {
		return t.tooMuch()
	}
	return nil
}

// entry counts one and gives its name; empty: the root itself.
func (t *tree) entry(name string) (string, error) {
	if err := t.count(); err != nil {
		return "", err
	}
	plain := strings.TrimPrefix(strings.TrimSuffix(name, "/"), "./")
	if plain == "." || plain == "" && name != "" && name[0] == '.' {
		return "", nil
	}
	switch {
	case len(name) > maxName || strings.Count(plain, "/") >= maxDepth:
		return "", refuse("%.60q…: its name is too long, or too many folders deep", name)
	case !fs.ValidPath(plain) || !filepath.IsLocal(filepath.FromSlash(plain)):
		return "", refuse("%q leaves the folder, or is no plain name", name)
	case strings.ContainsRune(plain, '\\') || strings.ContainsFunc(plain, unicode.IsControl):
		return "", refuse("%q is no plain name", name)
	}
	return plain, nil
}

// folder makes a folder, and those above it.
func (t *tree) folder(name string) error {
	plain, err := t.entry(name)
	if err != nil || plain == "" {
		return err
	}
	if err := t.above(name, plain); err != nil {
		return err
	}
	return t.mkdir(name, plain)
}

// above makes the folders above a name, which count like those that the archive lists.
func (t *tree) above(name, plain string) error {
	for i := range len(plain) {
		if plain[i] != '/' || t.made[plain[:i]] {
			continue
		}
		if err := t.count(); err != nil {
			return err
		}
		if err := t.mkdir(name, plain[:i]); err != nil {
			return err
		}
	}
	return nil
}

// mkdir makes one folder, unless it is there.
func (t *tree) mkdir(name, plain string) error {
	if t.made[plain] {
		return nil
	}
	if err := t.occupy(); err != nil {
		return err
	}
	err := t.root.Mkdir(plain, 0o700)
	if errors.Is(err, fs.ErrExist) { // on some disks a and A are one
		if info, lookErr := t.root.Lstat(plain); lookErr == nil && info.IsDir() {
			err = nil
		}
	}
	t.made[plain] = err == nil
	return t.place(name, err)
}

// file writes a file whose archive says its size; what comes is counted all the same.
func (t *tree) file(name string, size int64, program bool, from io.Reader) error {
	plain, err := t.entry(name)
	if err != nil {
		return err
	}
	if plain == "" {
		return refuse("%q is no plain name", name)
	}
	if err := t.above(name, plain); err != nil {
		return err
	}
	if err := t.occupy(); err != nil {
		return err
	}
	if size > t.room() {
		return t.tooMuch()
	}
	mode := fs.FileMode(0o600)
	if program {
		mode = 0o700
	}
	to, err := t.root.OpenFile(plain, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode) // twice the same name is a trick
	if err != nil {
		return t.place(name, err)
	}
	return errors.Join(t.fill(to, from), to.Close())
}

// fill copies no more than there is room for.
func (t *tree) fill(to io.Writer, from io.Reader) error {
	n, err := io.Copy(writing{to}, io.LimitReader(until{t.ctx, from}, t.room()+1))
	t.left, t.ratio = t.left-n, t.ratio-n
	if t.room() < 0 {
		return t.tooMuch()
	}
	return broken(t.ctx, err)
}

// place is why a name could not be made: where it collides the archive is at fault,
// else the disk.
func (t *tree) place(name string, err error) error {
	var at *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist), errors.As(err, &at) && collides(at.Err):
		return refuse("%q is there already, or a file stands where it needs a folder", name)
	}
	return err
}

// writing marks what the disk says, among errors of the archive.
type writing struct{ to io.Writer }

// Write implements io.Writer.
func (w writing) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		err = diskError{err}
	}
	return n, err
}

type diskError struct{ error }

// Unwrap gives the disk's own error.
func (d diskError) Unwrap() error { return d.error }

// broken is an error of reading: the archive's, unless the disk or the context says
// otherwise.
func broken(ctx context.Context, err error) error {
	var refused *Refused
	switch {
	case err == nil, errors.As(err, &refused), errors.As(err, new(diskError)):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return refuse("it is broken: %v", err)
}

// until reads until the context ends.
type until struct {
	ctx  context.Context
	from io.Reader
}

// Read implements io.Reader.
func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(p)
}

package unpack

import (
	"archive/zip"
	"io"
	"io/fs"
	"strings"
)

// directoryRoom is what the table of contents may have for each entry: it is held in
// memory as a whole before the first entry is known.
const directoryRoom = 512

// encrypted is the flag of an entry that needs a password.
const encrypted = 0x1

func (t *tree) zip(file io.ReaderAt, size int64) error {
	contents := &boundedAt{from: file, left: directoryRoom*t.limits.Entries + 1<<17, over: func() error {
		return refuse("its table of contents is that of more than %d entries", t.limits.Entries)
	}}
	archive, err := zip.NewReader(contents, size)
	if err != nil {
		return broken(t.ctx, err)
	}
	contents.opened = true
	for _, f := range archive.File {
		if err := t.zipped(f); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) zipped(f *zip.File) error {
	mode := f.Mode()
	switch {
	case mode.IsDir() && strings.HasSuffix(f.Name, "/"):
		return t.folder(f.Name)
	case !mode.IsRegular():
		return refuse("%q is a link, a device or of another kind: only files and folders are unpacked", f.Name)
	case f.Flags&encrypted != 0:
		return refuse("%q is encrypted", f.Name)
	case f.UncompressedSize64 > uint64(t.room()):
		return t.tooMuch()
	}
	from, err := f.Open()
	if err != nil {
		return broken(t.ctx, err)
	}
	defer func() { _ = from.Close() }()
	return t.file(f.Name, int64(f.UncompressedSize64), mode&fs.FileMode(0o111) != 0, from)
}

// boundedAt bounds what is read until the archive is open.
type boundedAt struct {
	from   io.ReaderAt
	left   int64
	opened bool
	over   func() error
}

// ReadAt implements io.ReaderAt.
func (b *boundedAt) ReadAt(p []byte, at int64) (int, error) {
	n, err := b.from.ReadAt(p, at)
	if b.opened {
		return n, err
	}
	if b.left -= int64(n); b.left < 0 {
		return 0, b.over()
	}
	return n, err
}

// Package unpack takes archives apart that nobody vouches for: tar, tar.gz and zip.
// It writes plain files and folders below one folder and nothing else, and stops in
// the middle of what is too much.
package unpack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Limits bound what comes out of an archive.
type Limits struct {
	Bytes   int64 // of all files together, 4 KiB more for each file and folder
	Entries int64 // files and folders
}

// What unpacks to more than ratio times the archive is a bomb; small archives may
// hold much of little, so the first bytes are free.
const (
	ratio = 200
	free  = 16 << 20
)

// Refused is an archive that is none, or none that is taken apart.
type Refused struct{ Why string }

func (r *Refused) Error() string { return r.Why }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// Archive takes the file at path apart into dir, which is there and empty. When it
// fails what it wrote is of no use. Errors: *Refused, or what the disk says.
func Archive(ctx context.Context, path, dir string, l Limits) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	t := &tree{ctx: ctx, root: root, limits: l, left: l.Bytes, ratio: free + ratio*info.Size(), made: map[string]bool{}}
	return t.unpack(file, info.Size())
}

// unpack looks at the archive's first bytes.
func (t *tree) unpack(file *os.File, size int64) error {
	head := make([]byte, 512)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	head = head[:n]
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return t.gzip(file)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return t.zip(file, size)
	case n == 512 && bytes.HasPrefix(head[257:], []byte("ustar")):
		return t.tar(file)
	}
	return refuse("it is no archive: known are tar, tar.gz and zip")
}

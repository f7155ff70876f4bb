package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// headerRoom is what the headers of one entry may have in a tar.
const headerRoom = 4 << 10

func (t *tree) gzip(from io.Reader) error {
	plain, err := gzip.NewReader(until{t.ctx, from})
	if err != nil {
		return broken(t.ctx, err)
	}
	return t.tar(plain)
}

func (t *tree) tar(from io.Reader) error {
	// Headers alone can be a bomb: they are no entry and no file.
	stream := &bounded{from: until{t.ctx, from}, left: t.room() + t.limits.Entries*headerRoom, over: t.tooMuch}
	archive := tar.NewReader(stream)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return t.ending(stream)
		}
		if err != nil {
			return broken(t.ctx, err)
		}
		if err := t.member(header, archive); err != nil {
			return err
		}
	}
}

// ending demands the mark that an archive ends with, which one that was cut does not
// have, and behind it nothing but the zeros that fill its last record.
func (t *tree) ending(stream *bounded) error {
	if stream.ended {
		return refuse("it is broken: it ends before its end mark, maybe it was cut")
	}
	part := make([]byte, 32<<10)
	for {
		n, err := stream.Read(part)
		switch {
		case len(bytes.TrimLeft(part[:n], "\x00")) > 0:
			return refuse("it is broken: something else stands behind its end")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return broken(t.ctx, err)
		}
	}
}

func (t *tree) member(header *tar.Header, from io.Reader) error {
	switch header.Typeflag {
	case tar.TypeReg:
		return t.file(header.Name, header.Size, header.Mode&0o111 != 0, from)
	case tar.TypeDir:
		return t.folder(header.Name)
	case tar.TypeXGlobalHeader: // says something of all, as those of git do
		_, err := t.entry(".")
		return err
	}
	return refuse("%q is a link, a device or of another kind: only files and folders are unpacked", header.Name)
}

// bounded ends a stream with a refusal.
type bounded struct {
	from io.Reader
	left int64
	over func() error
	// ended: more was asked for than there is.
	ended bool
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.over()
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.ended = b.ended || n == 0 && errors.Is(err, io.EOF)
	return n, err
}

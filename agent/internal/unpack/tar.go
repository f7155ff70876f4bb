package unpack

import (
	"archive/tar"
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
			return nil
		}
		if err != nil {
			return broken(t.ctx, err)
		}
		if err := t.member(header, archive); err != nil {
			return err
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
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.over()
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"strings"
	"testing"
)

// member is an entry of an archive that a test makes.
type member struct {
	name    string
	content string
	kind    byte // of a tar; 0: by its name
	mode    fs.FileMode
	zeros   int64 // bytes of content instead
}

func (m *member) header() *tar.Header {
	h := &tar.Header{Name: m.name, Mode: int64(m.mode.Perm() | 0o600), Size: int64(len(m.content)) + m.zeros, Typeflag: m.kind, Format: tar.FormatPAX}
	switch {
	case m.kind != 0:
		h.Size, h.Linkname = 0, m.content
	case strings.HasSuffix(m.name, "/"):
		h.Typeflag, h.Size = tar.TypeDir, 0
	default:
		h.Typeflag = tar.TypeReg
	}
	return h
}

func (m *member) write(to io.Writer) error {
	if _, err := io.WriteString(to, m.content); err != nil || m.zeros == 0 {
		return err
	}
	_, err := io.CopyN(to, zeros{}, m.zeros)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func tarOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := m.header()
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if err := m.write(w); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(t testing.TB, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.mode != 0 {
			h.SetMode(m.mode)
		}
		to, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(m.name, "/") {
			continue
		}
		if err := m.write(to); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

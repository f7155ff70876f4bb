package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"rockpool/shared/wire"
)

// Source gives the content of an artifact.
type Source interface {
	// Open begins to read at an offset; at is where the body begins: there, or at 0.
	// An error that is final has a method Final() bool: another try would end in the
	// same way.
	Open(ctx context.Context, digest string, offset int64) (body io.ReadCloser, at int64, err error)
}

const (
	fetchTime  = time.Hour              // for all inputs of an attempt
	fetchTries = 4                      // in a row that bring nothing
	fetchPause = 500 * time.Millisecond // doubled after each of them
)

// fetch brings one input to path, complete and checked, or not at all. A connection
// that breaks costs what was in flight.
func (s *Set) fetch(ctx context.Context, in wire.Input, path string) error {
	if in.Size > s.inputLimit {
		return fmt.Errorf("has %d bytes, this node takes at most %d (input_limit)", in.Size, s.inputLimit)
	}
	part := path + ".part"
	to, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	d := &download{source: s.source, in: in, to: to, sum: sha256.New()}
	if err := errors.Join(d.all(ctx), to.Close()); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// download is an input on its way.
type download struct {
	source Source
	in     wire.Input
	to     *os.File
	sum    hash.Hash // of what came
	came   int64     // bytes
}

// all tries until the whole is there, or nothing came for some tries.
func (d *download) all(ctx context.Context) error {
	pause := fetchPause
	for try := 1; ; try++ {
		before := d.came
		err := d.more(ctx)
		if err == nil || isFinal(err) {
			return err
		}
		if d.came > before {
			try, pause = 0, fetchPause
		}
		if try == fetchTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// more reads from where the last try ended, at most one byte more than there should
// be: a body without an end is left.
func (d *download) more(ctx context.Context) error {
	from, at, err := d.source.Open(ctx, d.in.Digest, d.came)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if at != d.came {
		if err := d.anew(); err != nil {
			return err
		}
	}
	n, err := io.Copy(io.MultiWriter(noRoom{d.to}, d.sum), io.LimitReader(from, d.in.Size-d.came+1))
	d.came += n
	switch {
	case d.came < d.in.Size && err != nil:
		return err
	case d.came < d.in.Size:
		return fmt.Errorf("%d of %d bytes came: %w", d.came, d.in.Size, io.ErrUnexpectedEOF)
	case d.came > d.in.Size, "sha256:"+hex.EncodeToString(d.sum.Sum(nil)) != d.in.Digest:
		return mismatch{d.in}
	}
	return nil
}

// anew begins at the first byte again.
func (d *download) anew() error {
	d.came = 0
	d.sum.Reset()
	_, err := d.to.Seek(0, io.SeekStart)
	return errors.Join(err, d.to.Truncate(0))
}

// mismatch is an artifact that came whole and is another one.
type mismatch struct{ asked wire.Input }

func (m mismatch) Error() string {
	return fmt.Sprintf("what came is not %s of %d bytes", m.asked.Digest, m.asked.Size)
}

// Final implements what Source says of errors.
func (mismatch) Final() bool { return true }

// noRoom makes what a disk says final: it is not the network's to mend.
type noRoom struct{ to io.Writer }

// Write implements io.Writer.
func (n noRoom) Write(p []byte) (int, error) {
	written, err := n.to.Write(p)
	if err != nil {
		err = diskError{err}
	}
	return written, err
}

// diskError is what this node's disk says.
type diskError struct{ error }

// Unwrap gives the disk's own error.
func (d diskError) Unwrap() error { return d.error }

// Final implements what Source says of errors.
func (diskError) Final() bool { return true }

package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"rockpool/shared/wire"
)

// Source gives the content of an artifact.
type Source interface {
	// Open begins to read. An error that is final has a method Final() bool: another
	// try would end in the same way.
	Open(ctx context.Context, digest string) (io.ReadCloser, error)
}

const (
	fetchTime  = time.Hour // for all inputs of an attempt
	fetchTries = 4
	fetchPause = 500 * time.Millisecond // doubled after each try
)

// fetch brings one input to path, complete and checked, or not at all.
func (s *Set) fetch(ctx context.Context, in wire.Input, path string) error {
	if in.Size > s.inputLimit {
		return fmt.Errorf("has %d bytes, this node takes at most %d (input_limit)", in.Size, s.inputLimit)
	}
	pause := fetchPause
	for try := 1; ; try++ {
		err := s.fetchOnce(ctx, in, path)
		if err == nil || try == fetchTries || isFinal(err) {
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

func (s *Set) fetchOnce(ctx context.Context, in wire.Input, path string) (err error) {
	from, err := s.source.Open(ctx, in.Digest)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	part := path + ".part"
	to, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, in.Size+1))
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); n != in.Size || got != in.Digest {
		return mismatch{in}
	}
	return os.Rename(part, path)
}

// mismatch is an artifact that came whole and is another one.
type mismatch struct{ asked wire.Input }

func (m mismatch) Error() string {
	return fmt.Sprintf("what came is not %s of %d bytes", m.asked.Digest, m.asked.Size)
}

// Final implements what Source says of errors.
func (mismatch) Final() bool { return true }

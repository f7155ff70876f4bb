package artifact

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"rockpool/backend/internal/core/fleet"
)

// rows is what a database would say.
type rows struct {
	mu     sync.Mutex
	owned  map[int64]int64
	noted  map[Digest]bool
	refuse error // of notes
}

func (r *rows) OwnedBytes(_ context.Context, owner int64) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owned[owner], nil
}

func (r *rows) UnknownArtifacts(_ context.Context, digests []string) (unknown []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range digests {
		if !r.noted[Digest(d)] {
			unknown = append(unknown, d)
		}
	}
	return unknown, nil
}

func (r *rows) note(u Upload) func(Digest) error {
	return func(d Digest) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.refuse == nil {
			r.noted[d] = true
			r.owned[u.Owner] += u.Size
		}
		return r.refuse
	}
}

func open(t testing.TB, limits Limits) *Store {
	t.Helper()
	return openAt(t, t.TempDir(), limits)
}

func openAt(t testing.TB, root string, limits Limits) *Store {
	t.Helper()
	s, err := Open(root, limits, &rows{owned: map[int64]int64{}, noted: map[Digest]bool{}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Store) receive(u Upload, body io.Reader) (Received, error) {
	return s.Receive(context.Background(), u, body, s.rows.(*rows).note(u))
}

// whole uploads a text of owner 1.
func (s *Store) whole(text string) (Received, error) {
	return s.receive(Upload{Owner: 1, Size: int64(len(text))}, strings.NewReader(text))
}

func digestOf(text string) Digest {
	sum := sha256.Sum256([]byte(text))
	return DigestOf(sum[:])
}

func code(err error) fleet.Code {
	var known *fleet.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

func left(t testing.TB, s *Store) int {
	t.Helper()
	entries, err := os.ReadDir(s.incoming())
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

package artifact

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Swept says what a sweep removed.
type Swept struct {
	Files   int   // that no row names
	Uploads int   // that broke off
	Bytes   int64 // of both
}

// Sweep removes the files that no row names any more, and uploads of which nothing
// came since that time.
func (s *Store) Sweep(ctx context.Context, since time.Time) (swept Swept, err error) {
	err = each(s.incoming(), func(info fs.FileInfo) error {
		if !info.ModTime().Before(since) {
			return nil
		}
		removed, err := s.sweepPart(info)
		if removed && err == nil {
			swept.Uploads++
			swept.Bytes += info.Size()
		}
		return err
	})
	if err == nil {
		err = s.eachFolder(func(dir string) error { return s.sweepFolder(ctx, dir, &swept) })
	}
	if err != nil {
		return swept, fmt.Errorf("sweep the folder of artifacts: %w", err)
	}
	return swept, nil
}

// sweepFolder looks at one folder at a time: uploads wait meanwhile.
func (s *Store) sweepFolder(ctx context.Context, dir string, swept *Swept) error {
	s.naming.Lock()
	defer s.naming.Unlock()
	sizes, digests := map[string]int64{}, []string(nil)
	err := each(dir, func(info fs.FileInfo) error {
		if digest, ok := ParseDigest(digestPrefix + info.Name()); ok {
			sizes[string(digest)], digests = info.Size(), append(digests, string(digest))
		}
		return nil
	})
	if err != nil || len(digests) == 0 {
		return err
	}
	unknown, err := s.rows.UnknownArtifacts(ctx, digests)
	if err != nil {
		return err
	}
	for _, digest := range unknown {
		if err := os.Remove(s.path(Digest(digest))); err != nil {
			return err
		}
		s.book.add(-sizes[digest])
		swept.Files++
		swept.Bytes += sizes[digest]
	}
	return nil
}

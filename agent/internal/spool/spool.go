// Package spool keeps results on the disk from the end of an attempt until the
// control plane's verdict: they survive kill -9 and a reboot. They lie in a few files,
// so that those which end together are made safe together. In which order and how
// often results are handed in decides nodecore.
package spool

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// segmentSize is how many bytes a file takes before another one is begun.
const segmentSize = 1 << 20

// ErrUnreadable says that what was kept of a result is none any more.
var ErrUnreadable = errors.New("spooled result is unreadable")

// Spool is a folder of results. Safe for concurrent use.
type Spool struct {
	dir string
	log *slog.Logger

	mu      sync.Mutex
	entries []entry  // oldest first
	safe    int      // how many of them are
	open    *segment // that takes more; nil: none does
	last    int64    // number of the newest segment
}

// entry is where a result lies.
type entry struct {
	ref      nodecore.Ref
	in       *segment
	at, size int64
}

// Open reads the folder, which it makes if it is missing. What it can't read it says
// in the log, and keeps for people. log nil: the default.
func Open(dir string, log *slog.Logger) (*Spool, error) {
	if log == nil {
		log = slog.Default()
	}
	s := &Spool{dir: dir, log: log}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	return s, nil
}

// Refs lists the results, oldest first.
func (s *Spool) Refs() []nodecore.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := make([]nodecore.Ref, len(s.entries))
	for i, e := range s.entries {
		refs[i] = e.ref
	}
	return refs
}

// Add writes the result of an attempt; it is safe once Sync has returned nil. A
// result that is there already stays.
func (s *Spool) Add(ref nodecore.Ref, r wire.Result) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("spool a result: %w", err)
	}
	frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(r))
	if err != nil {
		return fmt.Errorf("spool a result: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index(ref) >= 0 {
		return nil
	}
	if err := s.room(); err != nil {
		return fmt.Errorf("spool a result: %w", err)
	}
	at, size, err := s.open.add(frame)
	if err != nil {
		return fmt.Errorf("spool a result: %w", err)
	}
	s.entries = append(s.entries, entry{ref, s.open, at, size})
	return nil
}

// room has a segment open that takes another result.
func (s *Spool) room() error {
	if full := s.open; full != nil && (full.size >= segmentSize || full.spoilt) && s.safe == len(s.entries) {
		s.open = nil
		if err := s.tidy(full); err != nil {
			return err
		}
	}
	if s.open != nil {
		return nil
	}
	in, err := beginSegment(s.dir, s.last+1)
	if err == nil {
		s.open, s.last = in, s.last+1
	}
	return err
}

// Sync makes safe what was added. After an error nobody knows what the disk has of
// it: it is forgotten, and to be added again.
func (s *Spool) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.safe == len(s.entries) {
		return nil
	}
	err := s.open.sync()
	if err == nil {
		s.safe = len(s.entries)
		return nil
	}
	failed := s.open
	failed.kept -= len(s.entries) - s.safe
	s.entries, s.open = s.entries[:s.safe], nil
	return fmt.Errorf("spool results: %w", errors.Join(err, s.tidy(failed)))
}

// Get reads a result. One that is spoilt is taken out of the spool, and its file is
// kept for people: ErrUnreadable.
func (s *Spool) Get(ref nodecore.Ref) (wire.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(ref)
	if i < 0 {
		return wire.Result{}, fmt.Errorf("no result of %s attempt %d in the spool", ref.Job, ref.Attempt)
	}
	e := s.entries[i]
	frame, err := e.in.read(e.at, e.size)
	var r wire.Result
	if err == nil {
		r, err = decode(frame)
	}
	if err == nil {
		return r, nil
	}
	e.in.spoilt = true
	return wire.Result{}, fmt.Errorf("%w: %s: %w", ErrUnreadable, e.in.path, errors.Join(err, s.take(i)))
}

// Remove takes a result out. One that comes back after a crash is sent again and
// judged a duplicate.
func (s *Spool) Remove(ref nodecore.Ref) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(ref)
	if i < 0 {
		return nil
	}
	if err := s.take(i); err != nil {
		return fmt.Errorf("take a result out of the spool: %w", err)
	}
	return nil
}

// take takes an entry out, and its file with the last one, unless that takes more.
func (s *Spool) take(i int) error {
	e := s.entries[i]
	s.entries = slices.Delete(s.entries, i, i+1)
	if i < s.safe {
		s.safe--
	}
	return errors.Join(e.in.free(e.at), s.tidy(e.in))
}

// tidy removes a file without results that takes no more.
func (s *Spool) tidy(in *segment) error {
	if in == s.open || in.kept > 0 {
		return nil
	}
	return in.remove()
}

// Rest removes the open file when no result is left in it: the next one begins another.
func (s *Spool) Rest() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil || s.open.kept > 0 {
		return nil
	}
	idle := s.open
	s.open = nil
	return s.tidy(idle)
}

// Close lets go of the files. What is in them stays.
func (s *Spool) Close() {
	_ = s.Rest() // else the next Open does
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		_ = e.in.file.Close() // once is enough; all of it is safe
	}
	if s.open != nil {
		_ = s.open.file.Close()
	}
}

func (s *Spool) index(ref nodecore.Ref) int {
	return slices.IndexFunc(s.entries, func(e entry) bool { return e.ref == ref })
}

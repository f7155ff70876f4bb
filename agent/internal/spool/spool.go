// Package spool keeps results on the disk from the end of an attempt until the
// control plane's verdict. Each is one file, whole or not there: it survives
// kill -9 and a reboot. In which order and how often results are handed in decides
// nodecore.
package spool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"rockpool/agent/internal/durable"
	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

const (
	suffix = ".result"
	spoilt = ".unreadable"
)

// ErrUnreadable says that a result's file does not hold a result any more.
var ErrUnreadable = errors.New("spooled result is unreadable")

// Spool is a folder of results. Safe for concurrent use.
type Spool struct {
	dir string

	mu      sync.Mutex
	entries []entry // oldest first
	last    int64   // number that was taken last
}

// entry is one file, named <number>-<job>-<attempt>.result: the number keeps the
// order in which attempts ended.
type entry struct {
	number int64
	ref    nodecore.Ref
}

func (e entry) name() string {
	return fmt.Sprintf("%d-%s-%d%s", e.number, e.ref.Job, e.ref.Attempt, suffix)
}

func byNumber(a, b entry) int { return cmp.Compare(a.number, b.number) }

// Open reads the folder, which it makes if it is missing.
func Open(dir string) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	if err := durable.Clean(dir); err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	s := &Spool{dir: dir}
	for _, f := range files {
		if e, ok := parseName(f.Name()); ok {
			s.entries = append(s.entries, e)
		}
	}
	slices.SortFunc(s.entries, byNumber)
	if n := len(s.entries); n > 0 {
		s.last = s.entries[n-1].number
	}
	return s, nil
}

func parseName(name string) (entry, bool) {
	stem, ok := strings.CutSuffix(name, suffix)
	number, rest, found := strings.Cut(stem, "-")
	last := strings.LastIndexByte(rest, '-')
	if !ok || !found || last < 0 {
		return entry{}, false
	}
	n, err1 := strconv.ParseInt(number, 10, 64)
	job, err2 := ids.ParseJobID(rest[:last])
	attempt, err3 := strconv.ParseInt(rest[last+1:], 10, 32)
	return entry{n, nodecore.Ref{Job: job, Attempt: int32(attempt)}}, errors.Join(err1, err2, err3) == nil
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

// Put stores the result of an attempt; when it returns nil the result is safe. A
// result that is there already stays. Results of several attempts may be put at one
// time: the disk makes their writes safe together.
func (s *Spool) Put(ref nodecore.Ref, r wire.Result) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("spool a result: %w", err)
	}
	frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(r))
	if err != nil {
		return fmt.Errorf("spool a result: %w", err)
	}
	e, there := s.enter(ref)
	if there {
		return nil
	}
	if err := durable.WriteFile(filepath.Join(s.dir, e.name()), frame); err != nil {
		return fmt.Errorf("spool a result: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, _ := slices.BinarySearchFunc(s.entries, e, byNumber)
	s.entries = slices.Insert(s.entries, at, e)
	return nil
}

// enter takes the next number for a result that is not there yet.
func (s *Spool) enter(ref nodecore.Ref) (e entry, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index(ref) >= 0 {
		return entry{}, true
	}
	s.last++
	return entry{s.last, ref}, false
}

// Get reads a result. One whose file is spoilt is taken out of the spool and kept
// beside it for people: ErrUnreadable.
func (s *Spool) Get(ref nodecore.Ref) (wire.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(ref)
	if i < 0 {
		return wire.Result{}, fmt.Errorf("no result of %s attempt %d in the spool", ref.Job, ref.Attempt)
	}
	path := filepath.Join(s.dir, s.entries[i].name())
	r, err := read(path)
	if err != nil {
		s.entries = slices.Delete(s.entries, i, i+1)
		return wire.Result{}, fmt.Errorf("%w: %s: %w", ErrUnreadable, path, errors.Join(err, os.Rename(path, path+spoilt)))
	}
	return r, nil
}

func read(path string) (wire.Result, error) {
	frame, err := os.ReadFile(path)
	if err != nil {
		return wire.Result{}, err
	}
	messages, err := wire.DecodeFrame(frame, wire.DefaultLimits())
	if err != nil {
		return wire.Result{}, err
	}
	return wire.Decode[wire.Result](messages[0])
}

// Remove takes a result out. A file that comes back after a crash is sent again
// and judged a duplicate.
func (s *Spool) Remove(ref nodecore.Ref) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(ref)
	if i < 0 {
		return nil
	}
	path := filepath.Join(s.dir, s.entries[i].name())
	s.entries = slices.Delete(s.entries, i, i+1)
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("take a result out of the spool: %w", err)
	}
	return nil
}

func (s *Spool) index(ref nodecore.Ref) int {
	return slices.IndexFunc(s.entries, func(e entry) bool { return e.ref == ref })
}

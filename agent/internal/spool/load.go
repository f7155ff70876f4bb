package spool

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// load reads what an earlier life left in the folder.
func (s *Spool) load() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	type found struct {
		path   string
		number int64
		mark   mark
	}
	var segments []found
	for _, f := range files {
		path := filepath.Join(s.dir, f.Name())
		if number, m, ok := parseName(f.Name()); ok {
			segments = append(segments, found{path, number, m})
		} else if !strings.HasSuffix(path, spoilt) {
			s.log.Warn("a file in the spool is none of results: it stays there unread", "file", path)
		}
	}
	slices.SortFunc(segments, func(a, b found) int { return cmp.Compare(a.number, b.number) })
	for _, f := range segments {
		in, content, err := openSegment(f.path, f.mark)
		if err != nil {
			return err
		}
		s.last = f.number
		if err := s.loadSegment(in, content); err != nil {
			return err
		}
	}
	s.safe = len(s.entries)
	return nil
}

// loadSegment takes over the results of a file, to which nothing is added any more.
// Nothing but a record that was damaged itself is lost: the next one is looked for.
func (s *Spool) loadSegment(in *segment, content []byte) error {
	for at := int64(0); at < in.size; {
		ref, state, size, err := in.result(content[at:])
		if err != nil {
			end := in.next(content, at)
			s.unreadable(in, at, content[at:end], err)
			at = end
			continue
		}
		if state != recordFreed && s.index(ref) < 0 { // a state that is neither came of damage
			s.entries = append(s.entries, entry{ref, in, at, size})
			in.kept++
		}
		at += size
	}
	return s.tidy(in)
}

// result reads the record with which b begins as that of a result.
func (s *segment) result(b []byte) (ref nodecore.Ref, state byte, size int64, err error) {
	state, frame, err := s.parse(b)
	if err == nil {
		ref, err = refOf(frame)
	}
	return ref, state, headSize + int64(len(frame)), err
}

// refOf reads whose result a frame holds.
func refOf(frame []byte) (nodecore.Ref, error) {
	r, err := decode(frame)
	if err != nil {
		return nodecore.Ref{}, err
	}
	job, err := ids.ParseJobID(r.Job)
	return nodecore.Ref{Job: job, Attempt: int32(r.Attempt)}, err
}

func decode(frame []byte) (wire.Result, error) {
	messages, err := wire.DecodeFrame(frame, wire.DefaultLimits())
	if err != nil {
		return wire.Result{}, err
	}
	return wire.Decode[wire.Result](messages[0])
}

// unreadable tells of bytes that hold no result any more. At a file's end a crash
// leaves a record without its end, or zeros, of which nobody was told that they are
// safe; anything else was damaged.
func (s *Spool) unreadable(in *segment, at int64, b []byte, why error) {
	last := at+int64(len(b)) == in.size
	if last && (errors.Is(why, errTorn) || len(bytes.Trim(b, "\x00")) == 0) {
		s.log.Warn("the last result in a file of the spool was not written to its end", "file", in.path, "from", at, "bytes", len(b))
		return
	}
	in.spoilt = true
	s.log.Error("a part of the spool can't be read: a result that lay there is lost and its job runs again; the file is set aside when it is done with",
		"file", in.path, "from", at, "bytes", len(b), "error", why)
}

package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rockpool/shared/wire"
)

// collect puts the declared files of a finished run into its result, or says why
// the run is no success after all. What it read is what is handed over: the files
// stay open.
func (s *Spec) collect(ctx context.Context, a *attempt, r *wire.Result) error {
	if err := s.find(a); err != nil {
		return err
	}
	for _, name := range s.files() {
		f := a.found[name]
		if f == nil {
			continue
		}
		digest, size, err := digestContent(ctx, f)
		if err != nil {
			return failed(causeOutputMissing, name+": "+err.Error())
		}
		if strings.HasSuffix(name, ".json") || name == s.Result.File {
			if err := checkJSON(ctx, f, size); err != nil {
				return because(err, name)
			}
		}
		r.Outputs = append(r.Outputs, wire.Output{Name: name, Digest: digest, Size: size})
	}
	return nil
}

// find opens the declared files.
func (s *Spec) find(a *attempt) error {
	a.found = map[string]*os.File{}
	for _, name := range s.files() {
		f, err := openPlain(filepath.Join(a.workDir(), name))
		switch {
		case errors.Is(err, fs.ErrNotExist) && !s.required(name):
			continue
		case errors.Is(err, fs.ErrNotExist):
			return failed(causeOutputMissing, name+" was not written")
		case err != nil:
			return failed(causeOutputMissing, name+": "+err.Error())
		}
		a.found[name] = f
	}
	return nil
}

func (a *attempt) closeFound() {
	for _, f := range a.found {
		_ = f.Close() // it was only read
	}
}

// result is the job's output; empty when the runner declares none.
func (s *Spec) result(a *attempt, log *output) ([]byte, error) {
	switch {
	case s.Result.File != "":
		return readResult(a.found[s.Result.File], s.Result.File)
	case s.Result.pattern != nil:
		return s.Result.inLog(log.last())
	}
	return nil, nil
}

// openPlain opens a regular file. A link is none: it could point anywhere. What is
// opened is what was looked at, and a pipe that takes its place is not waited for.
func openPlain(path string) (*os.File, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errNotPlain
	}
	f, err := os.OpenFile(path, os.O_RDONLY|plainOnly, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !os.SameFile(before, info) {
		return nil, errors.Join(errNotPlain, err, f.Close())
	}
	return f, nil
}

var errNotPlain = errors.New("is no regular file")

// DigestFile is what the control plane calls the content, and its bytes.
func DigestFile(ctx context.Context, path string) (digest string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	return digestContent(ctx, f)
}

func digestContent(ctx context.Context, from io.Reader) (digest string, size int64, err error) {
	sum := sha256.New()
	size, err = io.Copy(sum, untilDone{ctx, from})
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), size, err
}

// maxOutput leaves room for some of the log beside a result's output.
const maxOutput = wire.MaxResult - 4<<10

// readResult is the result's document; none where it has more bytes than travel in a
// result: it is among the outputs, which are uploaded, under its name.
func readResult(f *os.File, name string) ([]byte, error) {
	content, err := io.ReadAll(io.NewSectionReader(f, 0, maxOutput+1))
	if err != nil {
		return nil, failed(causeOutputMissing, name+": "+err.Error())
	}
	if len(content) > maxOutput {
		return nil, nil
	}
	if !wire.IsDocument(content) { // checkJSON lets pass what is nested too deep, or no UTF-8
		return nil, failed(causeOutputMissing, name+" is no JSON document in UTF-8 that can be kept")
	}
	return content, nil
}

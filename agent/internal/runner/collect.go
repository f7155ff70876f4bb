package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rockpool/shared/wire"
)

// collect puts the declared files of a finished run into its result, or says why
// the run is no success after all.
func (s *Spec) collect(work string, r *wire.Result) error {
	for _, name := range s.files() {
		out, err := describeFile(filepath.Join(work, name), name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !s.required(name):
			continue
		case errors.Is(err, fs.ErrNotExist):
			return failed(causeOutputMissing, name+" was not written")
		case err != nil:
			return failed(causeOutputMissing, name+": "+err.Error())
		}
		if strings.HasSuffix(name, ".json") || name == s.Result.File {
			if err := checkJSON(filepath.Join(work, name)); err != nil {
				return because(err, name)
			}
		}
		r.Outputs = append(r.Outputs, out)
	}
	return nil
}

// result is the job's output; empty when the runner declares none.
func (s *Spec) result(work string, log *output) ([]byte, error) {
	switch {
	case s.Result.File != "":
		return readResult(filepath.Join(work, s.Result.File), s.Result.File)
	case s.Result.pattern != nil:
		return s.Result.inLog(log.last())
	}
	return nil, nil
}

// describeFile digests a regular file. A link is none: it could point anywhere.
func describeFile(path, name string) (wire.Output, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return wire.Output{}, err
	}
	if !info.Mode().IsRegular() {
		return wire.Output{}, fmt.Errorf("is no regular file")
	}
	digest, size, err := DigestFile(path)
	return wire.Output{Name: name, Digest: digest, Size: size}, err
}

// DigestFile is what the control plane calls the content, and its bytes.
func DigestFile(path string) (digest string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	size, err = io.Copy(sum, f)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), size, err
}

// maxOutput leaves room for some of the log beside a result's output.
const maxOutput = wire.MaxResult - 4<<10

// readResult is the result's document; none where it has more bytes than travel in a
// result: it is among the outputs, which are uploaded, under its name.
func readResult(path, name string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, failed(causeOutputMissing, name+": "+err.Error())
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxOutput+1))
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

// folderSize adds up what a job has written. What vanishes meanwhile counts nothing.
func folderSize(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

package spool

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rockpool/agent/internal/durable"
	"rockpool/shared/wire"
)

// segment is a file of results, one behind the other in the order in which their
// attempts ended. A record is
//
//	mark    8 bytes of the file, which stand in its name too
//	state   1 byte  recordKept, or recordFreed once there is a verdict
//	length  4 bytes of the frame
//	sum     4 bytes CRC-32C of the length and the frame
//	frame           of the one message
//
// By the mark the next record is found behind what can't be read. It is random: no
// result holds bytes that pass for a record, whatever its job wrote.
//
// Only its newest records may be torn by a crash, and nobody was told that they are
// safe.
type segment struct {
	file   *os.File
	path   string
	mark   mark
	size   int64
	kept   int  // results without a verdict
	fresh  bool // the folder may not have it yet
	spoilt bool // something in it can't be read: the file is kept for people
}

type mark [8]byte

const (
	suffix     = ".results"
	spoilt     = ".unreadable"
	headSize   = int64(len(mark{}) + 9)
	recordKept = 'k'
	// recordFreed is not synced: what comes back after a crash of the machine is sent
	// again and judged a duplicate.
	recordFreed = 'f'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segmentName is what a file is called: <number>-<mark>.results.
func segmentName(number int64, m mark) string {
	return strconv.FormatInt(number, 10) + "-" + hex.EncodeToString(m[:]) + suffix
}

// parseName reads the name of a segment's file.
func parseName(name string) (number int64, m mark, ok bool) {
	stem, ok := strings.CutSuffix(name, suffix)
	digits, text, _ := strings.Cut(stem, "-")
	number, err := strconv.ParseInt(digits, 10, 64)
	n, markErr := hex.Decode(m[:], []byte(text[:min(len(text), hex.EncodedLen(len(m)))]))
	return number, m, ok && errors.Join(err, markErr) == nil && n == len(m) && name == segmentName(number, m)
}

// beginSegment makes an empty file.
func beginSegment(dir string, number int64) (*segment, error) {
	s := &segment{fresh: true}
	_, _ = rand.Read(s.mark[:]) // never fails
	s.path = filepath.Join(dir, segmentName(number, s.mark))
	var err error
	s.file, err = os.OpenFile(s.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	return s, err
}

// openSegment reads the file of an earlier life.
func openSegment(path string, m mark) (s *segment, content []byte, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	if content, err = io.ReadAll(file); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return &segment{file: file, path: path, mark: m, size: int64(len(content))}, content, nil
}

// add writes a record behind the others and returns where it lies.
func (s *segment) add(frame []byte) (at, size int64, err error) {
	record := make([]byte, headSize, int(headSize)+len(frame))
	head := record[copy(record, s.mark[:]):]
	head[0] = recordKept
	binary.BigEndian.PutUint32(head[1:], uint32(len(frame)))
	record = append(record, frame...)
	binary.BigEndian.PutUint32(head[5:], sumOf(head[1:5], frame))
	at, size = s.size, int64(len(record))
	if _, err := s.file.WriteAt(record, at); err != nil {
		return 0, 0, errors.Join(err, s.file.Truncate(at)) // the next one takes its place
	}
	s.size += size
	s.kept++
	return at, size, nil
}

func sumOf(length, frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, frame)
}

// sync makes all records safe.
func (s *segment) sync() error {
	err := durable.SyncData(s.file)
	if err == nil && s.fresh {
		err = durable.SyncDir(filepath.Dir(s.path))
	}
	s.fresh = s.fresh && err != nil
	return err
}

// errTorn says that a record begins and that its end is missing.
var errTorn = errors.New("its end is missing")

// parse reads the record with which b begins.
func (s *segment) parse(b []byte) (state byte, frame []byte, err error) {
	if n := min(len(b), len(s.mark)); !bytes.Equal(b[:n], s.mark[:n]) {
		return 0, nil, errors.New("no record begins there")
	}
	if int64(len(b)) < headSize {
		return 0, nil, errTorn
	}
	head, rest := b[len(s.mark):headSize], b[headSize:]
	length := int64(binary.BigEndian.Uint32(head[1:]))
	switch {
	case length > wire.DefaultLimits().Frame:
		return 0, nil, errors.New("no result is so long")
	case length > int64(len(rest)):
		return 0, nil, errTorn
	}
	frame = rest[:length]
	if binary.BigEndian.Uint32(head[5:]) != sumOf(head[1:5], frame) {
		return 0, nil, errors.New("its checksum is another")
	}
	return head[0], frame, nil
}

// next is where the next record may begin behind the one at an offset; the end of the
// content: none does.
func (s *segment) next(content []byte, at int64) int64 {
	behind := bytes.Index(content[at+1:], s.mark[:])
	if behind < 0 {
		return int64(len(content))
	}
	return at + 1 + int64(behind)
}

// read gives the frame of the record that lies there.
func (s *segment) read(at, size int64) ([]byte, error) {
	record := make([]byte, size)
	if _, err := s.file.ReadAt(record, at); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	_, frame, err := s.parse(record)
	return frame, err
}

// free notes the verdict on a record.
func (s *segment) free(at int64) error {
	s.kept--
	_, err := s.file.WriteAt([]byte{recordFreed}, at+int64(len(s.mark)))
	return err
}

// remove closes the file of a segment that is not needed any more, and takes it away.
func (s *segment) remove() error {
	_ = s.file.Close() // nothing is to be saved
	if s.spoilt {
		return os.Rename(s.path, s.path+spoilt)
	}
	return os.Remove(s.path)
}

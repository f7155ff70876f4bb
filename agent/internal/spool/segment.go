package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rockpool/agent/internal/durable"
)

// segment is a file of results, one behind the other in the order in which their
// attempts ended. A record is
//
//	state   1 byte  recordKept, or recordFreed once there is a verdict
//	length  4 bytes of the frame
//	sum     4 bytes CRC-32C of the frame
//	frame           of the one message
//
// Only its newest records may be torn by a crash, and nobody was told that they are
// safe.
type segment struct {
	file   *os.File
	path   string
	size   int64
	kept   int  // results without a verdict
	fresh  bool // the folder may not have it yet
	spoilt bool // a record can't be read: the file is kept for people
}

const (
	suffix     = ".results"
	spoilt     = ".unreadable"
	headSize   = 9
	recordKept = 'k'
	// recordFreed is not synced: what comes back after a crash of the machine is sent
	// again and judged a duplicate.
	recordFreed = 'f'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parseName reads the number of a segment's file.
func parseName(name string) (number int64, ok bool) {
	stem, ok := strings.CutSuffix(name, suffix)
	number, err := strconv.ParseInt(stem, 10, 64)
	return number, ok && err == nil
}

func segmentName(number int64) string { return strconv.FormatInt(number, 10) + suffix }

// beginSegment makes an empty file.
func beginSegment(dir string, number int64) (*segment, error) {
	path := filepath.Join(dir, segmentName(number))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &segment{file: file, path: path, fresh: true}, nil
}

// add writes a record behind the others and returns where it begins.
func (s *segment) add(frame []byte) (at int64, err error) {
	record := make([]byte, headSize, headSize+len(frame))
	record[0] = recordKept
	binary.BigEndian.PutUint32(record[1:], uint32(len(frame)))
	binary.BigEndian.PutUint32(record[5:], crc32.Checksum(frame, castagnoli))
	at = s.size
	if _, err := s.file.WriteAt(append(record, frame...), at); err != nil {
		return 0, err // the next one takes its place
	}
	s.size += headSize + int64(len(frame))
	s.kept++
	return at, nil
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

// read gives the state and the frame of the record at an offset. io.EOF: there is
// none; any other error: it can't be read.
func (s *segment) read(at int64) (state byte, frame []byte, err error) {
	var head [headSize]byte
	if n, err := s.file.ReadAt(head[:], at); err != nil {
		if n > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	length := int64(binary.BigEndian.Uint32(head[1:]))
	if length == 0 || at+headSize+length > s.size {
		return 0, nil, io.ErrUnexpectedEOF
	}
	frame = make([]byte, length)
	if _, err := s.file.ReadAt(frame, at+headSize); err != nil {
		return 0, nil, err
	}
	if sum := binary.BigEndian.Uint32(head[5:]); sum != crc32.Checksum(frame, castagnoli) {
		return 0, frame, fmt.Errorf("its checksum is another")
	}
	return head[0], frame, nil
}

// free notes the verdict on a record.
func (s *segment) free(at int64) error {
	s.kept--
	_, err := s.file.WriteAt([]byte{recordFreed}, at)
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

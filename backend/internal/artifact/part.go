package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The file of an upload is named by its key and by what was announced of it, so that
// after a restart it counts as before: KEY.OWNER.SIZE.part.

const (
	partSuffix = "part"
	wholeKey   = "upload-" // begins the key of an upload without a sender
)

// keyOf is what an upload is known by: that of a sender is the same each time, and
// nobody else's.
func (s *Store) keyOf(u Upload) string {
	if u.Sender == "" {
		return wholeKey + strconv.FormatInt(s.serial.Add(1), 10)
	}
	sum := sha256.Sum256([]byte(u.Sender + "\x00" + string(u.Digest)))
	return hex.EncodeToString(sum[:])
}

func (s *Store) partPath(key string, e entry) string {
	return filepath.Join(s.incoming(), fmt.Sprintf("%s.%d.%d.%s", key, e.owner, e.size, partSuffix))
}

// parsePart reads the name that partPath made.
func parsePart(name string) (key string, e entry, ok bool) {
	fields := strings.Split(name, ".")
	if len(fields) != 4 || fields[3] != partSuffix {
		return "", entry{}, false
	}
	owner, ownerErr := strconv.ParseInt(fields[1], 10, 64)
	size, sizeErr := strconv.ParseInt(fields[2], 10, 64)
	return fields[0], entry{owner: owner, size: size}, ownerErr == nil && sizeErr == nil
}

// recallPart counts an upload that an earlier life of the server left, or removes what
// can't go on.
func (s *Store) recallPart(info fs.FileInfo) error {
	key, e, ok := parsePart(info.Name())
	fits := ok && !strings.HasPrefix(key, wholeKey) && info.Size() <= e.size
	if fits && s.book.recall(key, e) {
		return nil
	}
	return os.Remove(filepath.Join(s.incoming(), info.Name()))
}

// sweepPart removes an upload that broke off, unless it goes on now.
func (s *Store) sweepPart(info fs.FileInfo) (removed bool, err error) {
	key, e, ok := parsePart(info.Name())
	if !ok { // somebody else's file
		return true, os.Remove(filepath.Join(s.incoming(), info.Name()))
	}
	if !s.book.seize(key, e) {
		return false, nil
	}
	return true, s.discard(key, e)
}

// discard removes what is left of an upload and forgets it. What can't be removed
// stays counted. An upload that was kept has its other name.
func (s *Store) discard(key string, e entry) error {
	if err := os.Remove(s.partPath(key, e)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.book.pause(key)
		return err
	}
	s.book.drop(key)
	return nil
}

package embedpg

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"
)

const (
	logMax   = 16 << 20 // bytes of postgres.log, and of postgres.log.1 before it
	wordsMax = 1000     // bytes of an error that quotes PostgreSQL
	tailMax  = 64 << 10 // bytes of the log's end that words looks at
)

// logFile is PostgreSQL's own log. PostgreSQL writes to it directly, so that its
// last words are there whoever dies first.
type logFile struct {
	path  string
	begin int64 // where the current postmaster's words begin
}

func newLogFile(path string) *logFile { return &logFile{path: path} }

// open rotates the log if it is full and opens it for the next postmaster.
func (l *logFile) open() (*os.File, error) {
	if err := l.bound(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("postgres log: %w", err)
	}
	if l.begin, err = file.Seek(0, io.SeekEnd); err != nil {
		file.Close()
		return nil, fmt.Errorf("postgres log: %w", err)
	}
	return file, nil
}

// bound keeps the log within logMax: a full one is copied aside and emptied in
// place, because the running PostgreSQL holds it open (for appending).
func (l *logFile) bound() error {
	info, err := os.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < logMax {
		return nil
	}
	if err != nil {
		return fmt.Errorf("postgres log: %w", err)
	}
	if err := copyEnd(l.path, l.path+".1", logMax); err != nil {
		return fmt.Errorf("postgres log: %w", err)
	}
	l.begin = 0
	return os.Truncate(l.path, 0)
}

// copyEnd copies the last limit bytes of a file into another.
func copyEnd(from, to string, limit int64) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	if _, err := seekEnd(src, limit, 0); err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(dst, src, limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, dst.Close())
}

// seekEnd moves to limit bytes before the end, but not before begin.
func seekEnd(file *os.File, limit, begin int64) (int64, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	return file.Seek(max(size-limit, begin), io.SeekStart)
}

// words quotes the last errors of the current postmaster in one line.
func (l *logFile) words() string {
	file, err := os.Open(l.path)
	if err != nil {
		return "no log: " + err.Error()
	}
	defer file.Close()
	if _, err := seekEnd(file, tailMax, l.begin); err != nil {
		return "no log: " + err.Error()
	}
	text, err := io.ReadAll(io.LimitReader(file, tailMax))
	if err != nil {
		return "no log: " + err.Error()
	}
	return lastWords(string(text))
}

var (
	linePrefix = regexp.MustCompile(`^\d{4}-\d\d-\d\d \S+ \S+ \[\d+\] `)
	lineCause  = regexp.MustCompile(`\b(FATAL|PANIC|ERROR|error):`)
	lineMore   = regexp.MustCompile(`^(DETAIL|HINT):|: (detail|hint):`)
)

// lastWords picks the last lines that name an error, with what explains them; if
// none does, the last three lines.
func lastWords(text string) string {
	var all, causes []string
	explains := false
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(linePrefix.ReplaceAllString(line, "")), " ")
		if line == "" {
			continue
		}
		all = append(all, line)
		explains = lineCause.MatchString(line) || explains && lineMore.MatchString(line)
		if explains {
			causes = append(causes, line)
		}
	}
	if len(all) == 0 {
		return "PostgreSQL said nothing"
	}
	if len(causes) == 0 {
		causes = all[max(0, len(all)-3):]
	}
	return joinLast(causes)
}

// joinLast joins as many of the last lines as fit.
func joinLast(lines []string) string {
	text := lines[len(lines)-1]
	for i := len(lines) - 2; i >= 0 && len(lines[i])+len(text)+2 <= wordsMax; i-- {
		text = lines[i] + "; " + text
	}
	return text[:min(len(text), wordsMax)]
}

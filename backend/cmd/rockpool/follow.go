package main

import (
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"rockpool/backend/internal/client"
)

func (c *jobLogs) follow(ctx context.Context, d *desk, server *client.Client) error {
	if d.json {
		return errors.New("--follow prints text: leave out -o json")
	}
	out := &cleanWriter{to: d.out}
	return errors.Join(server.FollowLog(ctx, c.ID, out), out.end())
}

// cleanWriter makes a stream of lines harmless for a terminal as it comes.
type cleanWriter struct {
	to   io.Writer
	part []byte // the beginning of a character whose rest has not come
}

// Write holds back a character that is not whole yet.
func (w *cleanWriter) Write(p []byte) (int, error) {
	text := append(w.part, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if rest := text[len(text)-back:]; utf8.RuneStart(rest[0]) {
			if !utf8.FullRune(rest) {
				whole -= back
			}
			break
		}
	}
	w.part = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.to, cleanLines(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// end writes what was held back.
func (w *cleanWriter) end() error {
	_, err := io.WriteString(w.to, cleanLines(string(w.part)))
	w.part = nil
	return err
}

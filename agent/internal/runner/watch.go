package runner

import (
	"bytes"
	"regexp"
)

// longestLine is how much of a line is held against a pattern.
const longestLine = 4 << 10

// watch looks at every line of a log as it passes, also at those that are not kept.
type watch struct {
	refused *regexp.Regexp
	line    []byte // the beginning of the one that is not over yet
	found   string // the first that matches
}

// read takes the next piece of the log.
func (w *watch) read(p []byte) {
	for w.found == "" && len(p) > 0 {
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			w.keep(p)
			return
		}
		w.keep(p[:end])
		w.over()
		p = p[end+1:]
	}
}

func (w *watch) keep(p []byte) {
	w.line = append(w.line, p[:min(len(p), longestLine-len(w.line))]...)
}

// over ends a line.
func (w *watch) over() {
	if w.refused.Match(w.line) {
		w.found = string(w.line)
	}
	w.line = w.line[:0]
}

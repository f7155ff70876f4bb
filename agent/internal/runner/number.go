package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
)

// notFinite is a number that is none: a score that was stored as if it were one
// would be believed.
type notFinite struct{ name, text string }

func (n notFinite) Error() string { return fmt.Sprintf("%s is %s, no finite number", n.name, n.text) }

// because is the failure of an attempt whose file or log says what it should not.
func because(err error, where string) error {
	cause := causeOutputMissing
	if errors.As(err, &notFinite{}) {
		cause = causeNonFinite
	}
	return failed(cause, where+": "+err.Error())
}

// inLog makes a document of what the pattern's named groups matched last.
func (r *Result) inLog(log []byte) ([]byte, error) {
	all := r.pattern.FindAllSubmatch(log, -1)
	if len(all) == 0 {
		return nil, failed(causeOutputMissing, "the log holds nothing that result.pattern matches")
	}
	document := map[string]json.Number{}
	for i, name := range r.pattern.SubexpNames() {
		text := string(all[len(all)-1][i])
		if name == "" || text == "" {
			continue
		}
		number, err := finite(name, text)
		if err != nil {
			return nil, because(err, "log")
		}
		document[name] = number
	}
	return json.Marshal(document)
}

// finite reads a number as tools print it.
func finite(name, text string) (json.Number, error) {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "", notFinite{name, text}
	case err != nil:
		return "", fmt.Errorf("%s is %q, no number", name, text)
	}
	return json.Number(strconv.FormatFloat(x, 'g', -1, 64)), nil
}

// checkJSON demands one JSON document whose numbers are finite. Its length does
// not matter: it is read as a stream.
func checkJSON(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	decoder := json.NewDecoder(f)
	decoder.UseNumber()
	last := "" // the string before a number: its key, in an object
	for depth, whole := 0, false; ; whole = whole || depth == 0 {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) && whole:
			return nil
		case err != nil:
			return spoilt(err, f, decoder.InputOffset(), last)
		case whole:
			return fmt.Errorf("holds more than one JSON document")
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			last = token
		case json.Number:
			if _, err := finite(last, token.String()); err != nil {
				return err
			}
		}
	}
}

// noWord is how C's printf writes what JSON has no words for.
var noWord = regexp.MustCompile(`^[\s:,]*([+-]?(?i:nan|inf|infinity))\b`)

// spoilt says what stands where a document can't be read on.
func spoilt(err error, f io.ReaderAt, at int64, last string) error {
	window := make([]byte, 64)
	n, _ := f.ReadAt(window, at)
	if m := noWord.FindSubmatch(window[:n]); m != nil {
		return notFinite{last, string(m[1])}
	}
	return fmt.Errorf("is no JSON document: %w", err)
}

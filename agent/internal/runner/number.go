package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"rockpool/shared/wire"
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
	return failed(cause, wire.CleanText(where+": "+err.Error(), wire.MaxDetail))
}

// inLog makes a document of what the pattern's named groups matched last.
func (r *Result) inLog(log []byte) ([]byte, error) {
	all := r.pattern.FindAllSubmatch(log, -1)
	if len(all) == 0 {
		return nil, failed(causeOutputMissing, "the log holds nothing that result.pattern matches")
	}
	last, document := all[len(all)-1], map[string]json.Number{}
	for i, name := range r.pattern.SubexpNames() {
		if name == "" || last[i] == nil { // a group that took no part in the match
			continue
		}
		number, err := finite(name, string(last[i]))
		if err != nil {
			return nil, because(err, "log")
		}
		document[name] = number
	}
	if len(document) == 0 {
		return nil, failed(causeOutputMissing, "the log holds no number where result.pattern matches")
	}
	return json.Marshal(document)
}

// plainNumber is what counts as a number: plain decimal, as C's printf and JSON
// write it; Go would read 0x1p4 as well.
var plainNumber = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`)

// noFinite is how programs print NaN and infinity: glibc (-nan, nan(0x1)), Microsoft's
// libraries (-nan(ind), 1.#INF00, and 1.#J or 1.$ where they round that), AIX (NaNQ),
// Go and Python (+Inf, NaN), and with a unit (infdB).
const noFinite = `[+−-]*(?i:(?:[qs]?nan[qs]?(?:0x[0-9a-f]+)?|inf(?:inity)?)(?:db)?\b|[0-9]+\.[#$]\w*|∞)`

// printedNoFinite is one in a log, with whatever stands around it.
var printedNoFinite = regexp.MustCompile(`^\W*` + noFinite)

// finite reads a number as tools print it.
func finite(name, text string) (json.Number, error) {
	if printedNoFinite.MatchString(text) {
		return "", notFinite{name, text}
	}
	if !plainNumber.MatchString(text) {
		return "", fmt.Errorf("%s is %q, no number", name, text)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil { // it is out of range
		return "", notFinite{name, text}
	}
	return json.Number(strconv.FormatFloat(x, 'g', -1, 64)), nil
}

// Bounds of a JSON file, so that reading one takes the same memory for any length.
const (
	maxToken = 1 << 20 // bytes of a string, a number, or white space
	maxNest  = 10_000  // objects and lists within each other
)

// errToken says that a part of a document is too long.
var errToken = fmt.Errorf("a string, a number or white space of it has more than %d bytes", maxToken)

// document is a JSON file that is read as a stream.
type document struct {
	ctx     context.Context
	from    io.Reader
	read    int64
	decoder *json.Decoder
}

// Read gives the decoder more as long as the token that it is at may be longer.
func (d *document) Read(p []byte) (int, error) {
	if d.read-d.decoder.InputOffset() > maxToken {
		return 0, errToken
	}
	n, err := untilDone{d.ctx, d.from}.Read(p[:min(len(p), maxToken)])
	d.read += int64(n)
	return n, err
}

// checkJSON demands one JSON document whose numbers are finite. Its length does
// not matter: it is read as a stream.
func checkJSON(ctx context.Context, f io.ReaderAt, size int64) error {
	content := &document{ctx: ctx, from: io.NewSectionReader(f, 0, size)}
	decoder := json.NewDecoder(content)
	content.decoder = decoder
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
		case depth > maxNest:
			return fmt.Errorf("is no JSON document that can be kept: it nests deeper than %d", maxNest)
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

// noWord is what JSON has no words for, where a value should stand.
var noWord = regexp.MustCompile(`^[\s:,]*(` + noFinite + `)`)

// spoilt says what stands where a document can't be read on.
func spoilt(err error, f io.ReaderAt, at int64, last string) error {
	window := make([]byte, 64)
	n, _ := f.ReadAt(window, at)
	if m := noWord.FindSubmatch(window[:n]); m != nil {
		return notFinite{last, string(m[1])}
	}
	return fmt.Errorf("is no JSON document: %w", err)
}

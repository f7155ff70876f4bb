package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// timeExample is how times look: RFC 3339 in UTC with milliseconds.
const timeExample = "2006-01-02T15:04:05.000Z"

// Time is a moment as the API writes it: RFC 3339, UTC, milliseconds.
type Time struct{ time.Time }

// At makes a Time.
func At(t time.Time) Time { return Time{t} }

// AtPtr makes a Time that may be absent.
func AtPtr(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	return &Time{*t}
}

// MarshalJSON writes UTC with milliseconds.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.Append(make([]byte, 0, len(timeExample)+2)), nil
}

// Append appends what MarshalJSON writes. Package time writes RFC 3339 without reading
// the layout, which makes it twice as fast as with milliseconds in it.
func (t Time) Append(b []byte) []byte {
	b = t.UTC().AppendFormat(append(b, '"'), time.RFC3339)
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-len("Z")], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"')
}

// UnmarshalJSON reads RFC 3339 with any zone.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a time is a string such as %q", timeExample)
	}
	parsed, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fmt.Errorf("time %.40q is not RFC 3339 such as %q", s, timeExample)
	}
	t.Time = parsed.UTC()
	return nil
}

// Duration is a span as the API writes it: "90s", "10m", "1h30m". It reads days too.
type Duration time.Duration

// String is the shortest spelling: 10m, not 10m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalJSON writes the shortest spelling.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads a string with its unit; a bare number is refused.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf(`a duration is a string with its unit, such as "90s"`)
	}
	return d.UnmarshalText([]byte(s))
}

// maxDays bounds a duration in days: a hundred years.
const maxDays = 36_525

// UnmarshalText reads numbers with their units, days first: "90s", "1h30m", "3d",
// "1d12h".
func (d *Duration) UnmarshalText(text []byte) error {
	days, rest, found := strings.Cut(string(text), "d")
	if !found {
		days, rest = "0", days
	} else if rest == "" {
		rest = "0s"
	}
	n, err := strconv.ParseUint(days, 10, 64)
	parsed, errRest := time.ParseDuration(rest)
	sum := time.Duration(min(n, maxDays))*24*time.Hour + parsed
	if err != nil || errRest != nil || n > maxDays || found && min(parsed, sum) < 0 {
		return fmt.Errorf(`duration %.40q needs a number and a unit, such as "90s", "10m" or "3d"`, text)
	}
	*d = Duration(sum)
	return nil
}

// Scalar is a parameter's value: a string, a number or a boolean in JSON, its
// text here. Objects, lists and null are refused. It is written as a string.
type Scalar string

// UnmarshalJSON takes a string, a number or a boolean.
func (s *Scalar) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) > 0 && b[0] == '"':
		return json.Unmarshal(b, (*string)(s))
	case len(b) > 0 && b[0] != '{' && b[0] != '[' && b[0] != 'n':
		*s = Scalar(b)
		return nil
	}
	return fmt.Errorf("a parameter is a string, a number or a boolean, not %.20s", b)
}

// Pair is a name and a value, written as a list of two: ["build", "812"].
type Pair [2]string

// UnmarshalJSON takes a list of exactly two strings.
func (p *Pair) UnmarshalJSON(b []byte) error {
	var list []*string
	if err := json.Unmarshal(b, &list); err != nil || len(list) != 2 || list[0] == nil || list[1] == nil {
		return fmt.Errorf(`a label is a list of two strings, such as ["build", "812"], not %.40s`, b)
	}
	*p = Pair{*list[0], *list[1]}
	return nil
}

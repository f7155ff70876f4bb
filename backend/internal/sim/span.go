package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"rockpool/backend/internal/core/fleet"
)

// Time is milliseconds of the virtual clock, from the scenario's begin.
type Time = fleet.Time

// Never is later than everything.
const Never = fleet.Never

const (
	second Time = 1000
	minute      = 60 * second
	hour        = 60 * minute
)

// Span is a length of time, or a moment after the begin, as a scenario file
// writes it: "250ms", "90s", "1h30m", "2d".
type Span Time

var units = []struct {
	name string
	ms   int64
}{{"ms", 1}, {"s", 1000}, {"m", 60_000}, {"h", 3_600_000}, {"d", 86_400_000}}

// UnmarshalText reads numbers with units, one after the other.
func (s *Span) UnmarshalText(text []byte) error {
	rest, sum := string(text), int64(0)
	if rest == "" {
		return errors.New(`a time is empty: write it as "250ms", "90s" or "1h30m"`)
	}
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 40)
		if err != nil {
			return fmt.Errorf(`time %q: write it as "250ms", "90s" or "1h30m"`, text)
		}
		rest = rest[digits:]
		letters := len(rest) - len(strings.TrimLeft(rest, "dhms"))
		ms, known := int64(0), false
		for _, u := range units {
			if u.name == rest[:letters] {
				ms, known = u.ms, true
			}
		}
		if !known {
			return fmt.Errorf("time %q: the units are d, h, m, s and ms", text)
		}
		sum += n * ms
		rest = rest[letters:]
	}
	*s = Span(sum)
	return nil
}

// String writes the span in its largest whole unit.
func (s Span) String() string {
	for i := len(units) - 1; i > 0; i-- {
		if s != 0 && int64(s)%units[i].ms == 0 {
			return strconv.FormatInt(int64(s)/units[i].ms, 10) + units[i].name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "ms"
}

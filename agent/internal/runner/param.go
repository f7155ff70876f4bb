package runner

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"rockpool/shared/wire"
)

// Param declares one parameter of a runner.
type Param struct {
	Type      string   `toml:"type"` // int, number, string, bool, enum
	Min       *float64 `toml:"min"`  // int, number
	Max       *float64 `toml:"max"`
	Values    []string `toml:"values"`                    // enum
	MaxLength int      `toml:"max_length" zero:"refused"` // string, bytes; 256 unless given
	Pattern   string   `toml:"pattern"`                   // string: must match as a whole
	Default   *string  `toml:"default"`                   // none: the job must give it

	pattern *regexp.Regexp
}

const defaultMaxLength = 256

func (s *Spec) checkParams() error {
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		p := s.Params[name]
		if !plainFile(name) {
			return fmt.Errorf("params: %q is no name: use letters, digits, _ . -", name)
		}
		if err := p.prepare(); err != nil {
			return fmt.Errorf("params.%s: %w", name, err)
		}
		s.Params[name] = p
	}
	return nil
}

func (p *Param) prepare() (err error) {
	numeric := p.Type == "int" || p.Type == "number"
	switch {
	case !slices.Contains([]string{"int", "number", "string", "bool", "enum"}, p.Type):
		return fmt.Errorf("type: must be int, number, string, bool or enum, not %q", p.Type)
	case !numeric && (p.Min != nil || p.Max != nil):
		return fmt.Errorf("min and max: are for int and number, not for %s", p.Type)
	case p.Min != nil && p.Max != nil && *p.Min > *p.Max:
		return fmt.Errorf("min: is more than max")
	case (p.Type == "enum") != (len(p.Values) > 0):
		return fmt.Errorf("values: an enum lists them, nothing else does")
	case p.Type != "string" && (p.Pattern != "" || p.MaxLength != 0) || p.MaxLength < 0:
		return fmt.Errorf("pattern and max_length: are for strings")
	}
	if p.MaxLength == 0 && p.Type == "string" {
		p.MaxLength = defaultMaxLength
	}
	if p.pattern, err = regexp.Compile(`\A(?:` + p.Pattern + `)\z`); err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	if p.Default != nil {
		if err := p.check(*p.Default); err != nil {
			return fmt.Errorf("default: %w", err)
		}
	}
	return nil
}

// check says why a value can't be taken.
func (p *Param) check(value string) error {
	switch p.Type {
	case "int":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || strings.HasPrefix(value, "+") {
			return fmt.Errorf("is no whole number")
		}
		return p.checkRange(float64(n))
	case "number":
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || strings.Trim(value, "0123456789.eE+-") != "" {
			return fmt.Errorf("is no number")
		}
		return p.checkRange(x)
	case "bool":
		if value != "true" && value != "false" {
			return fmt.Errorf("must be true or false")
		}
	case "enum":
		if !slices.Contains(p.Values, value) {
			return fmt.Errorf("must be one of %s", strings.Join(p.Values, ", "))
		}
	default:
		return p.checkString(value)
	}
	return nil
}

func (p *Param) checkRange(x float64) error {
	if p.Min != nil && x < *p.Min || p.Max != nil && x > *p.Max {
		return fmt.Errorf("is outside %s..%s", bound(p.Min), bound(p.Max))
	}
	return nil
}

func bound(b *float64) string {
	if b == nil {
		return ""
	}
	return strconv.FormatFloat(*b, 'g', -1, 64)
}

// checkString keeps out what a tool could take for an option or a terminal for a command.
func (p *Param) checkString(value string) error {
	switch {
	case len(value) > p.MaxLength:
		return fmt.Errorf("is longer than %d bytes", p.MaxLength)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Errorf("holds control characters or invalid UTF-8")
	case strings.HasPrefix(value, "-"):
		return fmt.Errorf("must not begin with -")
	case p.Pattern != "" && !p.pattern.MatchString(value):
		return fmt.Errorf("does not match %s", p.Pattern)
	}
	return nil
}

// fillParams checks what a job gives against the declaration: every parameter is
// declared, given once or has a default, and is within its bounds.
func (s *Spec) fillParams(given []wire.Pair) (map[string]string, error) {
	values := make(map[string]string, len(s.Params))
	for _, g := range given {
		p, declared := s.Params[g.Name]
		if !declared {
			return nil, fmt.Errorf("parameter %s is not declared by runner %s", g.Name, s.Name)
		}
		if _, twice := values[g.Name]; twice {
			return nil, fmt.Errorf("parameter %s is given twice", g.Name)
		}
		if err := p.check(g.Value); err != nil {
			return nil, fmt.Errorf("parameter %s %w", g.Name, err)
		}
		values[g.Name] = g.Value
	}
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		if _, ok := values[name]; ok {
			continue
		}
		if s.Params[name].Default == nil {
			return nil, fmt.Errorf("parameter %s is missing", name)
		}
		values[name] = *s.Params[name].Default
	}
	return values, nil
}

// checkInputs demands exactly the declared inputs.
func checkInputs(declared []string, given []wire.Input) error {
	for i, in := range given {
		if !slices.Contains(declared, in.Name) {
			return fmt.Errorf("input %s is not declared by the runner", in.Name)
		}
		if slices.ContainsFunc(given[:i], func(o wire.Input) bool { return o.Name == in.Name }) {
			return fmt.Errorf("input %s is given twice", in.Name)
		}
	}
	for _, name := range declared {
		if !slices.ContainsFunc(given, func(in wire.Input) bool { return in.Name == name }) {
			return fmt.Errorf("input %s is missing", name)
		}
	}
	return nil
}

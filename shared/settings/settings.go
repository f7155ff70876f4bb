// Package settings fills a configuration struct: defaults, then a TOML file, then
// the environment, then flags. What is not understood is refused with the
// setting's name, and with the nearest known one.
//
// A setting is a field with a `toml` tag; nested structs make groups. The setting
// lease.suspect of a program with the prefix ROCKPOOL is lease.suspect in the
// file (or suspect in its table [lease]), ROCKPOOL_LEASE_SUSPECT in the
// environment and --lease-suspect among the flags. The `help` tag is its line in
// the generated reference; `file:"only"` marks what only the file can say, and
// `zero:"refused"` what has no use for zero or nothing: its default stands in for
// a setting that is not written, and for no other.
package settings

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that reads as "90s" everywhere.
type Duration time.Duration

// UnmarshalText reads Go's notation; a bare number has no unit and is refused.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 90s or 10m", text)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText writes Go's notation.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Duration) String() string { return time.Duration(d).String() }

// Sources of settings beside the defaults that the struct holds already.
type Sources struct {
	Prefix  string            // of environment variables, without the last underscore
	File    string            // path; empty: none
	Environ []string          // as os.Environ
	Flags   map[string]string // by setting's name, e.g. lease.suspect
	// Foreign names variables with the prefix that belong to somebody else.
	Foreign []string
	// Partial passes over what is no setting of the struct, which then holds some of
	// a program's settings.
	Partial bool
}

// Setting is one row of the reference.
type Setting struct {
	Name     string // dotted
	Env      string // empty when only the file can say it
	Default  string
	Help     string
	FileOnly bool
	nonzero  bool
	value    reflect.Value
}

// Load fills cfg, a pointer to a struct that holds the defaults. The error names
// the setting that can't be taken and what to write instead.
func Load(cfg any, from Sources) error {
	known := list(cfg, from.Prefix)
	if from.File != "" {
		if err := loadFile(cfg, from, known); err != nil {
			return err
		}
	}
	if err := loadEnvironment(known, from); err != nil {
		return err
	}
	for _, name := range slices.Sorted(mapKeys(from.Flags)) {
		s, ok := find(known, func(s Setting) bool { return s.Name == name })
		if !ok && from.Partial {
			continue
		}
		if !ok {
			return unknown("flag", "--"+strings.ReplaceAll(name, ".", "-"), name, known)
		}
		if err := set(s, from.Flags[name]); err != nil {
			return fmt.Errorf("--%s: %w", strings.ReplaceAll(name, ".", "-"), err)
		}
	}
	return nil
}

// Reference lists every setting of cfg with its present value as the default.
func Reference(cfg any, prefix string) []Setting { return list(cfg, prefix) }

func loadEnvironment(known []Setting, from Sources) error {
	for _, entry := range from.Environ {
		key, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(key, from.Prefix+"_") || isForeign(key, from.Foreign) {
			continue
		}
		s, ok := find(known, func(s Setting) bool { return s.Env == key })
		if !ok && from.Partial {
			continue
		}
		if !ok {
			name := strings.ToLower(strings.TrimPrefix(key, from.Prefix+"_"))
			return unknown("environment variable", key, name, known)
		}
		if err := set(s, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func isForeign(key string, foreign []string) bool {
	return slices.ContainsFunc(foreign, func(f string) bool {
		return key == f || strings.HasSuffix(f, "_") && strings.HasPrefix(key, f)
	})
}

func set(s Setting, text string) error {
	if err := parse(s, text); err != nil {
		return err
	}
	if s.nonzero && s.value.IsZero() {
		return errZero
	}
	return nil
}

func parse(s Setting, text string) error {
	v := s.value
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is not true or false", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		v.SetInt(n)
	case reflect.Slice:
		v.Set(reflect.ValueOf(splitList(text)))
	default:
		return fmt.Errorf("%s can be set in the configuration file only", s.Name)
	}
	return nil
}

func splitList(text string) []string {
	items := []string{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// Package settings fills a configuration struct: defaults, then a TOML file, then
// the environment, then flags. What is not understood is refused with the
// setting's name, and with the nearest known one.
//
// A setting is a field with a `toml` tag; nested structs make groups. The setting
// lease.suspect of a program with the prefix ROCKPOOL is lease.suspect in the
// file (or suspect in its table [lease]), ROCKPOOL_LEASE_SUSPECT in the
// environment and --lease-suspect among the flags. The `help` tag is its line in
// the generated reference; `file:"only"` marks what only the file can say.
package settings

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
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
}

// Setting is one row of the reference.
type Setting struct {
	Name     string // dotted
	Env      string // empty when only the file can say it
	Default  string
	Help     string
	FileOnly bool
	value    reflect.Value
}

// Load fills cfg, a pointer to a struct that holds the defaults. The error names
// the setting that can't be taken and what to write instead.
func Load(cfg any, from Sources) error {
	known := list(cfg, from.Prefix)
	if from.File != "" {
		if err := loadFile(cfg, from.File, known); err != nil {
			return err
		}
	}
	if err := loadEnvironment(known, from); err != nil {
		return err
	}
	for _, name := range slices.Sorted(mapKeys(from.Flags)) {
		s, ok := find(known, func(s Setting) bool { return s.Name == name })
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

func loadFile(cfg any, path string, known []Setting) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("configuration file: %w", err)
	}
	decoder := toml.NewDecoder(strings.NewReader(string(content))).DisallowUnknownFields()
	err = decoder.Decode(cfg)
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) && len(missing.Errors) > 0 {
		name := strings.Join(missing.Errors[0].Key(), ".")
		return fmt.Errorf("%s: %w", path, unknown("setting", name, name, known))
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		row, _ := decode.Position()
		return fmt.Errorf("%s:%d: %s: %w", path, row, strings.Join(decode.Key(), "."), decode)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var raw map[string]any
	if err := toml.Unmarshal(content, &raw); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if name := bare(reflect.TypeOf(cfg).Elem(), raw, nil); name != "" {
		return fmt.Errorf("%s: %s: needs a unit, in quotes, such as \"90s\" or \"8MiB\"", path, name)
	}
	return nil
}

// bare names the first setting with a text of its own that the file gives as a bare
// number: the decoder would take 5 for a duration of five nanoseconds.
func bare(t reflect.Type, raw any, path []string) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		if _, text := raw.(string); !text {
			return strings.Join(path, ".")
		}
		return ""
	}
	switch raw := raw.(type) {
	case []any:
		for _, one := range raw {
			if name := bare(t.Elem(), one, path); name != "" {
				return name
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(raw)) {
			if member, ok := memberType(t, key); ok {
				if name := bare(member, raw[key], append(slices.Clip(path), key)); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// memberType is the type of a table's key, in whatever case the file has it.
func memberType(t reflect.Type, key string) (reflect.Type, bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("toml"), ","); name != "" && strings.EqualFold(name, key) {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}

func loadEnvironment(known []Setting, from Sources) error {
	for _, entry := range from.Environ {
		key, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(key, from.Prefix+"_") || isForeign(key, from.Foreign) {
			continue
		}
		s, ok := find(known, func(s Setting) bool { return s.Env == key })
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

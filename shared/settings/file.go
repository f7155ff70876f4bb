package settings

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// errZero refuses a value that would be taken for none at all.
var errZero = errors.New("must not be zero or empty: give a value, or leave it out for the default")

func loadFile(cfg any, from Sources, known []Setting) error {
	path := from.File
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("configuration file: %w", err)
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff")) // as editors on Windows begin a file
	if !utf8.Valid(content) {
		return fmt.Errorf("%s: is no UTF-8 text: save it as UTF-8", path)
	}
	t := reflect.TypeOf(cfg).Elem()
	decoder := toml.NewDecoder(bytes.NewReader(content))
	if !from.Partial {
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(cfg); err != nil {
		return undecoded(err, path, t, known)
	}
	var raw map[string]any
	if err := toml.Unmarshal(content, &raw); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := misread(t, raw, nil); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// undecoded says where a file can't be read, and which setting it is about.
func undecoded(err error, path string, t reflect.Type, known []Setting) error {
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) && len(missing.Errors) > 0 {
		return fmt.Errorf("%s: %w", path, unknownKey(t, missing.Errors[0].Key(), known))
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		row, _ := decode.Position()
		where := fmt.Sprintf("%s:%d", path, row)
		if name := strings.Join(decode.Key(), "."); name != "" {
			where += ": " + name
		}
		return fmt.Errorf("%s: %w", where, decode)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// unknownKey is the error for a key of the file that is no setting, with the nearest
// one of its own table.
func unknownKey(t reflect.Type, key []string, known []Setting) error {
	name := strings.Join(key, ".")
	for i, word := range key {
		member, ok := memberType(t, word)
		if ok {
			t = member
			continue
		}
		if i == 0 {
			break
		}
		if near := nearest(word, tableNames(t)); near != "" {
			return fmt.Errorf("unknown setting %s: did you mean %s?", name, strings.Join(append(slices.Clone(key[:i]), near), "."))
		}
		if s, ok := find(known, func(s Setting) bool { return s.Name == word }); ok {
			return fmt.Errorf("unknown setting %s: %s belongs above the first table", name, s.Name)
		}
		return fmt.Errorf("unknown setting %s: remove it", name)
	}
	return unknown("setting", name, name, known)
}

// misread refuses the first setting that the decoder takes for something else than
// what the file says: 5 for a duration of five nanoseconds, and nothing or zero for
// a setting that is not there.
func misread(t reflect.Type, raw any, path []string) error {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		if _, text := raw.(string); !text {
			return fmt.Errorf("%s: needs a unit, in quotes, such as \"90s\" or \"8MiB\"", strings.Join(path, "."))
		}
		return nil
	}
	switch raw := raw.(type) {
	case []any:
		for _, one := range raw {
			if err := misread(t.Elem(), one, path); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(raw)) {
			if err := misreadMember(t, key, raw[key], append(slices.Clip(path), key)); err != nil {
				return err
			}
		}
	}
	return nil
}

func misreadMember(t reflect.Type, key string, raw any, path []string) error {
	member, ok := memberType(t, key)
	if !ok {
		return nil
	}
	if err := misread(member, raw, path); err != nil {
		return err
	}
	if field, ok := fieldOf(t, key); ok && refusesZero(field) && isZero(member, raw) {
		return fmt.Errorf("%s: %w", strings.Join(path, "."), errZero)
	}
	return nil
}

func refusesZero(field reflect.StructField) bool { return field.Tag.Get("zero") == "refused" }

// isZero says whether what the file says of a setting reads as zero or nothing.
func isZero(t reflect.Type, raw any) bool {
	if list, ok := raw.([]any); ok {
		return len(list) == 0
	}
	value := reflect.New(t)
	if u, ok := value.Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(fmt.Sprint(raw))) == nil && value.Elem().IsZero()
	}
	return reflect.ValueOf(raw).IsZero()
}

// memberType is the type of a table's key, in whatever case the file has it.
func memberType(t reflect.Type, key string) (reflect.Type, bool) {
	if t = table(t); t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	field, ok := fieldOf(t, key)
	return field.Type, ok
}

func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if name := fileName(t.Field(i)); name != "" && strings.EqualFold(name, key) {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}

// table is the type of one table where a file may have many of them.
func table(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// tableNames are the settings of a table.
func tableNames(t reflect.Type) (names []string) {
	t = table(t)
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if name := fileName(t.Field(i)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// fileName is what the file calls a field; empty: it is no setting.
func fileName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
	if name == "-" {
		return ""
	}
	return name
}

package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"rockpool/agent/internal/durable"
)

// configMode lets everybody read settings, which hold no secret: the agent may run
// as another user than the one who wrote them.
const configMode = 0o644

// settingLines are the settings as lines of the file, sorted.
func settingLines(values map[string]string) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, settingLine(name, values[name]))
	}
	return lines
}

func settingLine(name, value string) string {
	for _, s := range Settings() {
		if s.Name != name {
			continue
		}
		cfg := DefaultConfig()
		field := reflect.ValueOf(cfg).FieldByIndex(fieldOf(name))
		switch field.Interface().(type) {
		case bool, int64:
			return name + " = " + value
		case []string:
			return name + " = " + list(value)
		}
	}
	return name + " = " + strconv.Quote(value)
}

func fieldOf(name string) []int {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("toml") == name {
			return []int{i}
		}
	}
	return []int{0}
}

func list(value string) string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		items = append(items, strconv.Quote(strings.TrimSpace(item)))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// writeSettings puts the settings into the file and keeps all else that stands
// there, comments among it. The file is the old one or the new one, whenever the
// process dies.
func writeSettings(file string, values map[string]string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := string(old)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text = putLine(text, name, settingLine(name, values[name]))
	}
	if err := keeps(string(old), text, values); err != nil {
		return err
	}
	if text == string(old) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // a link stays one
	}
	if err := durable.WriteFile(file, []byte(text)); err != nil {
		return err
	}
	return os.Chmod(file, configMode)
}

// putLine replaces a setting's line, or puts it before the first table, where the
// settings without a table stand.
func putLine(text, name, line string) string {
	head, tables := text, ""
	if at := regexp.MustCompile(`(?m)^[ \t]*\[`).FindStringIndex(text); at != nil {
		head, tables = text[:at[0]], text[at[0]:]
	}
	there := regexp.MustCompile(`(?m)^[ \t]*` + regexp.QuoteMeta(name) + `[ \t]*=.*$`)
	if at := there.FindStringIndex(head); at != nil {
		return head[:at[0]] + line + head[at[1]:] + tables
	}
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + line + "\n" + tables
}

// keeps checks that nothing but the settings has changed: a value that spans lines
// is not understood by putLine.
func keeps(old, text string, values map[string]string) error {
	var before, after map[string]any
	if err := toml.Unmarshal([]byte(old), &before); err != nil {
		return err
	}
	if err := toml.Unmarshal([]byte(text), &after); err != nil {
		return fmt.Errorf("a setting there spans lines")
	}
	for name := range values {
		delete(before, name)
		delete(after, name)
	}
	if len(before)+len(after) > 0 && !reflect.DeepEqual(before, after) {
		return fmt.Errorf("the settings there are written in a way that can't be changed line by line")
	}
	return nil
}

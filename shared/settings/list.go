package settings

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"strings"
)

// list walks the struct behind cfg in the order of its fields.
func list(cfg any, prefix string) []Setting {
	return walk(reflect.ValueOf(cfg).Elem(), "", prefix)
}

func walk(v reflect.Value, group, prefix string) []Setting {
	var all []Setting
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		if name == "" || name == "-" {
			continue
		}
		name = group + name
		if field.Type.Kind() == reflect.Struct {
			all = append(all, walk(v.Field(i), name+".", prefix)...)
			continue
		}
		s := Setting{
			Name: name, Help: field.Tag.Get("help"), Default: printed(v.Field(i)),
			FileOnly: field.Tag.Get("file") == "only", value: v.Field(i),
		}
		if !s.FileOnly {
			s.Env = prefix + "_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		}
		all = append(all, s)
	}
	return all
}

func printed(v reflect.Value) string {
	if v.Kind() == reflect.Map && v.Len() == 0 {
		return ""
	}
	if v.Kind() == reflect.Slice {
		items := make([]string, 0, v.Len())
		for i := range v.Len() {
			items = append(items, fmt.Sprint(v.Index(i).Interface()))
		}
		return strings.Join(items, ", ")
	}
	return fmt.Sprint(v.Interface())
}

func find(known []Setting, match func(Setting) bool) (Setting, bool) {
	for _, s := range known {
		if match(s) {
			return s, true
		}
	}
	return Setting{}, false
}

func mapKeys(m map[string]string) iter.Seq[string] { return maps.Keys(m) }

// unknown is the error for what no setting is called, with the nearest name.
func unknown(kind, shown, name string, known []Setting) error {
	nearest, distance := "", 1+len(name)/2
	for _, s := range known {
		if d := editDistance(strings.ReplaceAll(name, "_", "."), strings.ReplaceAll(s.Name, "_", ".")); d < distance {
			nearest, distance = s.Name, d
		}
	}
	if nearest == "" {
		return fmt.Errorf("unknown %s %s: remove it", kind, shown)
	}
	return fmt.Errorf("unknown %s %s: did you mean %s?", kind, shown, nearest)
}

// editDistance is Levenshtein's, over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

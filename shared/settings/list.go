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
		name := fileName(field)
		if name == "" {
			continue
		}
		name = group + name
		if field.Type.Kind() == reflect.Struct {
			all = append(all, walk(v.Field(i), name+".", prefix)...)
			continue
		}
		s := Setting{
			Name: name, Help: field.Tag.Get("help"), Default: printed(v.Field(i)),
			FileOnly: field.Tag.Get("file") == "only", nonzero: refusesZero(field), value: v.Field(i),
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
	names := make([]string, 0, len(known))
	for _, s := range known {
		names = append(names, s.Name)
	}
	if near := nearest(name, names); near != "" {
		return fmt.Errorf("unknown %s %s: did you mean %s?", kind, shown, near)
	}
	return fmt.Errorf("unknown %s %s: remove it", kind, shown)
}

// nearest is the name that was probably meant; empty: none is near.
func nearest(name string, names []string) string {
	found, distance := "", 1+len(name)/2
	for _, n := range names {
		if d := editDistance(strings.ReplaceAll(name, "_", "."), strings.ReplaceAll(n, "_", ".")); d < distance {
			found, distance = n, d
		}
	}
	return found
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

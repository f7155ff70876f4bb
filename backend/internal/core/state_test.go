package core

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// lazy are the parts of memory that hold no fact of their own: what the last
// decision left behind, and orders that are made when first needed.
var lazy = []string{"scratch", "picked", "sets", "members", "pos", "disturbed"}

// stateOf writes down everything that is reachable from d, so that two moments
// can be compared. Equal memory reads equal.
func stateOf(d *Dispatch) string {
	s := &dump{seen: map[uintptr]int{}}
	s.value(reflect.ValueOf(d))
	return s.String()
}

type dump struct {
	strings.Builder
	seen map[uintptr]int
}

func (s *dump) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		s.pointer(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !slices.Contains(lazy, name) {
				s.WriteString(name + ":")
				s.value(v.Field(i))
				s.WriteString(" ")
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, k := range keys {
			fmt.Fprintf(s, "[%v]", k)
			s.value(v.MapIndex(k))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			s.value(v.Index(i))
			s.WriteString(",")
		}
	default:
		fmt.Fprint(s, v)
	}
}

func (s *dump) pointer(v reflect.Value) {
	if v.IsNil() {
		s.WriteString("nil")
		return
	}
	n, seen := s.seen[v.Pointer()]
	if !seen {
		n = len(s.seen)
		s.seen[v.Pointer()] = n
	}
	fmt.Fprintf(s, "#%d", n)
	if !seen {
		s.value(v.Elem())
	}
}

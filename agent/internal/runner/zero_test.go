package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rockpool/shared/settings"
)

// zeroOf is what a file says for zero or nothing in a field of that type.
func zeroOf(t *testing.T, of reflect.Type) string {
	switch of {
	case reflect.TypeFor[Size]():
		return `"0B"`
	case reflect.TypeFor[settings.Duration]():
		return `"0s"`
	}
	switch of.Kind() {
	case reflect.String:
		return `""`
	case reflect.Bool:
		return "false"
	case reflect.Int, reflect.Int64:
		return "0"
	case reflect.Slice:
		return "[]"
	case reflect.Map:
		return "{}"
	case reflect.Pointer:
		return zeroOf(t, of.Elem())
	case reflect.Float64:
		return "0.0"
	}
	t.Fatalf("a file can't say zero of %v", of)
	return ""
}

// zeroFields calls f with each setting of a runner that has a value of its own: its
// path and type.
func zeroFields(of reflect.Type, path []string, f func(path []string, of reflect.Type)) {
	for i := range of.NumField() {
		name := of.Field(i).Tag.Get("toml")
		if name == "" {
			continue
		}
		field, at := of.Field(i).Type, append(path[:len(path):len(path)], name)
		switch {
		case field.Kind() == reflect.Struct:
			zeroFields(field, at, f)
		case field.Kind() == reflect.Map:
			f(at, field)
			zeroFields(field.Elem(), append(at, "p"), f)
		default:
			f(at, field)
		}
	}
}

// withZero is a good runner with one line changed.
func withZero(path []string, zero string) string {
	lines := map[string]string{"name": `"tool"`, "argv": `["sh"]`}
	if path[0] == "params" && len(path) > 1 {
		lines["params.p.type"] = `"string"`
		lines["argv"] = `["sh", "{{param.p}}"]`
		if path[2] == "min" || path[2] == "max" {
			lines["params.p.type"] = `"number"`
		}
	}
	lines[strings.Join(path, ".")] = zero
	file := "[[runner]]\n"
	for name, value := range lines {
		file += name + " = " + value + "\n"
	}
	return file
}

// valueAt is the field of that path.
func valueAt(v reflect.Value, path []string) reflect.Value {
	for _, name := range path {
		if v.Kind() == reflect.Map {
			v = v.MapIndex(reflect.ValueOf(name))
			continue
		}
		v = v.FieldByNameFunc(func(field string) bool {
			f, _ := v.Type().FieldByName(field)
			return f.Tag.Get("toml") == name
		})
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// What a file says is used, or refused in one line with the setting's name: a zero
// is not taken for a setting that is not there.
func TestSpec_NoZeroIsReplacedSilently(t *testing.T) {
	seen := 0
	zeroFields(reflect.TypeFor[Spec](), nil, func(path []string, of reflect.Type) {
		seen++
		name := strings.Join(path, ".")
		var cfg struct {
			Runners []Spec `toml:"runner" file:"only"`
		}
		file := filepath.Join(t.TempDir(), "agent.toml")
		if err := os.WriteFile(file, []byte(withZero(path, zeroOf(t, of))), 0o600); err != nil {
			t.Fatal(err)
		}
		err := settings.Load(&cfg, settings.Sources{File: file})
		if err == nil {
			err = cfg.Runners[0].prepare()
		}
		switch {
		case err != nil && (!strings.Contains(err.Error(), path[len(path)-1]) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: refused with %q, want one line with its name", name, err)
		case err == nil:
			if got := valueAt(reflect.ValueOf(cfg.Runners[0]), path); !got.IsZero() && (got.Kind() != reflect.Slice && got.Kind() != reflect.Map || got.Len() > 0) {
				t.Errorf("%s: zero became %v", name, fmt.Sprint(got))
			}
		}
	})
	if seen < 30 {
		t.Errorf("%d settings were looked at", seen)
	}
}

func TestSpec_WhatHasNoUseForZeroIsRefused(t *testing.T) {
	for _, line := range []string{`timeout = "0s"`, `timeout = "0h"`, `selftest_timeout = "0s"`, `disk_limit = "0B"`, `disk_limit = "0GiB"`, `log_limit = "0B"`, `memory_limit = "0B"`, `unpack_limit = "0B"`, `process_limit = 0`, `success = { exit = [] }`} {
		var cfg struct {
			Runners []Spec `toml:"runner" file:"only"`
		}
		file := filepath.Join(t.TempDir(), "agent.toml")
		if err := os.WriteFile(file, []byte("[[runner]]\nname = \"tool\"\nargv = [\"sh\"]\n"+line), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := settings.Load(&cfg, settings.Sources{File: file}); err == nil || !strings.Contains(err.Error(), "runner."+strings.Fields(line)[0]) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

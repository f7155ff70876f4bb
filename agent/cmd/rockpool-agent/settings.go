package main

import (
	"fmt"
	"reflect"
	"strings"

	"rockpool/agent"
	"rockpool/shared/settings"
)

// settingFlags is a flag of every setting, made from the configuration struct, so
// that a new setting has its flag without another word.
type settingFlags struct {
	settings []settings.Setting
	values   reflect.Value // struct of pointers; nil: not given
}

func newSettingFlags() *settingFlags {
	f := &settingFlags{}
	var fields []reflect.StructField
	for i, s := range agent.Settings() {
		if s.FileOnly {
			continue
		}
		kind, placeholder := reflect.TypeFor[*string](), strings.ToUpper(s.Name)
		if s.Default == "true" || s.Default == "false" {
			kind, placeholder = reflect.TypeFor[*bool](), ""
		}
		help := s.Help
		if s.Default != "" {
			help += " (default: " + s.Default + ")"
		}
		name := strings.NewReplacer("_", "-", ".", "-").Replace(s.Name)
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("Setting", i), Type: kind,
			Tag: reflect.StructTag(fmt.Sprintf("name:%q help:%q placeholder:%q group:%q", name, help, placeholder, "Settings:")),
		})
		f.settings = append(f.settings, s)
	}
	f.values = reflect.New(reflect.StructOf(fields)).Elem()
	return f
}

// target is what the parser fills.
func (f *settingFlags) target() any { return f.values.Addr().Interface() }

// given are the settings that the command line names.
func (f *settingFlags) given() map[string]string {
	given := map[string]string{}
	for i, s := range f.settings {
		if v := f.values.Field(i); !v.IsNil() {
			given[s.Name] = fmt.Sprint(v.Elem().Interface())
		}
	}
	return given
}

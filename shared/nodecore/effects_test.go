package nodecore

import (
	"reflect"
	"testing"
)

// Whatever an effect is, Reset forgets it.
func TestEffects_ResetForgetsEverything(t *testing.T) {
	var e Effects
	fields := reflect.ValueOf(&e).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); f.Kind() {
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 3, 3))
		case reflect.Bool:
			f.SetBool(true)
		default:
			t.Fatalf("%s is neither a list nor a wish", fields.Type().Field(i).Name)
		}
	}
	e.Reset()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.Slice && f.Len() > 0 || f.Kind() == reflect.Bool && f.Bool() {
			t.Errorf("%s is still there", fields.Type().Field(i).Name)
		}
	}
}

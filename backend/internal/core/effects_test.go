package core

import (
	"reflect"
	"testing"
)

// Whatever a batch holds, Reset forgets it, and what it led to.
func TestEffects_ResetForgetsEverything(t *testing.T) {
	var e Effects
	fields := reflect.ValueOf(&e).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.CanSet() && f.Kind() == reflect.Slice {
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		}
	}
	e.Sends[0].Node, e.Reload, e.gen, e.acks = "n1", true, 7, make([]Send, 1)
	sends := e.Sends
	e.Reset()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.Slice && f.Len() > 0 {
			t.Errorf("%s is still there", fields.Type().Field(i).Name)
		}
	}
	if e.Reload || e.gen != 0 || sends[0].Node != "" {
		t.Errorf("reload %v, batch %d, the list keeps %+v", e.Reload, e.gen, sends[0])
	}
}

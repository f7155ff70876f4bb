package api

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rockpool/backend/internal/rest"
)

// What is written out is what the encoder writes, for every key and every absence.
func TestAppendJob_IsWhatTheEncoderWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var job rest.Job
		draw(t, reflect.ValueOf(&job).Elem())
		want, err := json.Marshal(&job)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendJob(nil, &job); string(got) != string(want) {
			t.Fatalf("wrote %s\nwant  %s", got, want)
		}
	})
}

// draw fills a value with what its kind can hold; of what may be absent half is.
func draw(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case rest.Time:
		v.Set(reflect.ValueOf(rest.At(time.UnixMicro(rapid.Int64Range(-1<<50, 1<<57).Draw(t, "time")))))
		return
	case json.RawMessage:
		v.SetBytes([]byte(rapid.SampledFrom([]string{"", "{}", `{ "a": [1, "<&>\u2028"] }`, `"é"`, "null"}).Draw(t, "raw")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.StringN(0, 5, -1), rapid.SampledFrom([]string{"", "a<b", "a>b", "a&b", `"`, `\`, "\xff", "\u2028", "\x7f"})).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int32:
		v.SetInt(int64(rapid.Int32().Draw(t, "int32")))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int64"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			draw(t, v.Index(i))
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			draw(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "map")))
	default:
		t.Fatalf("draw can't fill a %s", v.Type())
	}
}

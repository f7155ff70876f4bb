package rest

import (
	"encoding/json"
	"testing"
	"time"
)

func TestTime_IsUTCWithMilliseconds(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	b, err := json.Marshal(At(time.Date(2026, 11, 29, 16, 4, 5, 123_999_000, zone)))
	if err != nil || string(b) != `"2026-11-29T15:04:05.123Z"` {
		t.Errorf("%s, %v", b, err)
	}
	var back Time
	if err := json.Unmarshal([]byte(`"2026-11-29T16:04:05+01:00"`), &back); err != nil || back.Hour() != 15 {
		t.Errorf("%v, %v", back, err)
	}
	for _, bad := range []string{`"yesterday"`, `17`, `"2026-11-29"`} {
		if json.Unmarshal([]byte(bad), &back) == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestDuration_HasItsShortestSpelling(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Minute: "10m", 90 * time.Second: "1m30s", time.Hour: "1h", 0: "0s",
		time.Hour + time.Second: "1h0m1s", 1500 * time.Millisecond: "1.5s", 30 * time.Hour: "30h",
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("%d reads %s, want %s", d, got, want)
		}
		var back Duration
		if err := json.Unmarshal([]byte(`"`+want+`"`), &back); err != nil || time.Duration(back) != d {
			t.Errorf("%s reads back as %v, %v", want, back, err)
		}
	}
	var d Duration
	for text, want := range map[string]time.Duration{`"3d"`: 72 * time.Hour, `"1d12h"`: 36 * time.Hour, `"0d"`: 0, `"-5s"`: -5 * time.Second} {
		if err := json.Unmarshal([]byte(text), &d); err != nil || time.Duration(d) != want {
			t.Errorf("%s reads %v, %v", text, d, err)
		}
	}
	for _, bad := range []string{`10`, `"10"`, `"soon"`, `{}`, `"d"`, `"-1d"`, `"1d-5s"`, `"1.5d"`, `"99999d"`, `"1h3d"`} {
		if json.Unmarshal([]byte(bad), &d) == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestScalar_KeepsTheTextAsWritten(t *testing.T) {
	for in, want := range map[string]string{`"a"`: "a", `1`: "1", `1.50`: "1.50", `-2e3`: "-2e3", `true`: "true", `"\u00e9"`: "é"} {
		var s Scalar
		if err := json.Unmarshal([]byte(in), &s); err != nil || string(s) != want {
			t.Errorf("%s reads %q, %v", in, s, err)
		}
	}
	for _, bad := range []string{`null`, `{}`, `[]`, `[1]`} {
		var m map[string]Scalar
		if json.Unmarshal([]byte(`{"k":`+bad+`}`), &m) == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestPair_IsExactlyTwoStrings(t *testing.T) {
	var p Pair
	if err := json.Unmarshal([]byte(`["build","812"]`), &p); err != nil || p != (Pair{"build", "812"}) {
		t.Errorf("%v, %v", p, err)
	}
	for _, bad := range []string{`["k"]`, `["k","v","x"]`, `["k",1]`, `["k",null]`, `{}`, `"kv"`} {
		if json.Unmarshal([]byte(bad), &p) == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

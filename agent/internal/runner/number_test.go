package runner

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// spellings of what is no finite number, as programs print them.
func spellings() (all []string) {
	for _, word := range []string{
		"nan", "NaN", "NAN", "inf", "Inf", "INF", "infinity", "Infinity", "nan(0x1)", "NaN(0x1)", "nan(0x8000000000000)", "nan(ind)", "nan(snan)",
		"1.#IND", "1.#INF", "1.#QNAN", "1.#SNAN", "1.#INF00", "NaNQ", "qnan", "sNaN", "nan0x1",
		"1.#J", "1.#R", "1.#I", "1.#", "1.$", "1.#INF000000", "infdB", "InfDB", "nandb", "∞", "∞dB",
	} {
		for _, sign := range []string{"", "-", "+", "−"} {
			all = append(all, sign+word)
		}
	}
	return append(all, "1e999", "-1e999")
}

func TestFinite_EverySpellingOfNoneNamesItself(t *testing.T) {
	for _, word := range spellings() {
		for _, text := range []string{word, word + ",", word + ";", "(" + word + ")", "[" + word + "]", "=" + word, word + "%"} {
			if strings.Contains(word, "e999") && text != word {
				continue
			}
			number, err := finite("score", text)
			if !errors.As(err, &notFinite{}) || !strings.Contains(err.Error(), text) {
				t.Errorf("%q is %q, %v", text, number, err)
			}
		}
	}
}

func TestFinite_OnlyPlainDecimalNumbersAreNumbers(t *testing.T) {
	for _, text := range []string{"", "good", "1_0", "0x1p4", "0x10", "1,5", "1.5,", "--1", "+", ".", "e5", "1e", "1e+", "1 2", " 1", "nano", "info", "infinite", "banana", "infdBm", "nandbx", "1.5#", "1.2.3", "0b1", "١"} {
		if number, err := finite("score", text); err == nil || errors.As(err, &notFinite{}) {
			t.Errorf("%q is %q, %v", text, number, err)
		}
	}
	for text, want := range map[string]string{"1": "1", "+1": "1", "-0.5": "-0.5", ".5": "0.5", "5.": "5", "1e3": "1000", "1.25E-2": "0.0125", "007": "7", "1e-999": "0"} {
		if number, err := finite("score", text); err != nil || string(number) != want {
			t.Errorf("%q is %q, %v, want %s", text, number, err, want)
		}
	}
}

func TestFinite_ReadsWhatItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64().Draw(t, "x")
		number, err := finite("x", strconv.FormatFloat(x, rapid.SampledFrom([]byte("efg")).Draw(t, "format"), -1, 64))
		if back, parseErr := number.Float64(); err != nil || parseErr != nil || back != x {
			t.Errorf("%v came as %q, %v", x, number, errors.Join(err, parseErr))
		}
	})
}

// A number that a pattern finds is one that the log has: where a group matches
// nothing, or only groups without a name take part, there is none to believe.
func TestInLog_AnEmptyMatchIsNoNumber(t *testing.T) {
	for name, tc := range map[string]struct {
		pattern, log, want, cause string
	}{
		"a number":                {`score=(?P<score>\S*)`, "score=1.50\n", `{"score":1.5}`, ""},
		"the last one counts":     {`score=(?P<score>\S*)`, "score=1\nscore=2\n", `{"score":2}`, ""},
		"nothing":                 {`score=(?P<score>\S*)`, "score=\n", "", causeOutputMissing},
		"nothing after a number":  {`score=(?P<score>\S*)`, "score=1\nscore=\n", "", causeOutputMissing},
		"digits of a word":        {`score=(?P<score>[0-9.]*)`, "score=nan\n", "", causeOutputMissing},
		"one of two":              {`a=(?P<a>\d*) b=(?P<b>\d*)`, "a=1 b=\n", "", causeOutputMissing},
		"one that takes no part":  {`a=(?P<a>\d+)(?: b=(?P<b>\d+))?`, "a=1\n", `{"a":1}`, ""},
		"none takes part":         {`done(?: a=(?P<a>\d+))?`, "done\n", "", causeOutputMissing},
		"only one without a name": {`(done)(?: a=(?P<a>\d+))?`, "done\n", "", causeOutputMissing},
		"not finite":              {`score=(?P<score>\S*)`, "score=infdB\n", "", causeNonFinite},
		"no match":                {`score=(?P<score>\S*)`, "done\n", "", causeOutputMissing},
	} {
		r := Result{Pattern: tc.pattern, pattern: regexp.MustCompile(tc.pattern)}
		got, err := r.inLog([]byte(tc.log))
		var f *failure
		if errors.As(err, &f) != (tc.cause != "") || f != nil && f.cause != tc.cause || string(got) != tc.want {
			t.Errorf("%s: %s, %v; want %s %s", name, got, err, tc.want, tc.cause)
		}
	}
}

// JSON has no words for them, and a string is no number whatever it says.
func TestCheckJSON_NamesWhatIsNotFinite(t *testing.T) {
	for _, word := range spellings() {
		for _, document := range []string{`{"a": ` + word + `}`, `{"b": [1, ` + word + `], "c": 2}`} {
			if err := checkJSON(t.Context(), strings.NewReader(document), int64(len(document))); !errors.As(err, &notFinite{}) {
				t.Errorf("%s: %v", document, err)
			}
		}
	}
	for _, document := range []string{`{"a": "nan"}`, `["-inf", 1.5e3]`, `{"nan": 1}`} {
		if err := checkJSON(t.Context(), strings.NewReader(document), int64(len(document))); err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
}

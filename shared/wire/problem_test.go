package wire

import (
	"strings"
	"testing"
)

func TestAnswerText_OneLineOfWhatWasRefused(t *testing.T) {
	const problem = "application/problem+json"
	cases := []struct{ name, kind, body, want string }{
		{"a problem", problem, `{"type":"urn:x","title":"T","status":401,"code":"unauthenticated","detail":"no license has this secret","requestId":"r"}` + "\n", "unauthenticated: no license has this secret"},
		{"with a parameter", problem + "; charset=utf-8", `{"code":"too_large","detail":"at most 5 bytes"}`, "too_large: at most 5 bytes"},
		{"without a detail", problem, `{"code":"not_found","title":"There is no such thing"}`, "not_found: There is no such thing"},
		{"without a code", problem, `{"detail":"of another server"}`, "of another server"},
		{"a code alone", problem, `{"code":"not_found"}`, "not_found"},
		{"a long one", problem, `{"items":["` + strings.Repeat("x", 9000) + `"],"code":"a","detail":"b"}`, "a: b"},
		{"of many lines", problem, `{"code":"a","detail":"b\nc\u001b[2Jd"}`, "a: b c[2Jd"},
		{"cut to the limit", problem, `{"code":"a","detail":"` + strings.Repeat("x", 500) + `"}`, "a: " + strings.Repeat("x", 97)},
		{"no document", problem, `{"code":`, ""},
		{"other types", problem, `[1]`, ""},
		{"a text", "text/plain; charset=utf-8", "later\x1b[2J\n", "later[2J "},
		{"a page", "text/html", "<html>Bad gateway</html>", ""},
		{"JSON", "application/json", `{"code":"a"}`, ""},
		{"nothing", "", "", ""},
	}
	for _, c := range cases {
		if got := AnswerText(c.kind, strings.NewReader(c.body), 100); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

const exampleJob = `{"app": "app-7", "role": "worker", "runner": "vmaf", "params": {"threads": 1},
 "inputs": {}, "demands": {"slots": 1, "memoryMib": 512}, "backend": "cpu", "region": null,
 "priority": 50, "maxAttempts": 3, "onNodeLost": "requeue", "whenExhausted": "wait",
 "queueTimeout": null, "runTimeout": "10m", "notBefore": null, "labels": [["build", "812"]]}`

func detailOf(err error) string {
	var known *fleet.Error
	if errors.As(err, &known) && known.Code == fleet.CodeBadRequest {
		return known.Detail
	}
	return ""
}

func TestAttack_A69_TextThatCannotBeKeptIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"NUL escaped":             `{"app":"a","runner":"r","params":{"k":"a\u0000b"}}`,
		"NUL raw":                 "{\"app\":\"a\x00\",\"runner\":\"r\"}",
		"NUL in a key":            `{"app":"a","runner":"r","params":{"a\u0000":"b"}}`,
		"NUL in a label":          `{"app":"a","runner":"r","labels":[["k","\u0000"]]}`,
		"lone high surrogate":     `{"app":"a","runner":"r","params":{"k":"\ud800"}}`,
		"lone high before a text": `{"app":"a","runner":"r","params":{"k":"\ud83dx"}}`,
		"two high ones":           `{"app":"a","runner":"r","params":{"k":"\ud83d\ud83d"}}`,
		"lone low surrogate":      `{"app":"a","runner":"r","params":{"k":"\uDC00"}}`,
		"high before an escape":   `{"app":"a","runner":"r","params":{"k":"\ud83d\n"}}`,
		"invalid UTF-8":           "{\"app\":\"a\",\"runner\":\"r\",\"params\":{\"k\":\"\xff\"}}",
		"overlong UTF-8":          "{\"app\":\"a\",\"runner\":\"r\",\"params\":{\"k\":\"\xc0\x80\"}}",
		"surrogate in UTF-8":      "{\"app\":\"a\",\"runner\":\"r\",\"params\":{\"k\":\"\xed\xa0\x80\"}}",
		"a byte order mark":       "\xef\xbb\xbf{\"app\":\"a\",\"runner\":\"r\"}",
		"UTF-16":                  "\xff\xfe{\x00}\x00",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, path := range []string{"/v1/jobs", "/v1/jobs/batch"} {
				if path == "/v1/jobs/batch" {
					body = `{"jobs":[` + body + `]}`
				}
				if rec := w.asUser(ann, http.MethodPost, path, body); rec.Code != http.StatusBadRequest {
					t.Errorf("%s answers %d: %s", path, rec.Code, rec.Body)
				}
			}
		})
	}
}

func TestAttack_A69_InPathAndQuery(t *testing.T) {
	w := newWorld(t)
	for _, target := range []string{
		"/v1/nodes/a%00b", "/v1/nodes/%ff", "/v1/apps/%00", "/v1/jobs?app=%00", "/v1/jobs?node=%ff", "/v1/nodes?pool=%00",
		"/v1/jobs?app=%zz", "/v1/nodes?lease=%ed%a0%80",
	} {
		if rec := w.asUser(root, http.MethodGet, target, ""); rec.Code != http.StatusBadRequest {
			t.Errorf("%s answers %d: %s", target, rec.Code, rec.Body)
		}
	}
}

func TestDecode_PairsOfSurrogatesAndOtherEscapesAreText(t *testing.T) {
	var in rest.JobRequest
	if err := decode([]byte(`{"app":"a","runner":"r","params":{"k":"\ud83d\ude00 \\u0000 \"\\\" é\u00e9"}}`), &in); err != nil {
		t.Fatal(err)
	}
	if got := in.Params["k"]; got != "😀 \\u0000 \"\\\" éé" {
		t.Errorf("it reads %q", got)
	}
}

func TestDecode_NamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"one unknown key", `{"app":"a","runner":"r","poolId":"pool-1"}`, `unknown key "poolId"`},
		{"several", `{"app":"a","owner":"7","ownerId":1,"demands":{"gpus":2}}`, `unknown key "owner", "ownerId", "demands.gpus"`},
		{"in another case", `{"App":"a","runner":"r"}`, `unknown key "App"`},
		{"twice", `{"app":"a","runner":"r","app":"b"}`, "key app stands there twice"},
		{"a second document", `{"app":"a","runner":"r"}{}`, "after top-level value"},
		{"bytes behind", `{"app":"a","runner":"r"}x`, "after top-level value"},
		{"cut", `{"app":"a"`, "not a whole JSON document"},
		{"nothing", ` `, "not a whole JSON document"},
		{"a list", `[]`, "the body can't be a JSON array"},
		{"wrong type", `{"app":1}`, "app can't be a JSON number"},
		{"a fraction", `{"app":"a","priority":1.5}`, "priority can't be a JSON number 1.5"},
		{"too large", `{"app":"a","demands":{"memoryMib":9223372036854775808}}`, "demands.memoryMib can't be a JSON number"},
		{"an escaped key", `{"\u0061pp":"a","app":"b"}`, "key app stands there twice"},
		{"in a list", `{"labels":[],"params":{"a":1,"b":[],"a":2}}`, "key params.a stands there twice"},
		{"many keys", `{"params":{` + manyKeys(1000) + `,"k7":1}}`, "key params.k7 stands there twice"},
		{"too deep", `{"params":` + strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40) + `}`, "nested deeper than 16"},
		{"a label of one", `{"app":"a","labels":[["k"]]}`, "a label is a list of two strings"},
		{"a param that is an object", `{"app":"a","params":{"k":{}}}`, "a parameter is a string, a number or a boolean"},
		{"a bare duration", `{"app":"a","runTimeout":10}`, "a duration is a string with its unit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := decode([]byte(c.body), &rest.JobRequest{})
			if got := detailOf(err); !strings.Contains(got, c.want) {
				t.Errorf("error %v, want a bad request with %q", err, c.want)
			}
		})
	}
}

func TestDecode_AnyBytesAreReadOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.StringMatching(`[{}\[\]",:\\u0dD8a-f1-9truefalsn ]{0,60}`), func(s string) []byte { return []byte(s) }),
		).Draw(t, "raw")
		var in rest.BatchRequest
		if err := decode(raw, &in); err != nil && detailOf(err) == "" {
			t.Fatalf("%q: %v", raw, err)
		}
	})
}

// authority are keys by which a client would claim what the control plane decides.
var authority = regexp.MustCompile(`(?i)^(pool.*|owner.*|user.*|roles?|attempts?|state|status|node.*|secret.*|token.*|sum|epoch|counted|outcome|fallback.*|decision|admin.*|superadmin|id|version|created.*|submitter.*)$`)

// deciding are the keys of superadmins' routes, and of submits, that are there
// to decide exactly that.
var deciding = map[string][]string{
	"POST /v1/jobs":                       {"role", "pool"}, // of the node that the work wants; a canary job's, of superadmins
	"POST /v1/jobs/batch":                 {"role", "pool"},
	"POST /v1/jobs/cancel":                {"state"}, // of a filter
	"POST /v1/placements":                 {"role"},
	"PUT /v1/admin/nodes/:id/pool":        {"pool"},
	"POST /v1/admin/nodes":                {"id", "owner", "role"},
	"POST /v1/admin/nodes/impact":         {"nodes", "pool"}, // to be tried
	"PUT /v1/node/secret":                 {"id", "secret"},  // of the rotation that the node was told of; its own
	"POST /v1/admin/node-pools":           {"id"},
	"PUT /v1/admin/node-pools/:id":        {"state"},
	"PUT /v1/admin/app-pool-bindings/:id": {"role", "pools"},
	"POST /v1/admin/apps":                 {"id", "owner"},
	"POST /v1/admin/licenses":             {"user", "roles", "nodes"},
	"POST /v1/admin/users":                {"roles"},
	"PUT /v1/admin/users/:id/roles":       {"roles", "role", "pool"},
}

func TestAttack_A62_RequestsCarryNoAuthority(t *testing.T) {
	documents := 0
	for _, r := range Routes() {
		if r.takes == nil {
			continue
		}
		documents++
		name := r.Method + " " + r.Path
		walkKeys(r.takes, func(key string) {
			if authority.MatchString(key) && !slices.Contains(deciding[name], key) {
				t.Errorf("%s takes %q: that is for the control plane to decide", name, key)
			}
		})
	}
	if documents < 12 {
		t.Errorf("only %d routes take a document: the walk is broken", documents)
	}
}

func walkKeys(t reflect.Type, visit func(key string)) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		walkKeys(t.Elem(), visit)
	case reflect.Struct:
		if decodesItself(t) {
			return
		}
		for key, field := range fieldsOf(t) {
			visit(key)
			walkKeys(field, visit)
		}
	}
}

func TestAttack_A62_AClaimIsRefusedByName(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{"poolId", "pool", "ownerId", "userId", "attempt", "state", "node", "id", "submitter"} {
		rec := w.asUser(ann, http.MethodPost, "/v1/jobs", `{"app":"app-7","runner":"checksum","`+key+`":1}`)
		if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), key) {
			t.Errorf("%s: %d %s", key, rec.Code, rec.Body)
		}
	}
	if len(w.submits) != 0 {
		t.Errorf("%d jobs were taken", len(w.submits))
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":{}`, i)
	}
	return strings.Join(keys, ",")
}

// anyJSON is a well-formed document with blanks where they may stand.
func anyJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		blank := rapid.SampledFrom([]string{"", " ", "\n\t"})
		text := rapid.Map(rapid.StringN(0, 6, -1), func(s string) string {
			quoted, _ := json.Marshal(s) // a string always has a JSON form
			return string(quoted)
		})
		plain := rapid.OneOf(text, rapid.SampledFrom([]string{`0`, `-1.5e+3`, `true`, `false`, `null`, `"\\"`, `"\"]}"`, `"\u00e9"`}))
		if depth == 0 {
			return plain.Draw(t, "plain")
		}
		var items []string
		object := rapid.Bool().Draw(t, "object")
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			item := blank.Draw(t, "") + anyJSON(rapid.IntRange(0, depth-1).Draw(t, "depth")).Draw(t, "item") + blank.Draw(t, "")
			if object {
				item = blank.Draw(t, "") + text.Draw(t, "key") + blank.Draw(t, "") + ":" + item
			}
			items = append(items, item)
		}
		open, end := "[", "]"
		if object {
			open, end = "{", "}"
		}
		return open + strings.Join(items, ",") + blank.Draw(t, "") + end
	})
}

// The walk sees what the standard decoder sees: it ends where the document ends,
// and finds doubled keys exactly where there are some.
func TestKeyWalk_ReadsWhatTheDecoderReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := anyJSON(4).Draw(t, "document")
		if !json.Valid([]byte(raw)) {
			t.Fatalf("the generator made %q", raw)
		}
		w := keyWalk{rest: []byte(raw)}
		err := w.value(nil)
		if want := doubledKey(json.NewDecoder(strings.NewReader(raw))); want != (err != nil) {
			t.Fatalf("%s: doubled keys %t, the walk says %v", raw, want, err)
		}
		if rest := strings.TrimSpace(string(w.rest)); err == nil && rest != "" {
			t.Fatalf("%s: the walk leaves %q", raw, rest)
		}
	})
}

func doubledKey(d *json.Decoder) (doubled bool) {
	token, _ := d.Token()
	seen := map[string]bool{}
	if open, ok := token.(json.Delim); ok {
		for d.More() {
			if open == '{' {
				key, _ := d.Token()
				doubled = doubled || seen[key.(string)]
				seen[key.(string)] = true
			}
			doubled = doubledKey(d) || doubled
		}
		_, _ = d.Token() // the closing one
	}
	return doubled
}

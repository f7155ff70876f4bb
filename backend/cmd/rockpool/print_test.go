package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// hostile is what a node or a user might send to a terminal.
const hostile = "a\x1b[31mred\x1b]0;title\x07\x00\x7f\u009b2J\r\nx\u202egpj\u2066\u200b\u2028\U000e0041"

// looksHarmless reports text of printable characters, spaces and newlines only.
func looksHarmless(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) < 0
}

func TestAttack_A46_NoEscapeOfTheServerReachesTheTerminal(t *testing.T) {
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	say := func(format string) http.HandlerFunc {
		return document(200, strings.ReplaceAll(format, "$", string(quoted)))
	}
	server := newServer(t, map[string]http.HandlerFunc{
		"GET /v1/nodes": say(`{"items": [{"id": $, "pool": $, "role": $, "region": $, "lease": $, "holds": [{"kind": $}]}], "nextPageToken": $}`),
		"GET /v1/nodes/n1": say(`{"id": $, "pool": $, "healthReasons": [$], "holds": [{"kind": $, "owner": $, "reason": $}], "runners": [$],
			"capacity": {"memoryMib": {$: 1}, "resources": {$: 2}}, "labels": [[$, $]], "agentVersion": $, "os": $, "address": $}`),
		"GET /v1/jobs/j1": say(`{"id": $, "app": $, "state": $, "reason": $, "detail": $, "reasons": [{"pool": $, "reason": $, "nodes": 1}],
			"output": {"x": $}, "outputs": {$: $}}`),
		"GET /v1/jobs":             say(`{"items": [{"id": $, "app": $, "state": $, "runner": $, "node": $}], "nextPageToken": ""}`),
		"GET /v1/jobs/j1/decision": say(`{"text": $, "pools": [{"pool": $, "rejected": {$: 1}}]}`),
		"GET /v1/jobs/j1/explain":  say(`{"text": $, "pools": [{"pool": $, "candidateNodes": [$], "reasons": [{"reason": $, "nodeIds": [$]}]}]}`),
		"GET /v1/jobs/j1/attempts": say(`{"items": [{"node": $, "pool": $, "outcome": $, "reason": $}], "nextPageToken": ""}`),
		"GET /v1/jobs/j1/log":      say(`{"head": $, "tail": $, "truncated": true}`),
		"GET /v1/admin/audit":      say(`{"items": [{"actor": $, "object": $, "reason": $, "before": {"x": $}}], "nextPageToken": ""}`),
		"GET /v1/admin/users":      say(`{"items": [{"id": $, "name": $, "roles": [$]}], "nextPageToken": ""}`),
		"GET /v1/apps/a1":          problem(409, hostile, hostile),
		"GET /v1/pools/p1":         say(`{"id": $, "name": $, "resolvers": [{"app": $, "role": $, "rule": $}], "sharing": {"text": $}}`),
		"PUT /v1/admin/nodes/n1/pool": say(`{"node": $, "from": $, "to": $, "impact": {"pools": [{"pool": $}],
			"apps": [{"app": $, "role": $, "before": 1}], "running": [{"job": $, "phase": $}]}}`),
		"POST /v1/admin/nodes/n1/drain":      say(`{"node": {"id": $}, "running": [{"job": $, "phase": $}]}`),
		"GET /v1/admin/app-pool-bindings":    say(`{"items": [{"app": $, "resolutions": [{"role": $, "rule": $, "pools": [$]}]}], "nextPageToken": $}`),
		"GET /v1/admin/app-pool-bindings/a1": say(`{"app": $, "bindings": [{"role": $, "pools": [$]}], "resolutions": [{"role": $, "text": $}]}`),
		"GET /v1/apps/a1/candidates":         say(`{"hint": $, "decision": {"text": $}, "pools": [{"pool": $, "reasons": [{"reason": $, "nodeIds": [$]}]}]}`),
		"GET /v1/admin/alarms":               say(`{"items": [{"id": $, "kind": $, "pool": $, "acknowledgedBy": $}], "nextPageToken": ""}`),
		"GET /v1/admin/alarms/7":             say(`{"id": $, "detail": $, "waiting": [$]}`),
		"GET /v1/admin/audit/isolation":      say(`{"found": 1, "crossings": [{"job": $, "node": $, "pool": $, "detail": $}]}`),
		"GET /v1/usage":                      say(`{"items": [{"day": $, "app": $, "pool": $}], "nextPageToken": ""}`),
		"GET /v1/admin/alignment":            say(`{"apps": [{"app": $, "text": $}], "pools": [{"pool": $}]}`),
		"GET /v1/placements/p1":              say(`{"id": $, "key": $, "purpose": $, "nodes": [{"id": $, "pool": $, "lease": $, "endpoints": {$: $}}], "decision": {"text": $}}`),
		"GET /v1/placements":                 say(`{"items": [{"id": $, "app": $, "key": $, "nodes": [{"id": $}]}], "nextPageToken": ""}`),
		"GET /v1/admin/roles":                say(`{"items": [{"name": $}], "nextPageToken": ""}`),
	})
	for _, args := range [][]string{
		{"node", "list"}, {"node", "get", "n1"}, {"job", "get", "j1"}, {"job", "list"}, {"job", "wait", "j1", "--timeout", "1ms"},
		{"job", "explain", "j1"}, {"job", "explain", "j1", "--now"}, {"job", "logs", "j1"}, {"job", "attempts", "j1"}, {"audit", "list"}, {"user", "list"}, {"app", "get", "a1"},
		{"pool", "get", "p1"}, {"node", "move", "n1", "--pool", "p", "--dry-run"}, {"node", "drain", "n1"}, {"binding", "list"},
		{"node", "drain", "n1", "--wait", "--every", "1ms", "--timeout", "1ms"}, {"binding", "get", "a1"}, {"app", "candidates", "a1"},
		{"alarm", "list"}, {"alarm", "get", "7"}, {"audit", "isolation"}, {"usage"}, {"alignment"}, {"role", "list"}, {"job", "cancel", "j1", "j2"}, {"job", "cancel", "--app=a", "--dry-run"}, {"placement", "get", "p1"}, {"placement", "list"},
	} {
		for _, format := range []string{"table", "json"} {
			got := rockpool(t, append(args, "-o", format)...)
			if !looksHarmless(got.out) || !looksHarmless(got.errs) {
				t.Errorf("%v as %s:\n%q\n%q", args, format, got.out, got.errs)
			}
			if got.out == "" && got.errs == "" || strings.Contains(got.errs, "is it another server") {
				t.Errorf("%v as %s shows nothing of it: %q %v", args, format, got.errs, server.calls())
			}
		}
	}
}

func TestClean_IsOnePrintableLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		line := clean(text)
		if !looksHarmless(line) || strings.Contains(line, "\n") {
			t.Fatalf("%q became %q", text, line)
		}
		if clean(line) != line {
			t.Fatalf("%q changes again", line)
		}
		if looksHarmless(text) && !strings.Contains(text, "\n") && line != text {
			t.Fatalf("harmless %q became %q", text, line)
		}
	})
}

func TestClean_Spelling(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 日本 \\ x": "plain é 日本 \\ x", "\x1b[0m": `\x1b[0m`, "a\nb\tc\r": `a\nb\tc\r`, "\x00\x7f": `\x00\x7f`,
		"\u009b": `\u009b`, "\u202e": `\u202e`, "\xff": `\xff`, "\U000e0041": `\U000e0041`, "\u00a0": `\u00a0`,
	} {
		if got := clean(text); got != want {
			t.Errorf("%q reads %s, want %s", text, got, want)
		}
	}
	if got := cleanLines("a\n\tb\r\x1b"); got != "a\n\tb\\r\\x1b" {
		t.Errorf("lines read %q", got)
	}
}

// What -o json prints is the same document, whatever stands in its strings.
func TestShowJSON_IsTheSameDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.MapOf(rapid.String(), rapid.OneOf(rapid.String(), rapid.Just(hostile))).Draw(t, "document")
		var out bytes.Buffer
		if err := (&desk{out: &out, json: true}).show(given, grid{}); err != nil {
			t.Fatal(err)
		}
		if !looksHarmless(out.String()) {
			t.Fatalf("prints %q", out.String())
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || !reflect.DeepEqual(back, given) {
			t.Fatalf("%v\ncame back as\n%v (%v)", given, back, err)
		}
	})
}

func TestTables(t *testing.T) {
	const node = `{"id": "ams-edge-03", "owner": "7", "pool": "pool-7", "role": "worker", "lease": "ready", "healthy": true, "holds": [],
		"capacity": {"slots": 4, "memoryMib": {"host": 2048}}, "reserved": {"slots": 1, "memoryMib": {"host": 512}}, "running": 1,
		"runners": ["checksum", "vmaf"], "os": "linux", "arch": "arm64", "clockSkewMs": -3600500, "createdAt": "2026-11-29T15:04:05.123Z", "version": 17}`
	newServer(t, map[string]http.HandlerFunc{
		"GET /v1/jobs/j1": document(200, strings.Replace(job("succeeded", ""), `"links"`, `"exitCode": 0, "output": {"sha256": "12e6"}, "outputs": {"log.json": "sha256:ab"}, "links"`, 1)),
		"GET /v1/jobs":    document(200, fmt.Sprintf(`{"items": [%s], "nextPageToken": "t2"}`, job("queued", "pool_exhausted"))),
		"GET /v1/jobs/j1/attempts": document(200, `{"items": [
			{"attempt": 1, "node": "n1", "pool": "pool-7", "outcome": "orphaned", "reason": "node_lost", "assignedAt": "2026-11-29T15:04:05Z",
				"startedAt": "2026-11-29T15:04:06Z", "endedAt": "2026-11-29T15:05:36Z"},
			{"attempt": 2, "node": "n2", "pool": "pool-8", "fallback": true, "outcome": "open", "assignedAt": "2026-11-29T15:05:37Z"}], "nextPageToken": ""}`),
		"GET /v1/nodes":             document(200, fmt.Sprintf(`{"items": [%s], "nextPageToken": ""}`, node)),
		"GET /v1/nodes/ams-edge-03": document(200, node),
		"GET /v1/jobs/j1/decision": document(200, `{"text": "pool-7 (owner's pool of user 7): 2 of 14 nodes could take it.",
			"pools": [{"pool": "pool-7", "nodes": 14, "candidates": 2, "rejected": {"slots": 3, "draining": 9}}]}`),
	})
	for args, want := range map[string]string{
		"job get j1": `
id         j1
app        cam-7
runner     checksum
asks       slots 2, memory 512 MiB, backend cpu
state      succeeded
attempt    1 (1 of 3 counted)
node       n1
pool       pool-7
created    2026-11-29T15:04:05Z
exit code  0
output     {"sha256": "12e6"}
file       log.json sha256:ab
`,
		"job attempts j1": `
ATTEMPT  NODE  POOL               OUTCOME   REASON     ASSIGNED              STARTED               ENDED
1        n1    pool-7             orphaned  node_lost  2026-11-29T15:04:05Z  2026-11-29T15:04:06Z  2026-11-29T15:05:36Z
2        n2    pool-8 (fallback)  open      -          2026-11-29T15:05:37Z  -                     -
`,
		"job list": `
ID  APP    RUNNER    STATE   REASON          ATTEMPT  NODE  POOL    CREATED
j1  cam-7  checksum  queued  pool_exhausted  1        n1    pool-7  2026-11-29T15:04:05Z
more: --page t2, or --all
`,
		"node list": `
ID           POOL    ROLE    REGION  LEASE  HOLDS  SLOTS  RUNNING  LAST SEEN
ams-edge-03  pool-7  worker  -       ready  -      1/4    1        -
`,
		"node get ams-edge-03": `
id        ams-edge-03
owner     7
pool      pool-7
role      worker
lease     ready
slots     1/4
memory    host: 512 of 2048 MiB reserved
running   1
runners   checksum,vmaf
platform  linux/arm64
clock     1h0m0.5s behind the server's
created   2026-11-29T15:04:05Z
version   17
`,
		"job explain j1": `
pool-7 (owner's pool of user 7): 2 of 14 nodes could take it.
POOL    NODES  REASON
pool-7  2      candidate
pool-7  9      draining
pool-7  3      slots
`,
	} {
		if got := rockpool(t, strings.Fields(args)...); got.code != exitOK || "\n"+got.out != want {
			t.Errorf("rockpool %s (%d, %s):\n%s", args, got.code, got.errs, got.out)
		}
	}
}

func TestJSON_IsTheRESTDocument(t *testing.T) {
	newServer(t, map[string]http.HandlerFunc{"GET /v1/jobs/j1": document(200, job("queued", "pool_exhausted"))})
	got := rockpool(t, "job", "get", "j1", "-o", "json")
	var want, have map[string]any
	if err := json.Unmarshal([]byte(job("queued", "pool_exhausted")), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got.out), &have); err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("%v: %s", err, got.out)
	}
}

func TestList_FollowsThePagesToTheEnd(t *testing.T) {
	server := newServer(t, map[string]http.HandlerFunc{"GET /v1/apps": func(w http.ResponseWriter, r *http.Request) {
		page := map[string]string{
			"":   `{"items": [{"id": "a"}], "nextPageToken": "t1"}`,
			"t1": `{"items": [{"id": "b"}], "nextPageToken": ""}`,
		}[r.URL.Query().Get("pageToken")]
		document(200, page)(w, r)
	}})
	got := rockpool(t, "app", "list", "--all", "--limit", "1", "-o", "json")
	var list struct {
		Items         []struct{ ID string }
		NextPageToken string
	}
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list.Items) != 2 || list.NextPageToken != "" {
		t.Errorf("%v: %s", err, got.out)
	}
	if calls := server.calls(); !reflect.DeepEqual(calls, []string{"GET /v1/apps?pageSize=1", "GET /v1/apps?pageSize=1&pageToken=t1"}) {
		t.Errorf("asked %v", calls)
	}
	if got := rockpool(t, "app", "list", "--page", "t1"); !strings.Contains(got.out, "b") || strings.Contains(got.out, "more:") {
		t.Errorf("the last page: %+v", got)
	}
}

func TestLogs_PrintsLines(t *testing.T) {
	newServer(t, map[string]http.HandlerFunc{
		"GET /v1/jobs/j1/log": document(200, `{"job": "j1", "head": "one\n\ttwo\n", "tail": "end\n", "bytes": 9000, "truncated": true}`),
		"GET /v1/jobs/j2/log": document(200, `{"job": "j2", "head": "", "tail": ""}`),
	})
	if got := rockpool(t, "job", "logs", "j1"); got.out != "one\n\ttwo\n\n[of 9000 bytes the middle is not kept]\nend\n" {
		t.Errorf("got %q", got.out)
	}
	if got := rockpool(t, "job", "logs", "j2"); got != (result{}) {
		t.Errorf("an empty log prints %+v", got)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// sent is what the only call with a body asked, as METHOD path and document.
func sent(t *testing.T, s *fakeServer) (call string, body any, header http.Header) {
	t.Helper()
	for _, a := range s.asked {
		if a.body == "" {
			continue
		}
		if err := json.Unmarshal([]byte(a.body), &body); err != nil {
			t.Fatal(err)
		}
		return a.call, body, a.header
	}
	t.Fatalf("nothing was sent: %v", s.calls())
	return "", nil, nil
}

func TestControl_SaysWhatItWasTold(t *testing.T) {
	const pool = `{"id": "p", "kind": "named", "state": "active", "thresholds": {"queueWait": "60s", "freeSlots": 2, "notReadyPct": 50}, "version": 4}`
	for args, want := range map[string]struct{ call, body, version string }{
		"pool create p --name=Big --reason=why": {"POST /v1/admin/node-pools", `{"id": "p", "name": "Big", "reason": "why"}`, ""},
		"pool set p --state=draining --dry-run": {"PUT /v1/admin/node-pools/p?dryRun=true", `{"state": "draining"}`, ""},
		"pool set p --queue-wait=90s": {"PUT /v1/admin/node-pools/p",
			`{"thresholds": {"queueWait": "1m30s", "freeSlots": 2, "notReadyPct": 50}}`, `"4"`},
		"pool set p --free-slots=0 --not-ready-pct=100 --version=3": {"PUT /v1/admin/node-pools/p",
			`{"thresholds": {"queueWait": "1m", "freeSlots": 0, "notReadyPct": 100}}`, `"3"`},
		"pool promote p --to=q --jobs=3 --no-restart --ready-for=1h": {"POST /v1/admin/node-pools/p/promote",
			`{"to": "q", "checks": {"jobs": 3, "noRestart": true, "readyFor": "1h"}}`, ""},
		"pool promote p --to=q --dry-run":       {"POST /v1/admin/node-pools/p/promote?dryRun=true", `{"to": "q", "checks": {"jobs": 0}}`, ""},
		"node create n --owner=7 --max-slots=4": {"POST /v1/admin/nodes", `{"id": "n", "owner": "7", "role": "worker", "maxSlots": 4}`, ""},
		"node move n --pool=q --version=17":     {"PUT /v1/admin/nodes/n/pool", `{"pool": "q"}`, `"17"`},
		"node move n --pool=q --dry-run":        {"PUT /v1/admin/nodes/n/pool?dryRun=true", `{"pool": "q"}`, ""},
		"node impact n m --action=drain":        {"POST /v1/admin/nodes/impact", `{"action": "drain", "nodes": ["n", "m"]}`, ""},
		"node drain n --deadline=10m":           {"POST /v1/admin/nodes/n/drain", `{"deadline": "10m"}`, ""},
		"node drain n --dry-run":                {"POST /v1/admin/nodes/n/drain?dryRun=true", `{}`, ""},
		"node uncordon n":                       {"POST /v1/admin/nodes/n/uncordon", `{}`, ""},
		"node uncordon n --kind=auto":           {"POST /v1/admin/nodes/n/uncordon", `{"kind": "auto"}`, ""},
		"node leave n --reason=sold":            {"POST /v1/admin/nodes/n/leave", `{"reason": "sold"}`, ""},
		"binding set cam-7 --pool=a --pool=b --fallback --version=3": {"PUT /v1/admin/app-pool-bindings/cam-7",
			`{"role": "", "pools": ["a", "b"], "allowFallbackToDefault": true}`, `"3"`},
		"binding delete cam-7 --role=edge": {"PUT /v1/admin/app-pool-bindings/cam-7",
			`{"role": "edge", "pools": [], "allowFallbackToDefault": false}`, ""},
		"role create encoder":      {"POST /v1/admin/roles", `{"name": "encoder"}`, ""},
		"alarm silence 7 --for=2h": {"POST /v1/admin/alarms/7/silence", `{"for": "2h"}`, ""},
		"alarm silence 7 --for=0s": {"POST /v1/admin/alarms/7/silence", `{"for": "0s"}`, ""},
		"user roles 2 --role=user": {"PUT /v1/admin/users/2/roles", `{"roles": ["user"]}`, ""},
		"user roles 2 --grant=operator=a --grant=operator=b": {"PUT /v1/admin/users/2/roles",
			`{"roles": [], "grants": [{"role": "operator", "pool": "a"}, {"role": "operator", "pool": "b"}]}`, ""},
		"user roles 2 --role=user --no-grants":             {"PUT /v1/admin/users/2/roles", `{"roles": ["user"], "grants": []}`, ""},
		"job submit --app=a --runner=noop --pool=canary-1": {"POST /v1/jobs", `{"app": "a", "runner": "noop", "pool": "canary-1"}`, ""},
		"placement create --app=a --role=origin --key=s-42 --slots=1 --memory-mib=64 --count=2 --ttl=5m --region=ams": {"POST /v1/placements",
			`{"app": "a", "role": "origin", "key": "s-42", "slots": 1, "memoryMib": 64, "count": 2, "ttl": "5m", "region": "ams"}`, ""},
		"placement renew p1 --ttl=10m": {"POST /v1/placements/p1/renew", `{"ttl": "10m"}`, ""},
		"app share cam-7 --weight=300 --max-slots=0": {"PUT /v1/admin/apps/cam-7/share",
			`{"weight": 300, "maxOpenJobs": 5, "maxPlacements": 0, "maxSlots": 0}`, `"3"`},
		"job resolve j1 requeue":      {"POST /v1/jobs/j1/resolve", `{"action": "requeue"}`, ""},
		"job cancel j1 j2 --grace=0s": {"POST /v1/jobs/cancel", `{"ids": ["j1", "j2"], "grace": "0s"}`, ""},
		"job cancel --app=a --state=queued --label=build=812 --dry-run": {"POST /v1/jobs/cancel?dryRun=true",
			`{"app": "a", "state": "queued", "label": ["build", "812"]}`, ""},
		"job submit --app=a --runner=noop --dry-run": {"POST /v1/jobs?dryRun=true", `{"app": "a", "runner": "noop"}`, ""},
		"placement renew p1":                         {"POST /v1/placements/p1/renew", `{}`, ""},
	} {
		answers := map[string]http.HandlerFunc{
			"GET /v1/admin/node-pools/p": document(200, pool),
			"GET /v1/apps/cam-7":         document(200, `{"id": "cam-7", "share": {"weight": 100, "maxOpenJobs": 5, "maxSlots": 8}, "version": 3}`),
		}
		call, _, _ := strings.Cut(want.call, "?")
		answers[call] = document(200, `{}`)
		s := newServer(t, answers)
		if got := rockpool(t, strings.Fields(args)...); got.code != exitOK {
			t.Errorf("%s: %+v", args, got)
			continue
		}
		called, body, header := sent(t, s)
		var wanted any
		if err := json.Unmarshal([]byte(want.body), &wanted); err != nil {
			t.Fatal(err)
		}
		if called != want.call || !reflect.DeepEqual(body, wanted) || header.Get("If-Match") != want.version {
			t.Errorf("%s: sent %s %v for version %s", args, called, body, header.Get("If-Match"))
		}
	}
}

func TestControl_AsksWhatItWasTold(t *testing.T) {
	for args, want := range map[string]string{
		"usage --since=30d --until=1d --app=a --pool=p":        "GET /v1/usage?app=a&pool=p&since=30d&until=1d",
		"audit isolation --since=30d":                          "GET /v1/admin/audit/isolation?since=30d",
		"alarm list --state=lasting --kind=node_lost --pool=p": "GET /v1/admin/alarms?kind=node_lost&pool=p&state=lasting",
		"alarm ack 7":                 "POST /v1/admin/alarms/7/ack",
		"pool delete p":               "DELETE /v1/admin/node-pools/p",
		"node history n":              "GET /v1/nodes/n/history",
		"pool delete p --reason=sold": "DELETE /v1/admin/node-pools/p?reason=sold",
		"audit list --action=cordon --object=node:a --text=t": "GET /v1/admin/audit?action=cordon&object=node%3Aa&text=t",
		"pool history p":            "GET /v1/pools/p/history",
		"alignment":                 "GET /v1/admin/alignment",
		"pool release p --reason r": "POST /v1/pools/p/release",
		"app candidates a --role=edge --runner=x --slots=2":         "GET /v1/apps/a/candidates?role=edge&runner=x&slots=2",
		"app candidates a --backend=cpu --region=ams --runner=noop": "GET /v1/apps/a/candidates?backend=cpu&region=ams&runner=noop",
	} {
		call, _, _ := strings.Cut(want, "?")
		s := newServer(t, map[string]http.HandlerFunc{call: document(200, `{"holds": true}`)})
		got := rockpool(t, strings.Fields(args)...)
		if calls := s.calls(); got.code != exitOK || !reflect.DeepEqual(calls, []string{want}) {
			t.Errorf("%s: %+v, asked %v", args, got, calls)
		}
	}
}

func TestControl_RefusesWhatNobodyCouldCarryOut(t *testing.T) {
	for args, says := range map[string]string{
		"pool set p":                                  "say what to set",
		"pool set p --state=closed":                   "--state",
		"job cancel":                                  "name jobs, or select",
		"job cancel j1 --app=a":                       "not both",
		"job cancel --label=build":                    "NAME=VALUE",
		"job cancel --app=a -o json":                  "--yes or --dry-run",
		"job resolve j1 forget":                       "requeue",
		"app share a":                                 "say what to set",
		"placement create --app=a":                    "--app and --role",
		"pool promote p":                              "--to",
		"node drain n --wait --dry-run":               "--dry-run does nothing",
		"node drain n --deadline=-1s":                 "--deadline",
		"node impact n --action=sell":                 "--action",
		"node uncordon n --kind=drain":                "--kind",
		"binding set a":                               "--pool",
		"alarm silence 7":                             "--for",
		"alarm silence 7 --for=-1h":                   "--for must be",
		"user roles 2":                                "--role or --grant",
		"user roles 2 --grant=operator":               "operator=gpu-big",
		"user roles 2 --grant=operator=a --no-grants": "exclude",
		"user roles 2 --no-grants":                    "--role or --grant",
	} {
		s := newServer(t, nil)
		if got := rockpool(t, strings.Fields(args)...); got.code != exitUsage || !strings.Contains(got.errs, says) || len(s.calls()) != 0 {
			t.Errorf("%s: %+v, asked %v", args, got, s.calls())
		}
	}
}

func TestControl_Tables(t *testing.T) {
	const impact = `{"pools": [{"pool": "pool-7", "before": {"usable": 2, "slots": 8, "free": 5}, "after": {"usable": 1, "slots": 4, "free": 4}}],
		"apps": [{"app": "cam-7", "owner": "7", "role": "worker", "before": 1, "after": 0, "waiting": 2}],
		"running": [{"job": "j1", "attempt": 1, "phase": "running", "percent": 40}], "waiting": 2}`
	newServer(t, map[string]http.HandlerFunc{
		"GET /v1/pools": document(200, `{"items": [{"id": "canary-1", "kind": "named", "state": "active", "canary": true, "nodes": 2,
			"leases": {"ready": 1}, "held": 1, "totalSlots": 8, "freeSlots": 4}], "nextPageToken": ""}`),
		"PUT /v1/admin/nodes/n1/pool": document(200, fmt.Sprintf(`{"node": "n1", "from": "pool-7", "to": "unassigned", "running": 1, "impact": %s}`, impact)),
		"GET /v1/admin/app-pool-bindings/cam-7": document(200, `{"app": "cam-7", "owner": "7", "version": 3,
			"bindings": [{"role": "", "pools": ["gpu-big", "pool-7"]}], "resolutions": [{"role": "", "rule": "binding", "text": "to gpu-big, then pool-7"}]}`),
		"GET /v1/apps/cam-7/candidates": document(200, `{"hint": "no node runs vmaf", "decision": {"text": "pool-7: 0 of 1 nodes could take it."},
			"pools": [{"pool": "pool-7", "candidates": 0, "reasons": [{"reason": "runner", "nodes": 1, "nodeIds": ["n1"]}]}]}`),
		"GET /v1/placements/p1": document(200, `{"id": "p1", "app": "cam-7", "role": "origin", "key": "stream-42", "state": "active", "slots": 1,
			"createdAt": "2026-11-29T15:04:05Z", "expiresAt": "2026-11-29T15:09:05Z",
			"nodes": [{"id": "ams-origin-01", "pool": "pool-7", "lease": "ready", "endpoints": {"webrtc": "https://w", "publish": "https://p"}}]}`),
		"GET /v1/placements": document(200, `{"items": [{"id": "p1", "app": "cam-7", "role": "edge", "state": "active", "slots": 0,
			"expiresAt": "2026-11-29T15:09:05Z", "nodes": [{"id": "e1"}, {"id": "e2"}]}], "nextPageToken": ""}`),
		"GET /v1/usage":           document(200, `{"items": [{"day": "2026-11-29", "app": "cam-7", "pool": "pool-7", "attempts": 3, "slotSeconds": 90, "fallbackSlotSeconds": 30, "placements": 1, "placementSlotSeconds": 60}], "nextPageToken": ""}`),
		"GET /v1/admin/alignment": document(200, `{"apps": [{"app": "cam-7", "nodes": 0, "elsewhere": 2, "text": "work of cam-7 finds no usable node"}], "pools": [{"pool": "gpu-big", "nodes": 3}]}`),
	})
	for args, want := range map[string]string{
		"pool list": `
ID        KIND            STATE   NODES  READY  HELD  FREE SLOTS  SLOTS  RUNNING  QUEUED
canary-1  named (canary)  active  2      1      1     4           8      0        0
`,
		"node move n1 --pool unassigned --dry-run": `
n1 would go from pool-7 to unassigned; attempts that stay there: 1; without a usable node afterwards: cam-7 (worker); jobs that would wait without a node to hope for: 2.

POOL    USABLE NODES  SLOTS   FREE    OUT OF USE
pool-7  2 -> 1        8 -> 4  5 -> 4  0

APP    OWNER  ROLE    USABLE NODES  WAITING  FALLBACK
cam-7  7      worker  1 -> 0        2        off

JOB  ATTEMPT  PHASE    PERCENT
j1   1        running  40
`,
		"binding get cam-7": `
app         cam-7
owner       7
binding     every role to gpu-big,pool-7, fallback off
resolution  every role: to gpu-big, then pool-7
version     3
`,
		"app candidates cam-7": `
no node runs vmaf
pool-7: 0 of 1 nodes could take it.
POOL    NODES  REASON     WHICH
pool-7  0      candidate  -
pool-7  1      runner     n1
`,
		"usage": `
DAY         APP    POOL    ATTEMPTS  SLOT SECONDS  AS FALLBACK  PLACEMENTS  THEIR SLOT SECONDS
2026-11-29  cam-7  pool-7  3         90            30           1           60
`,
		"placement get p1": `
id        p1
app       cam-7
role      origin
key       stream-42
state     active
slots     1
node      ams-origin-01 of pool-7 (ready)
endpoint  publish https://p
endpoint  webrtc https://w
created   2026-11-29T15:04:05Z
expires   2026-11-29T15:09:05Z
`,
		"placement list": `
ID  APP    ROLE  KEY  STATE   SLOTS  NODES  EXPIRES               ENDED
p1  cam-7  edge  -    active  0      e1,e2  2026-11-29T15:09:05Z  -
`,
		"alignment": `
WHAT          NODES  ELSEWHERE  DETAIL
app cam-7     0      2          work of cam-7 finds no usable node
pool gpu-big  3      -          no app's work resolves to it: its 3 nodes get none
`,
	} {
		if got := rockpool(t, strings.Fields(args)...); got.code != exitOK || "\n"+got.out != want {
			t.Errorf("rockpool %s (%d, %s):\n%s", args, got.code, got.errs, got.out)
		}
	}
}

func TestIsolation_ExitsByWhatItFound(t *testing.T) {
	newServer(t, map[string]http.HandlerFunc{"GET /v1/admin/audit/isolation": document(200,
		`{"holds": false, "jobs": 9, "attempts": 9, "tolerance": "1s", "found": 1, "crossings": [{"job": "j1", "attempt": 2, "node": "n1", "pool": "pool-8", "detail": "outside"}]}`)})
	got := rockpool(t, "audit", "isolation")
	if got.code != exitError || !strings.Contains(got.out, "outside") || !strings.Contains(got.errs, "job j1 attempt 2 on n1 of pool-8") {
		t.Errorf("with a crossing: %+v", got)
	}
	newServer(t, map[string]http.HandlerFunc{"GET /v1/admin/audit/isolation": document(200, `{"holds": true, "jobs": 9}`)})
	if got := rockpool(t, "audit", "isolation", "-o", "json"); got.code != exitOK || got.errs != "" {
		t.Errorf("without: %+v", got)
	}
}

// drains answers a drain as it goes on: each look finds the next state.
func drains(t *testing.T, states ...string) *fakeServer {
	t.Helper()
	at := 0
	return newServer(t, map[string]http.HandlerFunc{"POST /v1/admin/nodes/n1/drain": func(w http.ResponseWriter, r *http.Request) {
		document(200, states[min(at, len(states)-1)])(w, r)
		at++
	}})
}

const (
	draining = `{"node": {"id": "n1", "holds": [{"kind": "drain", "owner": "operator"}]}, "applied": true, "running": [%s]}`
	blocker  = `{"job": %q, "attempt": 1, "phase": "running", "percent": 40}`
)

func TestCase_E8_DrainPrintsWhatItWaitsFor(t *testing.T) {
	one, two := fmt.Sprintf(blocker, "j1"), fmt.Sprintf(blocker, "j2")
	states := []string{fmt.Sprintf(draining, one+","+two), fmt.Sprintf(draining, two), fmt.Sprintf(draining, "")}
	s := drains(t, states...)
	got := rockpool(t, "node", "drain", "n1", "--deadline=10m", "--wait", "--every=1ms")
	if got.code != exitOK || !strings.HasPrefix(got.out, "n1 still runs 2: job j1 attempt 1 (running, 40 %), job j2 attempt 1 (running, 40 %)\nn1 still runs 1: job j2") {
		t.Errorf("%+v", got)
	}
	want := []string{"POST /v1/admin/nodes/n1/drain", "POST /v1/admin/nodes/n1/drain?dryRun=true", "POST /v1/admin/nodes/n1/drain?dryRun=true"}
	if calls := s.calls(); !reflect.DeepEqual(calls, want) {
		t.Errorf("asked %v", calls)
	}

	drains(t, states...)
	var last struct{ Running []any }
	got = rockpool(t, "node", "drain", "n1", "--wait", "--every=1ms", "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &last); err != nil || got.code != exitOK || len(last.Running) != 0 {
		t.Errorf("as JSON: %v, %+v", err, got)
	}
}

func TestCase_E8_DrainNamesWhatIsStillThereAtTheEnd(t *testing.T) {
	stuck := fmt.Sprintf(draining, fmt.Sprintf(blocker, "j1"))
	drains(t, stuck)
	got := rockpool(t, "node", "drain", "n1", "--wait", "--every=1ms", "--timeout=20ms")
	if got.code != exitTimedOut || !strings.Contains(got.errs, "n1 still runs 1: job j1 attempt 1") || !strings.Contains(got.out, "JOB") {
		t.Errorf("%+v", got)
	}
	drains(t, stuck, `{"node": {"id": "n1", "holds": []}, "running": [`+fmt.Sprintf(blocker, "j1")+`]}`)
	if got := rockpool(t, "node", "drain", "n1", "--wait", "--every=1ms"); got.code != exitError || !strings.Contains(got.errs, "the drain was lifted") {
		t.Errorf("lifted: %+v", got)
	}
}

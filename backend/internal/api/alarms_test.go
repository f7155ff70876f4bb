package api

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func TestAlarms_AreListedByWhatIsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.alarms[ann].ResolvedAt = 9
	for query, want := range map[string]int{
		"": 2, "?state=lasting": 1, "?pool=pool-8": 1, "?kind=pool_exhausted": 2, "?kind=node_lost": 0, "?state=resolved": 1, "?pool=pool-7&state=lasting": 0,
	} {
		list := read[rest.List[rest.Alarm]](t, w.asUser(root, "GET", "/v1/admin/alarms"+query, ""))
		if len(list.Items) != want {
			t.Errorf("%q: %d alarms, want %d", query, len(list.Items), want)
		}
	}
	for _, bad := range []string{"?kind=fire", "?state=open", "?pool=Pool", "?lasting=true"} {
		if rec := w.asUser(root, "GET", "/v1/admin/alarms"+bad, ""); rec.Code != 400 {
			t.Errorf("%s: %d %s", bad, rec.Code, rec.Body)
		}
	}
}

func TestAlarms_AreAcknowledgedAndSilenced(t *testing.T) {
	w := newWorld(t)
	acked := read[rest.Alarm](t, w.asUser(otto, "POST", "/v1/admin/alarms/7/ack", ""))
	if acked.AcknowledgedBy != "5" || acked.AcknowledgedAt == nil || acked.Severity != "critical" || len(acked.Waiting) != 1 {
		t.Errorf("%+v", acked)
	}
	silenced := read[rest.Alarm](t, w.asUser(olga, "POST", "/v1/admin/alarms/7/silence", `{"for":"2h"}`))
	if silenced.SilencedBy != "2" || silenced.SilencedUntil == nil || silenced.SilencedUntil.Sub(worldNow).Hours() != 2 {
		t.Errorf("%+v", silenced)
	}
	over := read[rest.Alarm](t, w.asUser(olga, "POST", "/v1/admin/alarms/7/silence", `{"for":"0s"}`))
	if over.SilencedBy != "" || over.SilencedUntil != nil {
		t.Errorf("%+v", over)
	}
	for body, want := range map[string]int{`{}`: 400, `{"for":"-1s"}`: 400, `{"for":"721h"}`: 400, `{"for":null}`: 400} {
		if rec := w.asUser(olga, "POST", "/v1/admin/alarms/7/silence", body); rec.Code != want {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
	w.alarms[ann].ResolvedAt = 9
	for _, verb := range []string{"ack", "silence"} {
		if rec := w.asUser(olga, "POST", "/v1/admin/alarms/7/"+verb, `{"for":"2h"}`); rec.Code != 409 {
			t.Errorf("%s of one that resolved: %d %s", verb, rec.Code, rec.Body)
		}
	}
}

// Who put a hold there lifts it, or a superadmin.
func TestHolds_OfTheControlPlaneAreLiftedBySuperadmins(t *testing.T) {
	w := newWorld(t)
	auto := []fleet.Hold{{Kind: fleet.HoldAuto, Owner: fleet.OwnerAuto, Until: 60_000}}
	w.nodes["node-7"].Holds = auto
	const path = "/v1/admin/nodes/node-7/uncordon"
	if node := read[rest.Node](t, w.asUser(root, "GET", "/v1/nodes/node-7", "")); len(node.Holds) != 1 || node.Holds[0].Until == nil {
		t.Errorf("holds %+v", node.Holds)
	}
	for _, who := range []int64{olga, otto} {
		if rec := w.asUser(who, "POST", path, `{"kind":"auto"}`); rec.Code != 403 || len(w.nodes["node-7"].Holds) != 1 {
			t.Errorf("as %d: %d %s", who, rec.Code, rec.Body)
		}
	}
	for _, kind := range []string{"drain", "cordon", "all"} {
		if rec := w.asUser(root, "POST", path, `{"kind":"`+kind+`"}`); rec.Code != 400 {
			t.Errorf("kind %s: %d %s", kind, rec.Code, rec.Body)
		}
	}
	if rec := w.asUser(root, "POST", path, `{"kind":"quarantine"}`); rec.Code != 409 {
		t.Errorf("a hold that is not there: %d %s", rec.Code, rec.Body)
	}
	if rec := w.asUser(root, "POST", path, `{"kind":"auto","reason":"mended"}`); rec.Code != 200 || len(w.nodes["node-7"].Holds) != 0 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestReleasePool_ConflictWhereNothingStands(t *testing.T) {
	w := newWorld(t)
	if rec := w.asUser(root, "POST", "/v1/pools/default/release", ""); rec.Code != 409 || read[rest.Problem](t, rec).Code != "conflict" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for path, want := range map[string]int{"/v1/pools/pool-7/release": 200, "/v1/pools/nowhere/release": 404, "/v1/pools/pool-7/release?x": 400} {
		if rec := w.asUser(root, "POST", path, `{"reason":"power cut"}`); rec.Code != want {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if rec := w.asUser(root, "POST", "/v1/pools/pool-7/release", `{"reason":"two\nlines"}`); rec.Code != 400 {
		t.Errorf("a reason of two lines: %d %s", rec.Code, rec.Body)
	}
}

package api

import (
	"testing"
	"time"

	"rockpool/backend/internal/rest"
)

func TestUsage_IsOnesOwnOrOfOnesPools(t *testing.T) {
	w := newWorld(t)
	for who, want := range map[int64]int{ann: 1, bob: 1, vega: 1, otto: 1, vera: 2, root: 2} {
		list := read[rest.List[rest.Usage]](t, w.asUser(who, "GET", "/v1/usage", "")).Items
		if len(list) != want || (who == ann || who == vega) && list[0].App != "app-7" || list[0].Day != "2026-11-29" {
			t.Errorf("%d gets %+v", who, list)
		}
	}
}

func TestUsage_OfAWindow(t *testing.T) {
	w := newWorld(t)
	day := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	for query, want := range map[string][2]time.Time{
		"":                                   {worldNow.AddDate(0, 0, -30), worldNow},
		"?since=2026-11-01":                  {day(11, 1), worldNow},
		"?since=7d":                          {worldNow.AddDate(0, 0, -7), worldNow},
		"?since=12h":                         {worldNow.Add(-12 * time.Hour), worldNow},
		"?since=2026-10-01&until=2026-11-01": {day(10, 1), day(11, 1)},
		"?until=2026-11-01":                  {day(10, 2), day(11, 1)},
		"?since=2026-11-28T00%3A00%3A00Z":    {day(11, 28), worldNow},
		"?since=2026-11-28T01:00:00%2B01:00": {day(11, 28), worldNow},
	} {
		rec := w.asUser(root, "GET", "/v1/usage"+query, "")
		if rec.Code != 200 || !w.window[0].Equal(want[0]) || !w.window[1].Equal(want[1]) {
			t.Errorf("%q: %d, asked from %s to %s", query, rec.Code, w.window[0], w.window[1])
		}
	}
	for _, bad := range []string{"?since=yesterday", "?since=-1h", "?since=2026-13-01", "?since=2027-01-01", "?since=400d", "?since=70000d", "?app=A", "?pool=*", "?pageSize=5"} {
		if rec := w.asUser(root, "GET", "/v1/usage"+bad, ""); rec.Code != 400 {
			t.Errorf("%s: %d %s", bad, rec.Code, rec.Body)
		}
	}
}

func TestIsolation_SaysWhatItFound(t *testing.T) {
	w := newWorld(t)
	doc := read[rest.Isolation](t, w.asUser(root, "GET", "/v1/admin/audit/isolation?since=30d", ""))
	if doc.Holds || doc.Found != 1 || len(doc.Crossings) != 1 || doc.Crossings[0].Node != "node-8" || w.since == nil || !w.since.Equal(worldNow.AddDate(0, 0, -30)) {
		t.Errorf("%+v, asked since %v", doc, w.since)
	}
	if w.asUser(root, "GET", "/v1/admin/audit/isolation", ""); w.since != nil {
		t.Errorf("all of it: asked since %v", w.since)
	}
}

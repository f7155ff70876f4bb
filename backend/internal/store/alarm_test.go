package store_test

import (
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
	"rockpool/shared/ids"
)

func TestAlarmLists(t *testing.T) {
	h := newHouse(t)
	exhausted := func(id int64, pool, app string) fleet.Alarm {
		return fleet.Alarm{
			ID: id, Fingerprint: fleet.Fingerprint{Kind: fleet.AlarmPoolExhausted, Role: "edge", Pool: pool, App: app}, Count: id,
			RaisedAt: now(), LastAt: now(), Waiting: []ids.JobID{storetest.JobID(time.Now())}, WaitingNow: 9, Detail: "0 of 14 nodes\x00",
		}
	}
	lost := fleet.Alarm{ID: 3, Fingerprint: fleet.Fingerprint{Kind: fleet.AlarmNodeLost, Pool: "canary-1", Node: h.node.ID}, Count: 1, RaisedAt: now(), LastAt: now()}
	over := exhausted(1, h.node.Pool, h.app.ID)
	over.ResolvedAt, over.AckedBy, over.AckedAt, over.SilencedBy, over.SilencedUntil = now(), "olga", now(), "vera", now()+60_000
	all := []fleet.Alarm{over, exhausted(2, h.node.Pool, h.app.ID), lost, exhausted(4, "default", "other")}
	e := &core.Effects{}
	for _, a := range all {
		e.Alarms = append(e.Alarms, core.AlarmWrite{Alarm: a})
	}
	h.commit(e)
	for i := range all {
		if all[i].Detail != "" {
			all[i].Detail = "0 of 14 nodes\uFFFD"
		}
		if got, err := h.db.Alarm(ctx, all[i].ID, record.Scope{}); err != nil || !reflect.DeepEqual(got, all[i]) {
			t.Fatalf("alarm %+v, %v\nwas %+v", got, err, all[i])
		}
	}
	if s := h.snapshot(); !reflect.DeepEqual(s.Alarms, all) {
		t.Fatalf("snapshot has %+v", s.Alarms)
	}
	h.urls.Exec(t, "UPDATE alarms SET silenced_until = now() - interval '1s' WHERE id = 1")
	if s := h.snapshot(); len(s.Alarms) != 3 {
		t.Fatalf("snapshot keeps %d alarms after the silence", len(s.Alarms))
	}
	stranger := h.user.ID + 100
	for _, c := range []struct {
		name   string
		filter record.AlarmFilter
		want   string
	}{
		{"all", record.AlarmFilter{}, "[4 3 2 1]"},
		{"lasting", record.AlarmFilter{Lasting: true}, "[4 3 2]"},
		{"kind", record.AlarmFilter{Kind: fleet.AlarmNodeLost}, "[3]"},
		{"pool", record.AlarmFilter{Pool: h.node.Pool, Lasting: true}, "[2]"},
		{"own", record.AlarmFilter{Scope: record.Scope{Owner: &h.user.ID}}, "[3 2 1]"},
		{"a stranger's", record.AlarmFilter{Scope: record.Scope{Owner: &stranger}}, "[]"},
		{"of pools", record.AlarmFilter{Scope: record.Scope{Pools: []string{"default", "canary-1"}}}, "[4 3]"},
		{"of none", record.AlarmFilter{Scope: record.Scope{Pools: []string{}}}, "[]"},
	} {
		if got := h.alarmIDs(c.filter); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	_, err := h.db.Alarm(ctx, 4, record.Scope{Owner: &h.user.ID})
	wantCode(t, err, fleet.CodeNotFound)
	_, err = h.db.Alarm(ctx, 5, record.Scope{})
	wantCode(t, err, fleet.CodeNotFound)
	_, err = h.db.Alarms(ctx, record.AlarmFilter{}, record.Page{After: "x"})
	wantCode(t, err, fleet.CodeBadRequest)
}

// alarmIDs reads a list page by page.
func (h *house) alarmIDs(f record.AlarmFilter) string {
	h.t.Helper()
	got := []int64{}
	for page := (record.Page{Limit: 2}); ; {
		alarms, err := h.db.Alarms(ctx, f, page)
		h.must(err)
		for i := range alarms {
			got = append(got, alarms[i].ID)
		}
		if len(alarms) < 2 {
			return fmt.Sprint(got)
		}
		page.After = strconv.FormatInt(got[len(got)-1], 10)
	}
}

// One alarm ends and the next of its fingerprint is raised within one batch,
// whatever their order in it.
func TestAlarmEndsAsTheNextIsRaised(t *testing.T) {
	h := newHouse(t)
	alarm := func(id int64) fleet.Alarm {
		return fleet.Alarm{ID: id, Fingerprint: fleet.Fingerprint{Kind: fleet.AlarmNodeLost, Node: "n"}, Count: 1, RaisedAt: now(), LastAt: now()}
	}
	first, second := alarm(1), alarm(2)
	h.commit(&core.Effects{Alarms: []core.AlarmWrite{{Alarm: first}}})
	first.ResolvedAt = now()
	h.commit(&core.Effects{Alarms: []core.AlarmWrite{{Alarm: second}, {Alarm: first}}})
	if s := h.snapshot(); len(s.Alarms) != 1 || s.Alarms[0].ID != 2 {
		t.Fatalf("alarms %+v", s.Alarms)
	}
}

// What a person had the loop do is entered under the person's name.
func TestAuditNotesBySomebody(t *testing.T) {
	h := newHouse(t)
	by := &core.Actor{Subject: "u:7", Address: "192.0.2.9", RequestID: "r-1"}
	job := storetest.JobID(time.Now())
	h.commit(&core.Effects{Audits: []core.AuditNote{
		{Action: "alarm_silenced", Alarm: 77, Detail: "known\x00", By: by},
		{Action: "hold_lifted", Node: h.node.ID, By: by},
		{Action: "result_fenced", Node: h.node.ID, Job: job},
		{Action: "alarm_gone"},
	}})
	entries, err := h.db.Audit(ctx, record.AuditFilter{}, record.Page{Limit: 4})
	h.must(err)
	person := record.Actor{Subject: "u:7", Address: "192.0.2.9", RequestID: "r-1"}
	for i, want := range []record.AuditEntry{
		{Action: "alarm_gone", Actor: record.Actor{Subject: "system"}},
		{Action: "result_fenced", Object: "job:" + job.String(), Actor: record.Actor{Subject: "node:" + h.node.ID}},
		{Action: "hold_lifted", Object: "node:" + h.node.ID, Actor: person},
		{Action: "alarm_silenced", Object: "alarm:77", Actor: person, Reason: "known\uFFFD"},
	} {
		if e := entries[i]; e.Action != want.Action || e.Object != want.Object || e.Actor != want.Actor || e.Reason != want.Reason {
			t.Errorf("entry %+v, want %+v", e, want)
		}
	}
	if _, bad, err := h.db.VerifyAudit(ctx); err != nil || bad != 0 {
		t.Fatalf("the chain breaks at %d, %v", bad, err)
	}
}

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// alarmsOf lists what was raised about the tenant's app, the newest first.
func (u *tenant) alarmsOf() []backendtest.Alarm {
	u.t.Helper()
	list, err := u.s.Admin.Alarms(u.t.Context(), backendtest.AlarmFilter{Pool: u.pool()}, backendtest.Page{})
	if err != nil {
		u.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(a backendtest.Alarm) bool { return a.App != u.app })
}

// awaitAlarm waits until the one alarm of the tenant's app is as wanted.
func (u *tenant) awaitAlarm(what string, wanted func(a *backendtest.Alarm) bool) backendtest.Alarm {
	u.t.Helper()
	var last []backendtest.Alarm
	rig.Await(u.t, patience, func() (bool, string) {
		last = u.alarmsOf()
		return len(last) == 1 && wanted(&last[0]), fmt.Sprintf("want %s, alarms are %+v", what, last)
	})
	return last[0]
}

// awaitPoolAlarm waits until the one alarm of the kind in the tenant's pool, or of a
// node there, is as wanted.
func (u *tenant) awaitPoolAlarm(kind string, wanted func(a *backendtest.Alarm) bool) backendtest.Alarm {
	u.t.Helper()
	var last []backendtest.Alarm
	rig.Await(u.t, patience, func() (bool, string) {
		list, err := u.s.Admin.Alarms(u.t.Context(), backendtest.AlarmFilter{Pool: u.pool(), Kind: kind}, backendtest.Page{})
		if err != nil {
			return false, err.Error()
		}
		last = list.Items
		return len(last) == 1 && wanted(&last[0]), fmt.Sprintf("alarms %s are %+v", kind, last)
	})
	return last[0]
}

// A pool exhausted a thousand times by one app raises one alarm that counts, and that
// ends by itself.
func TestExhaustedPoolRaisesOneAlarm(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	jobs := slices.Repeat([]backendtest.JobRequest{{App: u.app, Runner: "noop", WhenExhausted: "fail"}}, 1000)
	if _, err := u.client.SubmitJobs(t.Context(), jobs, ""); err != nil {
		t.Fatal(err)
	}
	raised := u.awaitAlarm("a count of 1000", func(a *backendtest.Alarm) bool { return a.Count == 1000 })
	if raised.Kind != "pool_exhausted" || raised.ResolvedAt != nil || raised.Role != "worker" {
		t.Errorf("raised %+v", raised)
	}
	if _, err := u.client.Candidates(t.Context(), u.app, backendtest.Preview{}); err != nil {
		t.Fatal(err)
	}
	u.node("1", rig.RawOptions{Answer: rig.Diligent})
	u.await(u.submit().ID, "succeeded")
	ended := u.awaitAlarm("its end", func(a *backendtest.Alarm) bool { return a.ResolvedAt != nil })
	if ended.ID != raised.ID || ended.Count != 1000 {
		t.Errorf("ended as %+v", ended)
	}
}

// Work that waits without a node to hope for says so at once, by name, until it runs.
func TestAlarmNamesWhatWaits(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	u.node("1", rig.RawOptions{Answer: rig.Diligent, Runners: []string{"noop"}})
	waiting := u.submit(runner("nobodys"))
	raised := u.awaitAlarm("one that waits", func(a *backendtest.Alarm) bool { return a.WaitingNow == 1 })
	if !slices.Equal(raised.Waiting, []string{waiting.ID}) {
		t.Errorf("raised %+v", raised)
	}
	u.node("2", rig.RawOptions{Answer: rig.Diligent, Runners: []string{"nobodys"}})
	u.await(waiting.ID, "succeeded")
	u.awaitAlarm("its end", func(a *backendtest.Alarm) bool { return a.ResolvedAt != nil && a.WaitingNow == 0 })
}

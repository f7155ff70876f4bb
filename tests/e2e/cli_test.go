package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// failing is an Answer: it accepts every offer and ends it badly.
func failing(n *rig.RawNode, m wire.Message) {
	if m.Type != wire.TypeStart {
		rig.Diligent(n, m)
		return
	}
	if start, err := wire.Decode[wire.Start](m); err == nil {
		_ = n.TrySend(wire.Result{Job: start.Job, Attempt: start.Attempt, Status: wire.ResultFailed, ExitCode: new(int64(7)), Detail: "it did not work"})
	}
}

func TestCLIExitCodes(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	u.node("good", rig.RawOptions{Runners: []string{"good"}, Answer: rig.Diligent})
	u.node("bad", rig.RawOptions{Runners: []string{"bad"}, Answer: failing})
	slow := u.node("slow", rig.RawOptions{Runners: []string{"slow"}})
	submit := func(runner string, more ...string) []string {
		return append([]string{"job", "submit", "--app", u.app, "--runner", runner}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string // on standard output for 0, else on standard error
	}{
		{"ok", submit("good", "--wait"), 0, "succeeded"},
		{"ok without waiting", submit("nobodys"), 0, "queued"},
		{"not placed", submit("nobodys", "--wait=500ms"), 2, "pool_exhausted"},
		{"not placed at once", submit("nobodys", "--wait", "--when-exhausted", "fail"), 2, "pool_exhausted"},
		{"job failed", submit("bad", "--wait"), 3, "it did not work"},
		{"wait timed out", submit("slow", "--wait=1s"), 4, "job wait"},
		{"no such job", []string{"job", "get", "01990000-0000-7000-8000-000000000000"}, 1, "not_found"},
		{"not allowed", []string{"user", "list"}, 1, "forbidden"},
		{"app of nobody", []string{"job", "submit", "--app", "no-such-app", "--runner", "good"}, 1, "not_found"},
		{"no job", []string{"job", "submit"}, 64, "--app"},
		{"unknown flag", []string{"job", "list", "--nonsense"}, 64, "--nonsense"},
		{"unknown command", []string{"fly"}, 64, "fly"},
		{"bad format", []string{"job", "list", "-o", "xml"}, 64, "xml"},
	} {
		ran := u.s.Run(t, u.token, c.args...)
		said := ran.Out
		if c.code != 0 {
			said = ran.Err
			if strings.Count(ran.Err, "\n") != 1 {
				t.Errorf("%s: said on more than one line: %s", c.name, ran.Err)
			}
		}
		if ran.Code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s: ended %d, want %d with %q\nout: %s\nerr: %s", c.name, ran.Code, c.code, c.says, ran.Out, ran.Err)
		}
	}
	if ran := u.s.Run(t, "rp_"+strings.Repeat("A", 43), "job", "list"); ran.Code != 1 || !strings.Contains(ran.Err, "unauthenticated") {
		t.Errorf("with a wrong token: ended %d: %s", ran.Code, ran.Err)
	}
	if slow.Seen(wire.TypeOffer) == 0 {
		t.Error("the slow node was never asked")
	}
}

func TestCLIFollowsAJob(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	ran := u.s.Run(t, u.token, "job", "submit", "--app", u.app, "--runner", "noop", "-o", "json")
	var job backendtest.Job
	if err := json.Unmarshal([]byte(ran.Out), &job); err != nil || ran.Code != 0 {
		t.Fatalf("ended %d: %s%s", ran.Code, ran.Out, ran.Err)
	}
	result := rig.Succeed(n.Take(t))
	result.Head, result.LogBytes = []byte("all is \x1b[31mwell\x1b[0m\n"), 22
	n.Report(t, result)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"job", "wait", job.ID}, "succeeded"},
		{[]string{"job", "get", job.ID}, n.Name},
		{[]string{"job", "list", "--app", u.app}, job.ID},
		{[]string{"job", "logs", job.ID}, `all is \x1b[31mwell\x1b[0m`}, // harmless for a terminal
		{[]string{"job", "explain", job.ID}, "owner's pool of user " + u.id},
		{[]string{"node", "list"}, n.Name},
		{[]string{"node", "get", n.Name}, u.pool()},
		{[]string{"pool", "get", u.pool()}, u.pool()},
		{[]string{"app", "list"}, u.app},
		{[]string{"license", "list"}, u.license.ID},
	} {
		if ran := u.s.Run(t, u.token, c.args...); ran.Code != 0 || !strings.Contains(ran.Out, c.says) {
			t.Errorf("%v: ended %d without %q\nout: %s\nerr: %s", c.args, ran.Code, c.says, ran.Out, ran.Err)
		}
	}
}

func TestCLI_LoadMeasuresLatencyBesideItsProbe(t *testing.T) {
	t.Parallel()
	var report struct {
		Jobs                 int
		Start, Result, Probe struct{ P50, P99 float64 }
		StartRatio           struct{ P50 float64 }
	}
	ran := (&rig.Server{}).Run(t, "", "load", "--latency", "--rounds", "1", "--jobs", "20", "-o", "json")
	if err := json.Unmarshal([]byte(ran.Out), &report); err != nil || ran.Code != 0 {
		t.Fatalf("exit code %d, %v: %s %s", ran.Code, err, ran.Out, ran.Err)
	}
	if p := report.Probe; p.P50 <= 0 || p.P99 < p.P50 || report.Start.P50 <= 0 || report.Result.P50 < report.Start.P50 || report.Jobs != 20 || report.StartRatio.P50 <= 0 {
		t.Errorf("report %+v", report)
	}
}

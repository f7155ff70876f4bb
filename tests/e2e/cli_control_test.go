package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// step is a command line with its exit code and what it says, on standard output for
// 0, else on standard error.
type step struct {
	args string
	code int
	says string
}

// walk runs the command lines one after the other.
func (u *tenant) walk(token string, steps ...step) {
	u.t.Helper()
	for _, c := range steps {
		ran := u.s.Run(u.t, token, strings.Fields(c.args)...)
		said := ran.Out
		if c.code != 0 {
			said = ran.Err
		}
		if ran.Code != c.code || !strings.Contains(said, c.says) {
			u.t.Errorf("%s: ended %d, want %d with %q\nout: %s\nerr: %s", c.args, ran.Code, c.code, c.says, ran.Out, ran.Err)
		}
	}
}

// fill puts the names of a test into a command line.
func fill(args string, names ...string) string { return strings.NewReplacer(names...).Replace(args) }

// A fleet is steered by the command line alone: pools, bindings, canaries, moves, holds.
func TestCLI_SteersPools(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{Answer: rig.Diligent})
	at := func(args string) string {
		return fill(args, "CANARY", u.name+"-canary", "NODE", n.Name, "APP", u.app, "POOL", u.pool())
	}
	u.walk(u.s.AdminToken,
		step{at("pool create CANARY --reason test"), 0, "named (canary)"},
		step{at("pool create CANARY"), 1, "conflict"},
		step{at("pool set CANARY --queue-wait 5s --not-ready-pct 100"), 0, "5s"},
		step{at("pool set CANARY --state draining --dry-run"), 0, "would change"},
		step{at("pool get CANARY"), 0, "active"},
		step{at("node move NODE --pool CANARY --dry-run"), 0, "without a usable node afterwards: " + u.app},
		step{at("node get NODE"), 0, u.pool()},
		step{at("node impact NODE --action cordon"), 0, u.app},
		step{at("node move NODE --pool CANARY"), 0, "applied  true"},
		step{at("alignment"), 0, u.app},
		step{at("pool promote CANARY --to POOL --jobs 1"), 1, "0 of 1 canary jobs"},
		step{at("pool promote CANARY --to POOL --jobs 1 --dry-run"), 0, "refused: 0 of 1"},
		step{at("job submit --app APP --runner noop --wait=5s --when-exhausted fail"), 2, "not placed"},
		step{at("job submit --app APP --runner noop --pool CANARY --wait"), 0, "succeeded"},
		step{at("pool promote CANARY --to POOL --jobs 1"), 0, n.Name},
		step{at("job submit --app APP --runner noop --wait"), 0, "succeeded"},
		step{at("binding set APP --pool CANARY --role edge --reason test"), 0, "edge to " + u.name + "-canary"},
		step{at("binding list --all"), 0, u.app},
		step{at("pool delete CANARY"), 1, "conflict"},
		step{at("binding delete APP --role edge"), 0, "every role"},
		step{at("pool delete CANARY"), 0, ""},
		step{at("binding set APP --pool nowhere"), 1, "unprocessable"},
		step{at("app candidates APP --runner noop"), 0, n.Name},
		step{at("app candidates APP --runner nobodys"), 0, "without the runner"},
		step{at("usage --since 1d --app APP"), 0, u.app},
		step{at("usage --since soon"), 1, "how long ago"},
		step{at("pool history POOL"), 0, "OUT OF USE"},
		step{at("audit list"), 0, "node_"},
		step{"role create " + u.name, 0, u.name},
		step{"role list", 0, u.name},
	)
	u.walk(u.token,
		step{at("app candidates APP --runner noop"), 0, "candidate"},
		step{at("job submit --app APP --runner noop --pool POOL"), 1, "pool_not_allowed"},
		step{at("node move NODE --pool default"), 1, "forbidden"},
		step{at("usage"), 0, u.app},
	)
}

func TestCLI_HoldsNodes(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	at := func(args string) string { return fill(args, "NODE", n.Name) }
	operator := newTenant(t, u.s)
	u.walk(u.s.AdminToken,
		step{"user roles " + operator.id + " --role user --grant operator=" + u.pool(), 0, "operator of " + u.pool()},
		step{"user get " + operator.id, 0, "operator of " + u.pool()},
	)
	u.walk(operator.token,
		step{at("node cordon NODE --reason fan"), 0, "cordon by operator: fan"},
		step{at("node uncordon NODE"), 0, "ready"},
		step{at("node drain NODE --dry-run"), 0, "would get no new work"},
		step{at("node drain NODE --deadline 1h --reason fan --wait"), 0, "drain by operator, deadline"},
		step{at("node uncordon NODE --kind auto"), 1, "superadmin"},
		step{at("node leave NODE"), 1, "forbidden"},
	)
	u.walk(u.s.AdminToken,
		step{at("node uncordon NODE --kind auto"), 1, "no hold of kind auto"},
		step{at("node leave NODE --reason sold"), 0, "left"},
		step{"node create " + u.name + "-made --owner " + u.id, 0, "secret"},
		step{"node get " + u.name + "-made", 0, u.pool()},
	)
}

func TestCLI_AlarmsAreSeenAndSilenced(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	u.node("1", rig.RawOptions{Answer: rig.Diligent})
	job := u.submit(runner("nobodys"))
	id := u.awaitAlarm("one that waits", func(a *backendtest.Alarm) bool { return a.WaitingNow == 1 }).ID
	u.walk(u.s.AdminToken,
		step{"alarm list --state lasting --kind pool_exhausted --pool " + u.pool(), 0, u.app},
		step{"alarm get " + id, 0, job.ID},
		step{"alarm ack " + id, 0, "acknowledged by"},
		step{"alarm silence " + id + " --for 2h --reason known", 0, "silenced until"},
		step{"alarm silence " + id + " --for 1000h", 1, "720h"},
		step{"alarm get 999999999", 1, "not_found"},
		step{"alarm list --kind nonsense", 1, "kind must be"},
	)
	u.walk(u.token, step{"alarm list", 1, "forbidden"})
}

// A drain that waits says what it waits for. It ends with the last of it, or, when
// something does not stop, soon after the deadline and by name.
func TestCase_E8_ADrainThatWaitsNamesItsBlockers(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("1", 1, w)
	job := u.submit(runner("wait"))
	w.AwaitStart(job.ID, 1)
	u.walk(u.s.AdminToken, step{"node drain " + a.Name + " --deadline 2s --wait --every 500ms", 0, a.Name + " still runs 1: job " + job.ID + " attempt 1"})
	u.await(job.ID, "queued")

	deaf := u.node("deaf", rig.RawOptions{})
	kept := u.submit()
	deaf.Take(t)
	ran := u.s.Run(t, u.s.AdminToken, "node", "drain", deaf.Name, "--deadline", "1s", "--wait")
	if want := fmt.Sprintf("%s still runs 1: job %s attempt 1", deaf.Name, kept.ID); ran.Code != 4 || !strings.Contains(ran.Err, want) {
		t.Errorf("of what does not stop: ended %d without %q\nout: %s\nerr: %s", ran.Code, want, ran.Out, ran.Err)
	}
	if lines := strings.Count(ran.Out, "still runs"); lines < 3 {
		t.Errorf("it said %d times what it waits for:\n%s", lines, ran.Out)
	}
}

// The audit of the history says so when work ran outside its pools.
func TestCLI_AuditIsolationNamesAForgedRow(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, settings...)
	u, other := newTenant(t, s), newTenant(t, s)
	u.node("1", rig.RawOptions{Answer: rig.Diligent})
	job := u.submit()
	u.await(job.ID, "succeeded")
	u.walk(s.AdminToken, step{"audit isolation --since 30d", 0, "true"}, step{"audit verify", 0, "true"})
	execute(t, s, fmt.Sprintf(`UPDATE jobs SET pool_id = '%s' WHERE id = '%s'`, other.pool(), job.ID))
	u.walk(s.AdminToken, step{"audit isolation --since 30d", 1, job.ID})
	var found backendtest.Isolation
	ran := s.Run(t, s.AdminToken, "audit", "isolation", "-o", "json")
	if err := json.Unmarshal([]byte(ran.Out), &found); err != nil || ran.Code != 1 || found.Holds || found.Crossings[0].Job != job.ID {
		t.Errorf("as JSON: %v, ended %d: %s", err, ran.Code, ran.Out)
	}
}

// Clients outside get nodes, keep them by renewing, and give them back.
func TestCLI_PlacesForClientsOutside(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{Slots: 2})
	at := func(args string) string { return fill(args, "APP", u.app, "NODE", n.Name) }
	create := []string{"placement", "create", "--app", u.app, "--role", "worker", "--key", "stream-42", "--slots", "2", "-o", "json"}
	var first, again struct{ ID string }
	for _, into := range []any{&first, &again} {
		ran := u.s.Run(t, u.token, create...)
		if err := json.Unmarshal([]byte(ran.Out), into); err != nil || ran.Code != 0 {
			t.Fatalf("ended %d: %s%s", ran.Code, ran.Out, ran.Err)
		}
	}
	if first.ID == "" || first.ID != again.ID {
		t.Errorf("the same key got %s and then %s", first.ID, again.ID)
	}
	u.walk(u.token,
		step{"placement get " + first.ID, 0, n.Name + " of " + u.pool()},
		step{at("placement list --app APP --state active"), 0, first.ID},
		step{at("placement create --app APP --role worker --key other --slots 1"), 2, "pool_exhausted"},
		step{at("placement create --app APP --role worker --slots 99"), 1, "slots"},
		step{"placement renew " + first.ID + " --ttl 1h", 0, "active"},
		step{"placement release " + first.ID, 0, "released"},
		step{"placement renew " + first.ID, 1, "conflict"},
		step{at("placement create --app APP --role worker --key other --slots 1"), 0, n.Name},
	)
}

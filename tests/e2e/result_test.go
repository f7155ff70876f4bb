package e2e

import (
	"reflect"
	"strings"
	"testing"

	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// row is a job's row as JSON, to see that nothing of it changed.
func (u *tenant) row(id string) map[string]any {
	u.t.Helper()
	return query[map[string]any](u.t, u.s, `SELECT to_json(j) FROM jobs j WHERE id = $1`, id)
}

func TestAttack_A11_AResultOfAnotherNodesJobIsNotTaken(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	worker := u.node("a-works", rig.RawOptions{})
	neighbor := u.node("b-idle", rig.RawOptions{})
	stranger := newTenant(t, u.s).node("x", rig.RawOptions{})
	job := u.submit()
	offer := worker.Take(t)
	before := u.row(job.ID)

	forged := rig.Succeed(offer)
	forged.Output = []byte(`{"forged":true}`)
	for _, thief := range []*rig.RawNode{neighbor, stranger} {
		for _, attempt := range []int64{offer.Attempt, offer.Attempt + 1} {
			forged.Attempt = attempt
			thief.Send(t, forged)
			if said := rig.Hear[wire.Error](t, thief); said.Code != wire.CodeNotYours {
				t.Errorf("%s got %+v", thief.Name, said)
			}
		}
		thief.Send(t, wire.Accept{Job: job.ID, Attempt: offer.Attempt}, wire.Progress{Job: job.ID, Attempt: offer.Attempt, Percent: 99})
		awaitAudited(t, u.s, "result_not_yours", "node:"+thief.Name, 2)
	}
	if after := u.row(job.ID); !reflect.DeepEqual(before, after) {
		t.Errorf("the job changed\nfrom %v\nto   %v", before, after)
	}
	if now := u.job(job.ID); now.State != "running" || now.Node != worker.Name || now.Percent != nil && *now.Percent == 99 {
		t.Errorf("the job is %s", inWords(now))
	}
	own := rig.Succeed(offer)
	own.Output = []byte(`{"own":true}`)
	if verdict := worker.Report(t, own); verdict != wire.VerdictStored {
		t.Errorf("the own result is %s", verdict)
	}
	if done := u.await(job.ID, "succeeded"); string(done.Output) != `{"own":true}` {
		t.Errorf("output %s", done.Output)
	}
}

func TestAttack_A12_AStaleResultIsFenced(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	zombie := u.node("a-zombie", rig.RawOptions{})
	heir := u.node("b-heir", rig.RawOptions{})
	job := u.submit()
	stale := zombie.Take(t)
	zombie.Cut() // and away until its lease is lost
	offer := heir.Take(t)
	if offer.Job != job.ID || offer.Attempt != 2 {
		t.Fatalf("the heir got %s/%d", offer.Job, offer.Attempt)
	}
	before := u.row(job.ID)

	zombie.Join(t)
	result := rig.Succeed(stale)
	result.Output = []byte(`{"of":"the first attempt"}`)
	if verdict := zombie.Report(t, result); verdict != wire.VerdictFenced {
		t.Errorf("the stale result is %s", verdict)
	}
	awaitAudited(t, u.s, "result_fenced", "node:"+zombie.Name, 1)
	if after := u.row(job.ID); !reflect.DeepEqual(before, after) {
		t.Errorf("the job changed\nfrom %v\nto   %v", before, after)
	}
	if verdict := heir.Report(t, rig.Succeed(offer)); verdict != wire.VerdictStored {
		t.Errorf("the current result is %s", verdict)
	}
	u.await(job.ID, "succeeded")

	// Ended: it stays so, whoever says what of which attempt.
	before = u.row(job.ID)
	if verdict := zombie.Report(t, result); verdict != wire.VerdictFenced {
		t.Errorf("the stale result is %s after the end", verdict)
	}
	if verdict := heir.Report(t, rig.Succeed(offer)); verdict != wire.VerdictDuplicate {
		t.Errorf("the same result again is %s", verdict)
	}
	if after := u.row(job.ID); !reflect.DeepEqual(before, after) {
		t.Errorf("the ended job changed\nfrom %v\nto   %v", before, after)
	}
	for _, node := range []string{zombie.Name, heir.Name} {
		if reserved := query[int](t, u.s, `SELECT reserved_slots FROM nodes WHERE id = $1`, node); reserved != 0 {
			t.Errorf("%s has %d slots reserved", node, reserved)
		}
	}
}

// What a node reports as its output may be anything; it must not come back for
// ever, nor make the server read the fleet anew.
func TestResult_OutputThatIsNoDocumentEndsTheAttempt(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	node := u.node("a", rig.RawOptions{})
	for _, output := range []string{"{", "{\"a\":\"\xff\"}", strings.Repeat("[", 20000) + strings.Repeat("]", 20000)} {
		job := u.submit()
		result := rig.Succeed(node.Take(t))
		result.Output = []byte(output)
		if verdict := node.Report(t, result); verdict != wire.VerdictStored {
			t.Errorf("%.20q is %s", output, verdict)
		}
		if done := u.await(job.ID, "failed"); done.Reason == nil || *done.Reason != "output_missing" || len(done.Output) != 0 {
			t.Errorf("%.20q: %s", output, inWords(done))
		}
	}
}

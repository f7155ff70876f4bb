package record_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

func anyQuantities(t *rapid.T, label string) []fleet.Quantity {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fleet.Quantity {
		return fleet.Quantity{Name: rapid.String().Draw(t, "name"), Amount: rapid.Int64Min(1).Draw(t, "amount")}
	}), 0, 3).Draw(t, label)
}

func anyLabels(t *rapid.T, label string) []fleet.Label {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fleet.Label {
		return fleet.Label{Name: rapid.String().Draw(t, "name"), Value: rapid.String().Draw(t, "value")}
	}), 0, 3).Draw(t, label)
}

func anyInputs(t *rapid.T) []fleet.Input {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fleet.Input {
		return fleet.Input{Name: rapid.String().Draw(t, "name"), Digest: "sha256:ab", Size: rapid.Int64Min(0).Draw(t, "size")}
	}), 0, 2).Draw(t, "inputs")
}

// The written-out encoder says what encoding/json says, whatever the texts are.
func TestAppendSpecIsTheSpecsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := fleet.JobSpec{
			Role: rapid.String().Draw(t, "role"), Runner: rapid.StringN(0, 9, -1).Draw(t, "runner"),
			Params: anyLabels(t, "params"), Labels: anyLabels(t, "labels"), Inputs: anyInputs(t),
			Demands: fleet.Vector{
				Slots:     rapid.Int64().Draw(t, "slots"),
				Resources: anyQuantities(t, "resources"), Memory: anyQuantities(t, "memory"),
			},
			Backend: rapid.String().Draw(t, "backend"), Region: rapid.String().Draw(t, "region"),
			Priority: rapid.Int32().Draw(t, "priority"), MaxAttempts: rapid.Int32().Draw(t, "attempts"),
			OnNodeLost: fleet.OnLostRequeue, WhenExhausted: fleet.WhenExhaustedFail,
			Pool:         rapid.SampledFrom([]string{"", "canary-1"}).Draw(t, "pool"),
			RunTimeoutMs: rapid.Int64().Draw(t, "timeout"), QueueTimeoutMs: rapid.Int64().Draw(t, "queue timeout"),
			NotBeforeMs: rapid.Int64().Draw(t, "not before"), RetryBackoffMs: rapid.Int64Range(-1, 1).Draw(t, "backoff"),
			AvoidFailedNode: rapid.Bool().Draw(t, "avoid"), RetryOf: ids.JobID{rapid.Byte().Draw(t, "retry of")},
		}
		want, err := json.Marshal(&spec)
		if err != nil {
			t.Fatal(err)
		}
		got := record.AppendSpec(nil, &spec)
		if !reflect.DeepEqual(document(t, got), document(t, want)) {
			t.Fatalf("AppendSpec\n got %s\nwant %s", got, want)
		}
	})
}

func document(t *rapid.T, data []byte) (doc any) {
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return doc
}

func anyTally(t *rapid.T) fleet.Tally {
	tally := fleet.Tally{Pool: rapid.StringMatching(`[a-z][a-z0-9-]*`).Draw(t, "pool"), Nodes: rapid.Int32().Draw(t, "nodes")}
	for r := range tally.Rejected {
		tally.Rejected[r] = rapid.Int32Range(0, 3).Draw(t, "rejected")
	}
	if tally.Rejected[fleet.NoResource] > 0 {
		tally.Resource = rapid.String().Draw(t, "resource")
	}
	if tally.Rejected[fleet.NoMemory] > 0 {
		tally.Domain = "gpu0"
	}
	return tally
}

func TestDecisionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := fleet.Decision{
			Outcome: fleet.OutcomePlaced, Rule: fleet.RuleOwnerPool, Epoch: rapid.Int64().Draw(t, "epoch"),
			Pools:    rapid.SliceOfN(rapid.Custom(anyTally), 1, 3).Draw(t, "pools"),
			Fallback: rapid.Bool().Draw(t, "fallback"), FallbackOK: rapid.Bool().Draw(t, "fallbackAllowed"),
		}
		if rapid.Bool().Draw(t, "placed") {
			d.Node, d.RemainingSlots, d.TieBreak = "ams-edge-03", rapid.Int64().Draw(t, "remaining"), true
		}
		at := time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "at"))
		got, err := record.DecodeDecision(record.AppendDecision(nil, &d, at))
		if err != nil {
			t.Fatal(err)
		}
		if !got.At.Equal(at) || !reflect.DeepEqual(got.Decision, d) {
			t.Fatalf("\n got %+v at %s\nwant %+v at %s", got.Decision, got.At, d, at)
		}
	})
}

// What is kept stays readable: the keys are the API's, and decisions of before were
// written out in full.
func TestDecisionKeys(t *testing.T) {
	d := fleet.Decision{
		Outcome: fleet.OutcomePlaced, Rule: fleet.RuleOwnerPool, Node: "ams-edge-03", RemainingSlots: 11, Epoch: 42,
		Pools: []fleet.Tally{{Pool: "pool-7", Nodes: 14, Candidates: 2}, {Pool: "default"}},
	}
	d.Pools[0].Rejected[fleet.Draining], d.Pools[0].Rejected[fleet.NoMemory] = 9, 3
	d.Pools[0].Domain = "gpu0"
	const (
		want = `{"outcome":"placed","at":1795964645123000,"rule":"owner_pool",` +
			`"pools":[{"pool":"pool-7","nodes":14,"candidates":2,"rejected":{"draining":9,"memory:gpu0":3}},{"pool":"default","nodes":0,"candidates":0}],` +
			`"node":"ams-edge-03","remainingSlots":11,"epoch":42}`
		before = `{"outcome":"placed","at":"2026-11-29T15:04:05.123Z","rule":"owner_pool",` +
			`"pools":[{"pool":"pool-7","nodes":14,"candidates":2,"rejected":{"draining":9,"memory:gpu0":3}},{"pool":"default","nodes":0,"candidates":0,"rejected":{}}],` +
			`"node":"ams-edge-03","remainingSlots":11,"tieBreak":false,"fallback":false,"fallbackAllowed":false,"epoch":42}`
	)
	at := time.Date(2026, 11, 29, 15, 4, 5, 123e6, time.UTC)
	if got := record.AppendDecision(nil, &d, at); string(got) != want {
		t.Fatalf("\n got %s\nwant %s", got, want)
	}
	got, err := record.DecodeDecision([]byte(before))
	if err != nil || !got.At.Equal(at) || !reflect.DeepEqual(got.Decision, d) {
		t.Fatalf("%v\n got %+v at %s\nwant %+v at %s", err, got.Decision, got.At, d, at)
	}
}

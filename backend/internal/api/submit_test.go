package api

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func specFrom(t testing.TB, body string) (*fleet.JobSpec, error) {
	t.Helper()
	var in rest.JobRequest
	if err := decode([]byte(body), &in); err != nil {
		return nil, err
	}
	return specOf(&in)
}

func TestSpecOf_FillsInTheDefaults(t *testing.T) {
	got, err := specFrom(t, `{"app":"cam-7","runner":"checksum"}`)
	want := &fleet.JobSpec{
		App: "cam-7", Role: "worker", Runner: "checksum", Demands: fleet.Vector{Slots: 1}, Priority: 50, MaxAttempts: 3,
		OnNodeLost: fleet.OnLostRequeue, WhenExhausted: fleet.WhenExhaustedWait,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	nulls, err := specFrom(t, `{"app":"cam-7","runner":"checksum","role":null,"params":null,"inputs":null,"demands":null,"backend":null,
		"region":null,"priority":null,"maxAttempts":null,"onNodeLost":null,"whenExhausted":null,"runTimeout":null,"labels":null,
		"queueTimeout":null,"notBefore":null}`)
	if err != nil || !reflect.DeepEqual(nulls, want) {
		t.Errorf("with nulls: %+v, %v", nulls, err)
	}
}

func TestSpecOf_TakesTheExample(t *testing.T) {
	got, err := specFrom(t, strings.Replace(exampleJob, `"inputs": {}`,
		`"inputs": {"reference": "sha256:`+strings.Repeat("1e", 32)+`", "distorted": "sha256:`+strings.Repeat("0a", 32)+`"}`, 1))
	want := &fleet.JobSpec{
		App: "app-7", Role: "worker", Runner: "vmaf", Params: []fleet.Label{{Name: "threads", Value: "1"}},
		Inputs: []fleet.Input{
			{Name: "distorted", Digest: "sha256:" + strings.Repeat("0a", 32)}, {Name: "reference", Digest: "sha256:" + strings.Repeat("1e", 32)},
		},
		Demands: fleet.Vector{Slots: 1, Memory: []fleet.Quantity{{Name: "host", Amount: 512}}}, Backend: "cpu", Priority: 50, MaxAttempts: 3,
		OnNodeLost: fleet.OnLostRequeue, WhenExhausted: fleet.WhenExhaustedWait, RunTimeoutMs: 600_000,
		Labels: []fleet.Label{{Name: "build", Value: "812"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("\n%+v\n%+v\n%v", got, want, err)
	}
}

func TestSpecOf_RefusesWhatIsOutOfBounds(t *testing.T) {
	many := func(n int, item string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = strings.ReplaceAll(item, "#", fmt.Sprint(i))
		}
		return strings.Join(list, ",")
	}
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, c := range []struct {
		name, rest string
		code       fleet.Code
		want       string
	}{
		{"Attack_A18_NoDemand", `"demands":{"slots":0}`, fleet.CodeBadRequest, "must reserve something"},
		{"Attack_A18_NegativeSlots", `"demands":{"slots":-1}`, fleet.CodeBadRequest, "demands.slots must be 0 to 64"},
		{"too many slots", `"demands":{"slots":65}`, fleet.CodeBadRequest, "demands.slots"},
		{"Attack_A18_Overflow", `"demands":{"slots":9223372036854775807,"memoryMib":9223372036854775807}`, fleet.CodeBadRequest, "demands.slots"},
		{"negative memory", `"demands":{"memoryMib":-1}`, fleet.CodeBadRequest, "demands.memoryMib"},
		{"too much memory", `"demands":{"memoryMib":1073741825}`, fleet.CodeBadRequest, "demands.memoryMib"},
		{"priority below", `"priority":-1`, fleet.CodeBadRequest, "priority must be 0 to 100"},
		{"priority above", `"priority":101`, fleet.CodeBadRequest, "priority"},
		{"no attempt", `"maxAttempts":0`, fleet.CodeBadRequest, "maxAttempts must be 1 to 100"},
		{"too many attempts", `"maxAttempts":101`, fleet.CodeBadRequest, "maxAttempts"},
		{"backend auto", `"backend":"auto"`, fleet.CodeUnprocessable, `backend "auto"`},
		{"backend empty", `"backend":""`, fleet.CodeUnprocessable, "backend"},
		{"backend unknown", `"backend":"abacus"`, fleet.CodeUnprocessable, "abacus"},
		{"role", `"role":"Worker"`, fleet.CodeBadRequest, "role:"},
		{"region", `"region":"eu west"`, fleet.CodeBadRequest, "region:"},
		{"onNodeLost", `"onNodeLost":"keep"`, fleet.CodeBadRequest, "onNodeLost must be requeue, fail or hold"},
		{"whenExhausted", `"whenExhausted":"fallback"`, fleet.CodeBadRequest, "whenExhausted must be wait or fail"},
		{"runTimeout zero", `"runTimeout":"0s"`, fleet.CodeBadRequest, "runTimeout"},
		{"runTimeout negative", `"runTimeout":"-1m"`, fleet.CodeBadRequest, "runTimeout"},
		{"runTimeout too long", `"runTimeout":"721h"`, fleet.CodeBadRequest, "runTimeout must be 1ms to 720h"},
		{"queueTimeout zero", `"queueTimeout":"0s"`, fleet.CodeBadRequest, "queueTimeout must be 1ms to 720h"},
		{"notBefore", `"notBefore":"tomorrow"`, fleet.CodeBadRequest, "RFC 3339"},
		{"retryBackoff", `"retryBackoff":"6m"`, fleet.CodeBadRequest, "retryBackoff must be 0s to 5m"},
		{"param name", `"params":{"a b":1}`, fleet.CodeBadRequest, "params: the name"},
		{"param without a name", `"params":{"":1}`, fleet.CodeBadRequest, "params: the name"},
		{"too many params", `"params":{` + many(65, `"p#":1`) + `}`, fleet.CodeBadRequest, "params has 65"},
		{"input that climbs", `"inputs":{"../x":"` + digest + `"}`, fleet.CodeBadRequest, "inputs: the name"},
		{"input called ..", `"inputs":{"..":"` + digest + `"}`, fleet.CodeBadRequest, "inputs: the name"},
		{"input's digest", `"inputs":{"f":"sha256:abc"}`, fleet.CodeBadRequest, "inputs.f must be sha256:"},
		{"too many inputs", `"inputs":{` + many(65, `"f#":"`+digest+`"`) + `}`, fleet.CodeBadRequest, "inputs has 65"},
		{"label twice", `"labels":[["a","1"],["a","2"]]`, fleet.CodeBadRequest, "labels: a stands there twice"},
		{"label's value", `"labels":[["a","\u001b[31m"]]`, fleet.CodeBadRequest, "control character U+001B"},
		{"a label's value that turns", `"labels":[["a","x\u202egnp.exe"]]`, fleet.CodeBadRequest, "control character U+202E"},
		{"too many labels", `"labels":[` + many(33, `["l#","v"]`) + `]`, fleet.CodeBadRequest, "labels has 33"},
		{"too much of it all", `"params":{"k":"` + strings.Repeat("x", 64<<10) + `"}`, fleet.CodeBadRequest, "at most 65536"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := specFrom(t, `{"app":"cam-7","runner":"checksum",`+c.rest+`}`)
			if access.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want %s with %q", err, c.code, c.want)
			}
		})
	}
}

func TestSpecOf_NeedsAppAndRunner(t *testing.T) {
	for body, want := range map[string]string{
		`{"runner":"checksum"}`:                      "app is missing",
		`{"app":"cam-7"}`:                            "runner is missing",
		`{"app":"cam-7","runner":"../sh"}`:           "runner:",
		`{"app":"all","runner":"checksum"}`:          "reserved",
		`{"app":"cam-7","runner":"checksum; rm -r"}`: "runner:",
	} {
		if _, err := specFrom(t, body); !strings.Contains(detailOf(err), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Whatever is taken is within the bounds that the rest of the system relies on.
func TestSpecOf_WhatIsTakenIsWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots, memory := rapid.Int64().Draw(t, "slots"), rapid.Int64().Draw(t, "memory")
		if rapid.Bool().Draw(t, "small") {
			slots, memory = slots%70, memory%1000
		}
		priority, attempts := rapid.Int32Range(-5, 105).Draw(t, "priority"), rapid.Int32Range(-5, 105).Draw(t, "attempts")
		in := rest.JobRequest{
			App: "a", Runner: "r", Demands: &rest.Demands{Slots: &slots, MemoryMib: &memory}, Priority: &priority, MaxAttempts: &attempts,
			Params: rapid.MapOfN(rapid.StringN(0, 4, -1), rapid.Map(rapid.String(), func(s string) rest.Scalar { return rest.Scalar(s) }), 0, 4).Draw(t, "params"),
		}
		spec, err := specOf(&in)
		if err != nil {
			if code := access.CodeOf(err); code != fleet.CodeBadRequest && code != fleet.CodeUnprocessable {
				t.Fatalf("error %v", err)
			}
			return
		}
		d := spec.Demands
		if d.Slots < 0 || d.Slots > fleet.MaxSlots || d.Slots == 0 && len(d.Memory) == 0 || len(d.Resources) != 0 {
			t.Fatalf("demands %+v", d)
		}
		for _, m := range d.Memory {
			if m.Amount <= 0 || m.Amount > maxMemoryMiB {
				t.Fatalf("demands %+v", d)
			}
		}
		for i := 1; i < len(spec.Params); i++ {
			if spec.Params[i-1].Name >= spec.Params[i].Name {
				t.Fatalf("params are not sorted: %+v", spec.Params)
			}
		}
	})
}

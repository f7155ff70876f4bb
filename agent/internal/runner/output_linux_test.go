package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rockpool/shared/wire"
)

// sh is a runner that leaves a file and may leave a second one.
func sh(script string) Spec {
	return Spec{
		Name: "tool", Argv: []string{"sh", "-c", script}, Env: []string{"PATH"},
		Outputs: []string{"log.json"}, Success: Success{Outputs: []string{"clip"}},
	}
}

func TestOutputs_AreHandedOverBeforeTheResult(t *testing.T) {
	r := newRig(t, sh(`echo x > clip; echo '{}' > log.json; echo extra > undeclared`), nil)
	got := r.run(wire.Payload{})
	if got.Status != wire.ResultSucceeded || len(got.Outputs) != 2 {
		t.Errorf("%s %s %+v", got.Status, got.Detail, got.Outputs)
	}
	if kept := fmt.Sprint(r.sink.kept); kept != "map[clip:x\n log.json:{}\n]" {
		t.Errorf("handed over: %s", kept)
	}
}

// answer is an error with a status, as HTTP has it.
type answer int

func (a answer) Error() string   { return fmt.Sprintf("the server answered %d", int(a)) }
func (a answer) Final() bool     { return a < 500 }
func (a answer) StatusCode() int { return int(a) }

func TestOutputs_AServerThatIsAwayIsWaitedFor(t *testing.T) {
	r := newRig(t, sh(`echo x > clip`), nil)
	r.sink.fails, r.sink.part = []error{errors.New("connection refused"), answer(409)}, 1
	if got := r.run(wire.Payload{}); got.Status != wire.ResultSucceeded || r.sink.tries != 3 || r.sink.kept["clip"] != "x\n" {
		t.Errorf("%s %s after %d tries", got.Status, got.Detail, r.sink.tries)
	}
	if froms := fmt.Sprint(r.sink.froms); froms != "[0 1 1]" {
		t.Errorf("the tries begin at %s", froms)
	}
}

func TestOutputs_OneThatCannotBeHandedOverFailsTheAttempt(t *testing.T) {
	for err, cause := range map[answer]string{403: causeOutputFailed, 404: causeOutputFailed, 422: causeOutputFailed, 413: causeOutputTooLarge} {
		r := newRig(t, sh(`echo x > clip; echo '{}' > log.json`), nil)
		r.sink.fails = []error{err}
		got := r.run(wire.Payload{})
		if got.Status != wire.ResultFailed || got.Reason != cause || !strings.Contains(got.Detail, "clip") || len(got.Outputs) != 0 || r.sink.tries != 1 {
			t.Errorf("%d: %s %s %q, outputs %v", err, got.Status, got.Reason, got.Detail, got.Outputs)
		}
	}
}

func TestOutputs_AServerThatStaysAwayIsNotWaitedForForEver(t *testing.T) {
	r := newRig(t, sh(`echo x > clip`), nil)
	r.uploadTime = 100 * time.Millisecond
	for range 1000 {
		r.sink.fails = append(r.sink.fails, answer(503))
	}
	if got := r.run(wire.Payload{}); got.Reason != causeOutputFailed || !strings.Contains(got.Detail, "503") || len(got.Outputs) != 0 || r.sink.tries == 0 {
		t.Errorf("%s %q after %d tries", got.Reason, got.Detail, r.sink.tries)
	}
}

func TestOutputs_OfARunThatFailedAreNotHandedOver(t *testing.T) {
	r := newRig(t, sh(`echo half > clip; exit 1`), nil)
	if got := r.run(wire.Payload{}); got.Status != wire.ResultFailed || len(got.Outputs) != 0 || r.sink.tries != 0 {
		t.Errorf("%s, outputs %v, %d tries", got.Status, got.Outputs, r.sink.tries)
	}
}

func TestOutputs_ACancelEndsTheWait(t *testing.T) {
	r := newRig(t, sh(`echo x > clip`), nil)
	tried := make(chan struct{})
	for range 1000 {
		r.sink.fails = append(r.sink.fails, answer(503))
	}
	r.sink.onTry = func() {
		select {
		case tried <- struct{}{}:
		default:
		}
	}
	ref := r.start(wire.Payload{})
	<-tried
	r.Stop(ref, 0)
	if d := r.wait(); !d.Stopped || d.Result.Status != wire.ResultCanceled || len(d.Result.Outputs) != 0 {
		t.Errorf("ended %+v", d)
	}
}

func TestPattern_MakesADocumentOfTheLog(t *testing.T) {
	const pattern = `frame=\s*(?P<frames>\d+)[\s\S]*?SSIM .*All:(?P<ssim>\S+)(?: \((?P<db>\S+)\))?`
	for name, tc := range map[string]struct {
		script, output, cause, detail string
	}{
		"stderr":        {`echo 'frame= 48' >&2; echo 'SSIM Y:0.9 All:0.980220' >&2`, `{"frames":48,"ssim":0.98022}`, "", ""},
		"the last":      {`echo 'frame=1'; echo 'SSIM All:1'; echo 'frame=2'; echo 'SSIM All:0.5 (3.01)'`, `{"db":3.01,"frames":2,"ssim":0.5}`, "", ""},
		"after a flood": {`head -c 200000 /dev/zero | tr '\0' x; echo; echo 'frame=2'; echo 'SSIM All:.5'`, `{"frames":2,"ssim":0.5}`, "", ""},
		"none":          {`echo nothing`, "", causeOutputMissing, "result.pattern"},
		"not a number":  {`echo frame=1; echo 'SSIM All:nan'`, "", causeNonFinite, "ssim is nan"},
		"infinite":      {`echo frame=1; echo 'SSIM All:1.0 (inf)'`, "", causeNonFinite, "db is inf"},
		"glibc's NaN":   {`echo frame=1; echo 'SSIM All:-nan'`, "", causeNonFinite, "ssim is -nan"},
		"digits apart":  {`echo frame=1; echo 'SSIM All:1_0'`, "", causeOutputMissing, "no number"},
		"a word":        {`echo frame=1; echo 'SSIM All:good'`, "", causeOutputMissing, "ssim is"},
		"failed":        {`echo frame=1; echo 'SSIM All:1.0'; exit 2`, "", causeExitCode, "exit code 2"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := sh(tc.script)
			spec.Outputs, spec.Success, spec.Result = nil, Success{}, Result{Pattern: pattern}
			got := newRig(t, spec, nil).run(wire.Payload{})
			if string(got.Output) != tc.output || got.Reason != tc.cause || !strings.Contains(got.Detail, tc.detail) {
				t.Errorf("%s %q %s", got.Reason, got.Detail, got.Output)
			}
		})
	}
}

func TestSuccess_IsNoneOverALogThatSaysOtherwise(t *testing.T) {
	const flood = `head -c 100000 /dev/zero | tr '\0' x; echo; `
	for name, script := range map[string]string{
		"at the end":          `printf '[mkv] [error] file ended early'`,
		"before more":         `echo '[mkv] [error] file ended early' >&2; echo '[info] frame=3'; echo '[fatal] later'`,
		"in what is not kept": flood + `echo '[mkv] [error] file ended early'; ` + flood,
	} {
		t.Run(name, func(t *testing.T) {
			spec := sh(`echo x > clip; ` + script)
			spec.Success.Without = `\[(error|fatal)\]`
			r := newRig(t, spec, nil)
			got := r.run(wire.Payload{})
			if got.Status != wire.ResultFailed || got.Reason != causeOutputMissing || got.Detail != "the log says: [mkv] [error] file ended early" || r.sink.tries != 0 {
				t.Errorf("%s %s %q", got.Status, got.Reason, got.Detail)
			}
		})
	}
}

func TestPattern_IsCheckedAtTheStart(t *testing.T) {
	for want, result := range map[string]Result{
		"not both":        {File: "a.json", Format: "json", Pattern: "(?P<a>.)"},
		"name the groups": {Pattern: "(.)"},
		"missing closing": {Pattern: "(?P<a>."},
		"write {":         {Format: "json", Pattern: "(?P<a>.)"},
	} {
		spec := sh("true")
		spec.Result = result
		if _, err := NewBook([]Spec{spec}, Builtins{}, "cpu", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", result, err, want)
		}
	}
}

func TestJSON_OfAnyLengthIsChecked(t *testing.T) {
	const frames = `printf '{"frames":['; i=0; while [ $i -lt 9000 ]; do printf '{"vif_scale0":0.81,"vmaf":93.9},'; i=$((i+1)); done; `
	spec := sh(frames + `printf '{"vif_scale0":-inf}]}'`)
	spec.Outputs, spec.Success = []string{"log.json"}, Success{Outputs: []string{"log.json"}}
	spec.Argv[2] = "( " + spec.Argv[2] + " ) > log.json"
	if got := newRig(t, spec, nil).run(wire.Payload{}); got.Reason != causeNonFinite || !strings.Contains(got.Detail, "vif_scale0 is -inf") {
		t.Errorf("%s %s %q", got.Status, got.Reason, got.Detail)
	}
}

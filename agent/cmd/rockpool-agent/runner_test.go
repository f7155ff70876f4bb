package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const runners = `builtins = ["checksum"]
[[runner]]
name = "copy"
argv = ["/bin/cp", "{{in.clip}}", "{{out.copy.txt}}"]
selftest = ["/bin/true"]
inputs = ["clip"]
outputs = ["copy.txt"]
success = { outputs = ["copy.txt"] }
[[runner]]
name = "say"
argv = ["/bin/echo", "{{param.word}}"]
params = { word = { type = "enum", values = ["moo"] } }
[[runner]]
name = "fails"
argv = ["/bin/false"]
[[runner]]
name = "ill"
argv = ["/bin/true"]
selftest = ["/bin/false"]
`

func TestRunnerTest_RunsAsAJobWould(t *testing.T) {
	healthy := strings.Split(runners, "[[runner]]\nname = \"ill\"")[0]
	clip := write(t, "clip", "frames\n", 0o644)
	for name, tc := range map[string]struct {
		config string
		args   []string
		code   int
		want   string
	}{
		"built-in":        {healthy, []string{"checksum", "--input", "file=" + clip}, exitOK, `"bytes":7`},
		"output":          {healthy, []string{"copy", "--input", "clip=" + clip}, exitOK, "copy.txt sha256:"},
		"log":             {healthy, []string{"say", "--param", "word=moo"}, exitOK, "\nmoo\n"},
		"bad parameter":   {healthy, []string{"say", "--param", "word=rm"}, exitError, "bad_params"},
		"missing input":   {healthy, []string{"copy"}, exitError, "clip is missing"},
		"input not there": {healthy, []string{"copy", "--input", "clip=/nowhere"}, exitError, "/nowhere"},
		"failing tool":    {healthy, []string{"fails"}, exitError, "failed"},
		"unknown runner":  {healthy, []string{"vmaf"}, exitError, "no runner"},
		"self-test":       {runners, []string{"say", "--param", "word=moo"}, exitError, "selftest"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			args := append([]string{"runner", "test", "--config", write(t, "agent.toml", tc.config, 0o600)}, tc.args...)
			code := run(args, nil, strings.NewReader(""), &out, &errs)
			if code != tc.code || !strings.Contains(out.String()+errs.String(), tc.want) {
				t.Errorf("code %d, printed %q and %q; want %d and %q", code, out.String(), errs.String(), tc.code, tc.want)
			}
		})
	}
}

func TestRunnerTest_KeepsOutputs(t *testing.T) {
	healthy := strings.Split(runners, "[[runner]]\nname = \"ill\"")[0]
	var out, errs bytes.Buffer
	keep := t.TempDir()
	code := run([]string{"runner", "test", "copy", "--config", write(t, "agent.toml", healthy, 0o600), "--input", "clip=" + write(t, "clip", "frames\n", 0o644), "--keep", keep, "-o", "json"},
		nil, strings.NewReader(""), &out, &errs)
	var got printed
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || code != exitOK || got.Status != "succeeded" || len(got.Outputs) != 1 {
		t.Fatalf("code %d, %v, printed %s %s", code, err, out.String(), errs.String())
	}
	if content, err := os.ReadFile(filepath.Join(keep, "copy.txt")); err != nil || string(content) != "frames\n" {
		t.Errorf("kept %q, %v", content, err)
	}
}

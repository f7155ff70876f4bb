package runner

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

func TestChecksum_DigestsItsInput(t *testing.T) {
	content := []byte("a real file\n")
	r := newRig(t, tool("args"), artifacts{digestOf(content): content})
	ref, offer := r.offer(wire.Payload{Inputs: []wire.Input{{Name: "file", Digest: digestOf(content), Size: int64(len(content))}}})
	offer.Runner = "checksum"
	r.Start(ref, offer)
	got := r.wait().Result
	want := fmt.Sprintf(`{"sha256":"%s","bytes":%d}`, strings.TrimPrefix(digestOf(content), "sha256:"), len(content))
	if got.Status != wire.ResultSucceeded || string(got.Output) != want {
		t.Errorf("%s %s %s, want %s", got.Status, got.Detail, got.Output, want)
	}
	r.nothingLeft()
}

func TestInput_ThatDoesNotMatchFailsTheAttempt(t *testing.T) {
	content := []byte("content")
	other := digestOf([]byte("other"))
	source := artifacts{digestOf(content): content, other: content}
	for name, in := range map[string]wire.Input{
		"another digest": {Name: "file", Digest: other, Size: 7},
		"shorter":        {Name: "file", Digest: digestOf(content), Size: 8},
		"longer":         {Name: "file", Digest: digestOf(content), Size: 6},
		"not there":      {Name: "file", Digest: digestOf([]byte("x")), Size: 1},
		"over the limit": {Name: "file", Digest: digestOf(content), Size: 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tool("args"), source)
			ref, offer := r.offer(wire.Payload{Inputs: []wire.Input{in}})
			offer.Runner = "checksum"
			r.Start(ref, offer)
			if got := r.wait().Result; got.Status != wire.ResultFailed || got.Reason != causeInputFailed {
				t.Errorf("%s %s: %s", got.Status, got.Reason, got.Detail)
			}
		})
	}
}

func TestArgv_IsFilledAndNeverAShell(t *testing.T) {
	content := []byte("x")
	spec := tool("args", "-i", "{{in.clip}}", "crf={{param.crf}}", "{{param.title}}", "{{backend}}", "{{out.clip.mp4}}", "$(id)")
	spec.Inputs, spec.Outputs = []string{"clip"}, []string{"clip.mp4"}
	low, high := 0.0, 51.0
	dflt := "23"
	spec.Params = map[string]Param{
		"crf":   {Type: "int", Min: &low, Max: &high, Default: &dflt},
		"title": {Type: "string"},
	}
	r := newRig(t, spec, artifacts{digestOf(content): content})
	got := r.run(wire.Payload{
		Params: []wire.Pair{{Name: "title", Value: `"; rm -rf / {{backend}} $HOME`}},
		Inputs: []wire.Input{{Name: "clip", Digest: digestOf(content), Size: 1}},
	})
	dir := filepath.Join(r.dir, "jobs", "00000000-0000-0000-0000-000000000001-1")
	want := fmt.Sprintf("%q\n", []string{
		"-i", dir + "/in/clip", "crf=23", `"; rm -rf / {{backend}} $HOME`, "cpu", dir + "/work/clip.mp4", "$(id)",
	})
	if got.Status != wire.ResultSucceeded || string(got.Head) != want {
		t.Errorf("%s %s: argv was %s, want %s", got.Status, got.Detail, got.Head, want)
	}
}

func TestEnvironment_IsEmptyButForTheAllowed(t *testing.T) {
	spec := tool("env")
	spec.Env = []string{"SEEN", "NOT_SET"}
	r := newRig(t, spec, nil)
	got := r.run(wire.Payload{})
	folder := filepath.Join(r.dir, "jobs", "00000000-0000-0000-0000-000000000001-1")
	want := "TMPDIR=" + filepath.Join(folder, "tmp") + "\nSEEN=yes\nROCKPOOL_JOB=00000000-0000-0000-0000-000000000001\nROCKPOOL_ATTEMPT=1\n" +
		"ROCKPOOL_DIR=" + filepath.Join(folder, "work") + "\n"
	if string(got.Head) != want {
		t.Errorf("the job saw\n%swant\n%s", got.Head, want)
	}
}

func TestCase_E1_CancelReachesEveryProcess(t *testing.T) {
	pids := t.TempDir()
	r := newRig(t, tool("family", pids), nil)
	ref := r.start(wire.Payload{})
	family := running(t, pids, 3)
	for range 100 {
		r.Stop(ref, 200*time.Millisecond)
	}
	end := r.wait()
	if !end.Stopped || end.Result.Status != wire.ResultCanceled {
		t.Errorf("ended %+v", end)
	}
	mustBeDead(t, family)
}

func TestEnd_LeavesNoSurvivorsOfAProgramThatEndedWell(t *testing.T) {
	pids := t.TempDir()
	r := newRig(t, tool("orphan", pids), nil)
	got := r.run(wire.Payload{})
	if got.Status != wire.ResultSucceeded {
		t.Errorf("%s %s", got.Status, got.Detail)
	}
	mustBeDead(t, running(t, pids, 2))
}

func TestTimeout_EndsTheRun(t *testing.T) {
	pids := t.TempDir()
	for name, tc := range map[string]struct {
		runner settings.Duration
		job    int64
	}{"of the runner": {settings.Duration(300 * time.Millisecond), 0}, "of the job": {minutes(1), 300}} {
		t.Run(name, func(t *testing.T) {
			spec := tool("sleep", pids)
			spec.Timeout = tc.runner
			r := newRig(t, spec, nil)
			ref, offer := r.offer(wire.Payload{})
			offer.Limits.RunMs = tc.job
			r.Start(ref, offer)
			got := r.wait().Result
			if got.Status != wire.ResultTimedOut || got.Reason != causeRunTimeout || got.RunMs < 300 {
				t.Errorf("%s %s after %d ms", got.Status, got.Reason, got.RunMs)
			}
		})
	}
}

func TestLog_FloodIsBoundedAndBothEndsAreKept(t *testing.T) {
	const flood = 2 << 20
	spec := tool("flood")
	spec.LogLimit = flood / 2
	r := newRig(t, spec, nil)
	ref := r.start(wire.Payload{})
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(patience); ; <-poll.C {
		if at, _, _ := r.Log(ref, flood, 1); at > flood { // the oldest byte that is kept
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not print so much")
		}
	}
	r.Stop(ref, 0)
	got := r.wait().Result
	if got.LogBytes < flood || len(got.Head)+len(got.Tail) > wire.MaxResult || len(got.Head) != logEnd || len(got.Tail) != logEnd {
		t.Errorf("log of %d bytes, head %d, tail %d", got.LogBytes, len(got.Head), len(got.Tail))
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

func TestDisk_FloodIsStopped(t *testing.T) {
	spec := tool("fill", "{{out.huge}}")
	spec.Outputs, spec.DiskLimit, spec.LogLimit = []string{"huge"}, 4<<20, 1<<10
	got := newRig(t, spec, nil).run(wire.Payload{})
	if got.Status != wire.ResultFailed || got.Reason != causeOutputTooLarge {
		t.Errorf("%s %s: %s", got.Status, got.Reason, got.Detail)
	}
}

func TestResult_JudgesExitAndFiles(t *testing.T) {
	shell := func(script string) Spec {
		return Spec{
			Name: "tool", Argv: []string{"sh", "-c", script}, Result: Result{File: "out.json", Format: "json"},
			Success: Success{Exit: []int{0, 3}, Outputs: []string{"clip"}}, Outputs: []string{"extra"},
		}
	}
	for name, tc := range map[string]struct {
		script string
		status wire.ResultStatus
		cause  string
		detail string
	}{
		"well":            {`echo '{"vmaf":92.5}' > out.json; echo x > clip; exit 3`, wire.ResultSucceeded, "", ""},
		"exit code":       {`exit 4`, wire.ResultFailed, causeExitCode, "exit code 4"},
		"said why":        {`echo no model; echo bye >&2; exit 1`, wire.ResultFailed, causeExitCode, "exit code 1: no model; bye"},
		"two documents":   {`echo x > clip; echo '{}{}' > out.json`, wire.ResultFailed, causeOutputMissing, "more than one"},
		"empty result":    {`echo x > clip; : > out.json`, wire.ResultFailed, causeOutputMissing, "no JSON"},
		"in a list":       {`echo x > clip; echo '{"vif": [1, inf]}' > out.json`, wire.ResultFailed, causeNonFinite, "vif is inf"},
		"killed":          {`kill -9 $$`, wire.ResultFailed, causeSignaled, "SIGKILL"},
		"output missing":  {`echo '{}' > out.json`, wire.ResultFailed, causeOutputMissing, "clip was not written"},
		"result missing":  {`echo x > clip`, wire.ResultFailed, causeOutputMissing, "out.json"},
		"result no JSON":  {`echo x > clip; echo '{"a":' > out.json`, wire.ResultFailed, causeOutputMissing, "no JSON"},
		"not a number":    {`echo x > clip; echo '{"psnr": 1, "vmaf": -nan}' > out.json`, wire.ResultFailed, causeNonFinite, "vmaf is -nan"},
		"infinite number": {`echo x > clip; echo '{"psnr": 1e999}' > out.json`, wire.ResultFailed, causeNonFinite, "psnr is 1e999"},
		"nested too deep": {`echo x > clip; (printf '[%.0s' $(seq 20000); printf ']%.0s' $(seq 20000)) > out.json`, wire.ResultFailed, causeOutputMissing, "no JSON"},
		"no UTF-8":        {`echo x > clip; printf '{"a":"\377"}' > out.json`, wire.ResultFailed, causeOutputMissing, "UTF-8"},
		"link for output": {`ln -s /etc/passwd clip; echo '{}' > out.json`, wire.ResultFailed, causeOutputMissing, "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := shell(tc.script)
			spec.Env = []string{"PATH"}
			got := newRig(t, spec, nil).run(wire.Payload{})
			if got.Status != tc.status || got.Reason != tc.cause || !strings.Contains(got.Detail, tc.detail) {
				t.Fatalf("%s %s %q, want %s %s %q", got.Status, got.Reason, got.Detail, tc.status, tc.cause, tc.detail)
			}
			if tc.status == wire.ResultSucceeded && (!json.Valid(got.Output) || len(got.Outputs) != 2 || got.Outputs[0].Size != 2 || *got.ExitCode != 3) {
				t.Errorf("result %+v", got)
			}
		})
	}
}

func TestAttack_A22_ALargeResultIsUploadedInsteadOfSent(t *testing.T) {
	for _, size := range []int{maxOutput - 2, maxOutput - 1, 300_000} { // and two quotes
		r := newRig(t, Spec{Name: "tool", Argv: []string{"sh", "-c", fmt.Sprintf(`(printf '"'; head -c %d /dev/zero | tr '\0' a; printf '"') > out.json`, size)},
			Result: Result{File: "out.json", Format: "json"}}, nil)
		got := r.run(wire.Payload{})
		whole := strconv.Quote(strings.Repeat("a", size))
		if got.Status != wire.ResultSucceeded || len(got.Outputs) != 1 || got.Outputs[0].Digest != digestOf([]byte(whole)) || r.sink.kept["out.json"] != whole {
			t.Errorf("%d bytes: %s %s, outputs %+v", size, got.Status, got.Detail, got.Outputs)
		}
		if sent := len(got.Output) > 0; sent != (len(whole) <= maxOutput) {
			t.Errorf("%d bytes: %d travel in the result", len(whole), len(got.Output))
		}
	}
}

func TestStart_OfAProgramThatVanishedFails(t *testing.T) {
	program := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, Spec{Name: "tool", Argv: []string{program}}, nil)
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if got := r.run(wire.Payload{}); got.Status != wire.ResultFailed || got.Reason != causeStartFailed {
		t.Errorf("%s %s", got.Status, got.Reason)
	}
}

// Two agents of one machine may serve two control planes; what the other's attempt
// is called is no business of ours.
func TestMembers_AreThisAgentsOwn(t *testing.T) {
	pids := t.TempDir()
	r := newRig(t, tool("family", pids), nil)
	ref := r.start(wire.Payload{})
	running(t, pids, 3)
	namesake := &group{marker: marker{ref.Job.String(), "1", filepath.Join(t.TempDir(), "work")}}
	if members := namesake.search(); len(members) != 0 {
		t.Errorf("another agent's attempt of the same name has members %v", members)
	}
	r.Stop(ref, 0)
	r.wait()
}

// earlier is a folder of jobs with what an earlier life of its agent left: the
// folder of an attempt, its note, and a family of three.
func earlier(t *testing.T) (jobs string, family []int, wait func()) {
	t.Helper()
	jobs, err := makeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pids := t.TempDir()
	folder := filepath.Join(jobs, "00000000-0000-0000-0000-000000000001-1")
	m := marker{"00000000-0000-0000-0000-000000000001", "1", filepath.Join(folder, "work")}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "helper", "family", pids)
	cmd.Env = m.env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait = sync.OnceFunc(func() { _ = cmd.Wait() })
	t.Cleanup(func() {
		for _, member := range (&group{pgid: cmd.Process.Pid, marker: m}).search() {
			member.signal(kill)
		}
		wait()
	})
	family = running(t, pids, 3)
	notes := openNotes(jobs)
	defer notes.close()
	if _, err := notes.put(folder, cmd.Process.Pid, (&group{}).startOf(cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	return jobs, family, wait
}

func TestLeftovers_OfAnEarlierLifeAreKilled(t *testing.T) {
	jobs, family, wait := earlier(t)
	killed, err := ClearLeftovers(jobs)
	wait()
	if err != nil || killed != 3 {
		t.Errorf("killed %d, %v, want 3", killed, err)
	}
	mustBeDead(t, family)
	if entries, _ := os.ReadDir(jobs); len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

// The agent that a state directory was copied from still runs.
func TestLeftovers_OfACopiedStateAreAnotherAgents(t *testing.T) {
	jobs, family, _ := earlier(t)
	copied, err := makeFolder(t.TempDir())
	if err == nil {
		err = os.CopyFS(copied, os.DirFS(jobs))
	}
	if err != nil {
		t.Fatal(err)
	}
	if killed, err := ClearLeftovers(copied); err != nil || killed != 0 {
		t.Errorf("killed %d, %v, want none", killed, err)
	}
	if entries, _ := os.ReadDir(copied); len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
	for _, pid := range family {
		if stat, ok := readStat(pid); !ok || !stat.lives() {
			t.Errorf("process %d of the first agent was killed", pid)
		}
	}
}

// What is noted is the real path: an agent whose state is named through a link, or
// not from the root, finds its own again.
func TestLeftovers_AreFoundByTheRealPath(t *testing.T) {
	jobs, family, wait := earlier(t)
	link := filepath.Join(t.TempDir(), "jobs")
	if err := os.Symlink(jobs, link); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Book: &Book{}, Dir: link, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	wait()
	mustBeDead(t, family)
}

func TestLeftovers_AReusedPidIsLeftAlone(t *testing.T) {
	jobs, pids := t.TempDir(), t.TempDir()
	folder := filepath.Join(jobs, "00000000-0000-0000-0000-000000000001-1")
	m := marker{"00000000-0000-0000-0000-000000000001", "1", filepath.Join(folder, "work")}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command(os.Args[0], "helper", "sleep", pids)
	stranger.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Wait() }()
	defer func() { _ = stranger.Process.Kill() }()
	running(t, pids, 1)
	content, _ := json.Marshal(leftover{PGID: stranger.Process.Pid, Start: "1", MachineBoot: bootID(), Dir: m.dir})
	if err := os.WriteFile(filepath.Join(jobs, notesFile), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if killed, err := ClearLeftovers(jobs); err != nil || killed != 0 {
		t.Errorf("killed %d, %v, want none", killed, err)
	}
	if stat, ok := readStat(stranger.Process.Pid); !ok || !stat.lives() {
		t.Error("a process that is not ours was killed")
	}
}

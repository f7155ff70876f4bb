package runner

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// awaitLog waits until a running attempt has printed the text.
func (r *rig) awaitLog(ref nodecore.Ref, text string) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for poll := time.NewTicker(10 * time.Millisecond); ; <-poll.C {
		if _, part, _ := r.Log(ref, 0, 1<<20); bytes.Contains(part, []byte(text)) {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("the job did not print %q", text)
		}
	}
}

// Somebody else's TERM: ffmpeg says progress=end, leaves a file that looks whole,
// and ends with 255. None of that is a success.
func TestTerm_WhatATermedToolSaysIsNoSuccess(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("there is no ffmpeg")
	}
	spec := Spec{
		Name: "tool", Bin: "ffmpeg", Success: Success{Outputs: []string{"clip.avi"}},
		Argv: []string{"{{bin}}", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc=size=64x64:rate=25", "-progress", "-", "-y", "{{out.clip.avi}}"},
	}
	r := newRig(t, spec, nil)
	ref := r.start(wire.Payload{})
	r.awaitLog(ref, "progress=continue")
	for _, pid := range r.survivors(ref) {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	got := r.wait().Result
	if log := string(got.Head) + string(got.Tail); !strings.Contains(log, "progress=end") {
		t.Errorf("it did not say progress=end: %s", log)
	}
	if got.Status != wire.ResultFailed || got.Reason != causeExitCode || *got.ExitCode != 255 || len(got.Outputs) != 0 || r.sink.tries != 0 {
		t.Errorf("%s %s %q, exit code %d, %d outputs", got.Status, got.Reason, got.Detail, *got.ExitCode, len(got.Outputs))
	}
}

// A tool that is killed outright has its signal for a reason.
func TestKill_IsNamed(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV} {
		r := newRig(t, sh(`echo begins; echo x > clip; exec sleep 600`), nil)
		ref := r.start(wire.Payload{})
		r.awaitLog(ref, "begins")
		for _, pid := range r.survivors(ref) {
			_ = syscall.Kill(pid, signal)
		}
		want := map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV"}[signal]
		if got := r.wait().Result; got.Reason != causeSignaled || !strings.Contains(got.Detail, want) || *got.ExitCode != 128+int64(signal) || len(got.Outputs) != 0 {
			t.Errorf("%s %q, exit code %d", got.Reason, got.Detail, *got.ExitCode)
		}
	}
}

// The clock tells the start of a process that began within a tick as the kernel does:
// the next life of the agent finds it by that.
func TestStart_ByTheClockIsTheKernels(t *testing.T) {
	for deadline := time.Now().Add(patience); ; {
		known := false
		onOwnThread(func() {
			cmd := isolated([]string{"/bin/sleep", "600"}, nil, nil)
			g := newGroup(marker{}, nil)
			if err := startIsolated(cmd, limits{}, g); err != nil {
				t.Error(err)
				return
			}
			stat, ok := readStat(cmd.Process.Pid)
			if known = g.start > 0; known && (!ok || g.startOf(cmd.Process.Pid) != stat.start) {
				t.Errorf("started at %d, and the kernel says %q", g.start, stat.start)
			}
			g.signal(kill)
			awaitExit(cmd)
			g.end()
			_ = cmd.Wait() // it was killed
		})
		if known || t.Failed() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no process was begun within a tick of the clock")
		}
	}
}

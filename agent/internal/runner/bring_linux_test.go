package runner

import (
	"archive/tar"
	"bytes"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"rockpool/shared/wire"
)

// packed is a tar with one file.
func packed(t *testing.T, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shower is a runner that shows a file of the archive that a job brings.
func shower() Spec {
	return Spec{
		Name: "tool", Argv: []string{"cat", "{{in.model}}/weights/a.txt", "{{in.plain}}"}, Inputs: []string{"model", "plain"},
		Unpack: []string{"model"}, UnpackLimit: 9 << 10,
	}
}

func (r *rig) bringing(model []byte) wire.Result {
	plain := []byte("plain")
	source := r.source.(artifacts)
	source[digestOf(model)], source[digestOf(plain)] = model, plain
	return r.run(wire.Payload{Inputs: []wire.Input{
		{Name: "model", Digest: digestOf(model), Size: int64(len(model))}, {Name: "plain", Digest: digestOf(plain), Size: int64(len(plain))},
	}})
}

func TestUnpack_TheJobFindsTheFolder(t *testing.T) {
	r := newRig(t, shower(), artifacts{})
	got := r.bringing(packed(t, "weights/a.txt", "heavy "))
	if got.Status != wire.ResultSucceeded || string(got.Head) != "heavy plain" {
		t.Errorf("%s %s %s: %q", got.Status, got.Reason, got.Detail, got.Head)
	}
}

func TestAttack_A53_AnArchiveThatIsTooMuchFailsItsJobOnly(t *testing.T) {
	for name, c := range map[string]struct {
		archive []byte
		say     string
	}{
		"too much":        {packed(t, "weights/a.txt", strings.Repeat("x", 1<<10+1)), "more than 9216 bytes"},
		"out of its home": {packed(t, "../../../a.txt", "x"), "leaves the folder"},
		"no archive":      {[]byte("text"), "no archive"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shower(), artifacts{})
			got := r.bringing(c.archive)
			if got.Status != wire.ResultFailed || got.Reason != causeBadInput || !strings.Contains(got.Detail, c.say) || !strings.Contains(got.Detail, "input model") {
				t.Errorf("%s %s %s", got.Status, got.Reason, got.Detail)
			}
			r.nothingLeft()
		})
	}
}

// smallDisk is a disk of so many bytes.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small disk can't be mounted here (%v): run it as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A tool may have met another disk that is full, or just says so.
func TestFullDisk_IsNotBlamedWhileThereIsRoom(t *testing.T) {
	for name, script := range map[string]string{
		"a tool that says so":     "echo 'tool: write: No space left on device' >&2; exit 1",
		"its output is not there": "echo 'no space left on device'",
	} {
		t.Run(name, func(t *testing.T) {
			spec := sh(script)
			spec.DiskLimit = 1 << 20
			if got := newRig(t, spec, nil).run(wire.Payload{}); got.Status != wire.ResultFailed || got.Reason != causeExitCode && got.Reason != causeOutputMissing {
				t.Errorf("%s %s %s", got.Status, got.Reason, got.Detail)
			}
		})
	}
}

// A disk can have bytes and no room for another file.
func TestFullDisk_OneWithoutRoomForAFileIsFull(t *testing.T) {
	spec := sh("i=0; while : > $i; do i=$((i+1)); done; exit 3")
	spec.DiskLimit = 1 << 20
	got := newRigAt(t, smallDisk(t, "64m,nr_inodes=40"), spec, nil).run(wire.Payload{})
	if got.Status != wire.ResultFailed || got.Reason != causeDiskFull {
		t.Errorf("%s %s %s", got.Status, got.Reason, got.Detail)
	}
}

func TestFullDisk_IsTheReasonOfAFailure(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 1<<20)
	for name, c := range map[string]struct {
		spec Spec
		size string
		in   []wire.Input
	}{
		"an input": {Spec{Name: "tool", Argv: []string{"true"}, Inputs: []string{"big"}}, "900k",
			[]wire.Input{{Name: "big", Digest: digestOf(content), Size: 1 << 20}}},
		"a tool that says so":         {Spec{Name: "tool", Argv: []string{"dd", "if=/dev/zero", "of={{out.big}}", "bs=64k"}, Outputs: []string{"big"}}, "4m", nil},
		"a tool that says nothing":    {Spec{Name: "tool", Argv: []string{"sh", "-c", "exec 2> /dev/null; dd if=/dev/zero of=big bs=64k"}}, "4m", nil},
		"a tool that tidies up":       {Spec{Name: "tool", Argv: []string{"sh", "-c", "dd if=/dev/zero of=big bs=64k || { rm big; exit 7; }"}}, "4m", nil},
		"a tool that hides it":        {Spec{Name: "tool", Argv: []string{"sh", "-c", "dd if=/dev/zero of=big bs=64k; true"}, Outputs: []string{"big"}}, "4m", nil},
		"an output that is not there": {Spec{Name: "tool", Argv: []string{"sh", "-c", "dd if=/dev/zero of=big bs=64k; true"}, Success: Success{Outputs: []string{"small"}}}, "4m", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRigAt(t, smallDisk(t, c.size), c.spec, artifacts{digestOf(content): content})
			got := r.run(wire.Payload{Inputs: c.in})
			if got.Status != wire.ResultFailed || got.Reason != causeDiskFull || !strings.Contains(strings.ToLower(got.Detail), "space") && !strings.Contains(got.Detail, "no room") {
				t.Errorf("%s %s %s", got.Status, got.Reason, got.Detail)
			}
		})
	}
}

package runner

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

// withoutRights runs this test again as a user whom modes bind, unless it is run by
// one already; then it returns false.
func withoutRights(t *testing.T) (done bool) {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	account := nobody(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "test")
	content, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.WriteFile(program, content, 0o755), os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, account.UID, account.GID))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(account.UID), Gid: uint32(account.GID)}}
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
		t.Errorf("as %s: %v\n%s", "nobody", err, said)
	}
	return true
}

// No mode that a job gives its folders keeps them from being measured and removed.
func TestDisk_ModesHideNothing(t *testing.T) {
	if withoutRights(t) {
		return
	}
	const fill = `head -c 3M /dev/zero > d/x || exit 9; echo x > clip`
	for name, script := range map[string]string{
		"not readable":      `mkdir d; chmod 300 d; ` + fill,
		"not enterable":     `mkdir d; ` + fill + `; chmod 600 d`,
		"nothing":           `mkdir d; ` + fill + `; chmod 0 d`,
		"nested":            `mkdir -p d/e; mv d e; mkdir d; ` + fill + `; mv d e; chmod 0 e/d e`,
		"the job's own":     `mkdir d; ` + fill + `; chmod 0 .`,
		"all of the job":    `mkdir d; ` + fill + `; chmod 0 ..`,
		"the temporary one": `mkdir d; ` + fill + `; mv d $TMPDIR; chmod 0 $TMPDIR`,
		"deep": `mkdir d; ` + fill + `; i=0; while [ $i -lt 150 ]; do mkdir n; mv d n; mv n d; i=$((i+1)); done; ` +
			`while [ $i -gt 20 ]; do chmod 300 d 2> /dev/null; cd -P d/d 2> /dev/null || cd -P d; i=$((i-1)); done; chmod 0 .`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := sh(script)
			spec.DiskLimit, spec.LogLimit = 2<<20, 1<<10
			r := newRig(t, spec, nil)
			got := r.run(wire.Payload{})
			if got.Status != wire.ResultFailed || got.Reason != causeOutputTooLarge {
				t.Errorf("%s %s %s", got.Status, got.Reason, got.Detail)
			}
			r.nothingLeft()
		})
	}
}

// A folder is removed however deep it is, by an agent that has few descriptors, and
// what a link in it points to stays.
func TestRemoveFolder_OfAnyDepth(t *testing.T) {
	if withoutRights(t) {
		return
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o500); err != nil {
		t.Fatal(err)
	}
	jobs := t.TempDir()
	nest(t, filepath.Join(jobs, "job"), 1200, outside)
	fewDescriptors(t)
	if _, err := folderSize(t.Context(), filepath.Join(jobs, "job")); err == nil {
		t.Error("it was measured at any depth")
	}
	if err := removeFolder(filepath.Join(jobs, "job")); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(jobs); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("what a link points to: %v, %v", info, err)
	}
}

// nest makes folders within each other, each with a link; the innermost is closed.
func nest(t *testing.T, at string, depth int, link string) {
	t.Helper()
	err := os.Mkdir(at, 0o700)
	dir, openErr := os.OpenRoot(at)
	for err = errors.Join(err, openErr); err == nil && depth > 0; depth-- {
		var next *os.Root
		if err = errors.Join(dir.Symlink(link, "link"), dir.Mkdir("d", 0o700)); err == nil {
			next, err = dir.OpenRoot("d")
		}
		_ = dir.Close()
		dir = next
	}
	if err == nil {
		err = errors.Join(dir.Mkdir("e", 0), dir.Chmod(".", 0), dir.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fewDescriptors lets the test have 300 until it ends.
func fewDescriptors(t *testing.T) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 300, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) })
}

// The next life of the agent gives the disk back that a job closed.
func TestLeftovers_ThatAreClosedAreRemoved(t *testing.T) {
	if withoutRights(t) {
		return
	}
	jobs := t.TempDir()
	closed := filepath.Join(jobs, "job", "work", "d")
	err := os.MkdirAll(filepath.Join(closed, "e"), 0o700)
	for _, dir := range []string{closed, filepath.Dir(closed), filepath.Join(jobs, "job")} {
		err = errors.Join(err, os.Chmod(dir, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ClearLeftovers(jobs); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(jobs); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// What is written in the last moment counts, and what only claims to be large is
// not read.
func TestDisk_IsMeasuredAtTheEnd(t *testing.T) {
	for name, script := range map[string]string{
		"written": `head -c 3M /dev/zero > x; echo x > clip`,
		"sparse":  `truncate -s 60G clip`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := sh(script)
			spec.DiskLimit, spec.LogLimit = 2<<20, 1<<10
			got := newRig(t, spec, nil).run(wire.Payload{})
			if got.Reason != causeOutputTooLarge || !strings.Contains(got.Detail, "disk_limit = 2MiB") {
				t.Errorf("%s %s %s", got.Status, got.Reason, got.Detail)
			}
		})
	}
}

// Reading what a job left takes no longer than the job may, and ends with it.
func TestCollect_EndsAtOnce(t *testing.T) {
	spec := sh(`truncate -s 1000G clip`)
	spec.DiskLimit = 2000 << 30
	t.Run("canceled", func(t *testing.T) {
		r := newRig(t, spec, nil)
		ref := r.start(wire.Payload{})
		clip := filepath.Join(r.Set.dir, ref.Job.String()+"-1", "work", "clip")
		deadline := time.Now().Add(patience)
		for info, err := os.Stat(clip); err != nil || info.Size() == 0 || len(r.survivors(ref)) > 0; info, err = os.Stat(clip) {
			if time.Now().After(deadline) {
				t.Fatal("it is not collected")
			}
			runtime.Gosched()
		}
		r.Stop(ref, 0)
		if end := r.wait(); !end.Stopped {
			t.Errorf("ended %+v", end)
		}
	})
	t.Run("out of time", func(t *testing.T) {
		spec.Timeout = settings.Duration(time.Second)
		if got := newRig(t, spec, nil).run(wire.Payload{}); got.Status != wire.ResultTimedOut || got.Reason != causeRunTimeout {
			t.Errorf("%s %s %s", got.Status, got.Reason, got.Detail)
		}
	})
}

// noEnd is a file of one token that has no end; it counts what is read of it.
type noEnd struct {
	begin string
	fill  byte
	read  int64
}

func (e *noEnd) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		p[i] = e.fill
	}
	if off < int64(len(e.begin)) {
		copy(p, e.begin[off:])
	}
	e.read = max(e.read, off+int64(len(p)))
	return len(p), nil
}

// A file costs the agent the same memory whatever is in it.
func TestCheckJSON_ReadsNoMoreThanATokenAtATime(t *testing.T) {
	const size = 1 << 40
	for name, file := range map[string]*noEnd{
		"string":      {begin: `{"a": "`, fill: 'x'},
		"key":         {begin: `{"`, fill: 'x'},
		"number":      {begin: `[1, `, fill: '7'},
		"white space": {begin: `[1, `, fill: ' '},
		"before":      {fill: '\n'},
		"behind":      {begin: `{}`, fill: '\t'},
		"lists":       {fill: '['},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkJSON(t.Context(), file, size)
			if err == nil || !strings.Contains(err.Error(), "is no JSON document") {
				t.Errorf("error %v", err)
			}
			if file.read > 4*maxToken {
				t.Errorf("%d bytes of it were read", file.read)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkJSON(ctx, &noEnd{begin: `[1`, fill: ','}, size); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a read that is canceled", err)
	}
}

// What takes the place of a file is not opened, nor waited for.
func TestOpenPlain_TakesRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, pipe, dir, "/dev/null"} {
		if f, err := openPlain(path); !errors.Is(err, errNotPlain) {
			t.Errorf("%s: %v, %v", path, f, err)
		}
	}
	if f, err := openPlain(file); err != nil || f.Close() != nil {
		t.Error(err)
	}
	if f, err := os.OpenFile(link, os.O_RDONLY|plainOnly, 0); err == nil {
		t.Errorf("%s is opened although it is a link", f.Name())
	}
	if f, err := os.OpenFile(pipe, os.O_RDONLY|plainOnly, 0); err != nil || f.Close() != nil {
		t.Errorf("a pipe is waited for: %v", err)
	}
}

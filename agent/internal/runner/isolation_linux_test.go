package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// survivors are the processes of an attempt that live.
func (r *rig) survivors(ref nodecore.Ref) (pids []int) {
	dir := filepath.Join(r.Set.dir, fmt.Sprintf("%s-%d", ref.Job, ref.Attempt))
	g := &group{marker: marker{ref.Job.String(), strconv.Itoa(int(ref.Attempt)), workDir(dir)}}
	for _, member := range g.search() {
		pids = append(pids, member.pid)
	}
	return pids
}

// A job that forks as fast as it can ends for it, and with all that it has made.
func TestAttack_A58_AForkBombEndsWithAllItsProcesses(t *testing.T) {
	spec := sh(`i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i+1)); done; wait`)
	spec.ProcessLimit = 20
	for _, cgroups := range []bool{true, false} {
		t.Run(fmt.Sprint("cgroups ", cgroups), func(t *testing.T) {
			r := newRig(t, spec, nil)
			if !cgroups {
				r.cgroups = nil
			}
			if r.cgroups != nil && r.cgroups.processes {
				t.Skip("the kernel lets it make no more: it fails by itself")
			}
			ref := r.start(wire.Payload{})
			got := r.wait().Result
			if got.Status != wire.ResultFailed || got.Reason != causeLimitPassed || !strings.Contains(got.Detail, "process_limit = 20") {
				t.Errorf("%s %s %q", got.Status, got.Reason, got.Detail)
			}
			if left := r.survivors(ref); len(left) > 0 {
				t.Errorf("%d processes survived: %v", len(left), left)
			}
		})
	}
}

// What has left its group, its session and its environment still ends.
func TestAttack_A58_AControlGroupLetsNothingEscape(t *testing.T) {
	pids := t.TempDir()
	r := newRig(t, tool("escape", pids), nil)
	if r.cgroups == nil {
		t.Skip("this machine gives no control groups")
	}
	if got := r.run(wire.Payload{}); got.Status != wire.ResultSucceeded {
		t.Errorf("%s %s", got.Status, got.Detail)
	}
	mustBeDead(t, running(t, pids, 1))
	if left, _ := filepath.Glob(filepath.Join(r.cgroups.dir, r.cgroups.prefix+"*")); len(left) > 0 {
		t.Errorf("control groups stay: %v", left)
	}
}

// A job that runs as the agent's user can leave its control group. It is found by its
// descent.
func TestAttack_A58_WhoLeavesTheControlGroupEndsToo(t *testing.T) {
	pids := t.TempDir()
	r := newRig(t, tool("emigrate", pids), nil)
	if r.cgroups == nil || !household.adopts {
		t.Skip("this machine gives no control groups, or does not list a process's children")
	}
	r.start(wire.Payload{})
	gone := running(t, pids, 1)
	if content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", gone[0])); err == nil && strings.Contains(string(content), r.cgroups.prefix) {
		t.Errorf("it is in its group still: %s", content)
	}
	if got := r.wait().Result; got.Status != wire.ResultSucceeded {
		t.Errorf("%s %s", got.Status, got.Detail)
	}
	mustBeDead(t, gone)
}

// Without control groups, an environment that the agent may not read hides nothing
// that stays in the session.
func TestEnd_FindsWhatHidesItsEnvironment(t *testing.T) {
	if withoutRights(t) {
		return
	}
	pids := t.TempDir()
	r := newRig(t, tool("hidden", pids), nil)
	r.cgroups = nil
	if got := r.run(wire.Payload{}); got.Status != wire.ResultSucceeded {
		t.Errorf("%s %s", got.Status, got.Detail)
	}
	mustBeDead(t, running(t, pids, 1))
}

// The next life of the agent finds in a control group what has nothing else to be
// known by.
func TestLeftovers_InAControlGroupAreKilled(t *testing.T) {
	pids := t.TempDir()
	r := newRig(t, tool("sleep", pids), nil)
	if r.cgroups == nil {
		t.Skip("this machine gives no control groups")
	}
	r.start(wire.Payload{})
	sleeper := running(t, pids, 1)
	openCgroups(r.Set.dir, r.log)
	if got := r.wait().Result; got.Reason != causeSignaled || !strings.Contains(got.Detail, "SIGKILL") {
		t.Errorf("%s %q", got.Reason, got.Detail)
	}
	mustBeDead(t, sleeper)
}

func TestMemory_BeyondTheLimitEndsTheJobByName(t *testing.T) {
	spec := sh(`tail /dev/zero`) // which has no end of a line to forget at
	spec.MemoryLimit = 64 << 20
	for _, cgroups := range []bool{true, false} {
		t.Run(fmt.Sprint("cgroups ", cgroups), func(t *testing.T) {
			r := newRig(t, spec, nil)
			if !cgroups {
				r.cgroups = nil
			}
			got := r.run(wire.Payload{})
			if got.Status != wire.ResultFailed || got.Reason != causeLimitPassed || !strings.Contains(got.Detail, "memory_limit = 64MiB") {
				t.Errorf("%s %s %q", got.Status, got.Reason, got.Detail)
			}
		})
	}
}

// Whoever started the agent may have left descriptors open in it.
func TestDescriptors_NoneIsInherited(t *testing.T) {
	fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0) // without O_CLOEXEC, as inherited ones are
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	got := newRig(t, sh(`for fd in /proc/$$/fd/*; do test ${fd##*/} -gt 2 && readlink $fd; done; echo > clip`), nil).run(wire.Payload{})
	if got.Status != wire.ResultSucceeded || len(got.Head) > 0 {
		t.Errorf("%s %s: the job has the descriptors\n%s", got.Status, got.Detail, got.Head)
	}
}

func TestPriority_OfJobsIsLowFromTheirFirstMoment(t *testing.T) {
	got := newRig(t, sh(`while ! grep -x 500 /proc/self/oom_score_adj; do sleep 0.01; done; ps -o ni= -p $$; ulimit -c; grep NoNewPrivs /proc/self/status; echo > clip`), nil).run(wire.Payload{})
	if said := strings.Join(strings.Fields(string(got.Head)), " "); said != "500 10 0 NoNewPrivs: 1" {
		t.Errorf("%s: the job says of itself %q", got.Status, said)
	}
}

// nobody is a user without rights; only root can run jobs as him.
func nobody(t *testing.T) *Account {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run jobs as another user")
	}
	account, err := LookAccount("nobody")
	if err != nil {
		t.Skip(err)
	}
	return account
}

func TestAccount_TheJobHasItsFolderAndNothingOfTheAgent(t *testing.T) {
	account := nobody(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	content := []byte("the input\n")
	spec := sh(fmt.Sprintf(`
id -u; id -G
cat "$1" > clip && rm "$1" && echo input
for file in %s /proc/$PPID/environ /proc/$PPID/mem ../log ../../processes; do cat $file > /dev/null 2>&1 && echo read $file; done
for file in %s ../log ../../processes /proc/$PPID/oom_score_adj; do echo x 2> /dev/null >> $file && echo wrote $file; done
kill -0 $PPID 2> /dev/null && echo signaled
ls .. > /dev/null 2>&1 && echo looked around
exit 0`, secret, secret))
	spec.Argv = append(spec.Argv, "job", "{{in.clip}}")
	spec.Inputs = []string{"clip"}
	for _, cgroups := range []bool{true, false} {
		t.Run(fmt.Sprint("cgroups ", cgroups), func(t *testing.T) {
			r := newRigAs(t, t.TempDir(), spec, artifacts{digestOf(content): content}, account)
			if !cgroups {
				r.cgroups = nil
			}
			got := r.run(wire.Payload{Inputs: []wire.Input{{Name: "clip", Digest: digestOf(content), Size: int64(len(content))}}})
			want := fmt.Sprintf("%d %d input", account.UID, account.GID)
			if said := strings.Join(strings.Fields(string(got.Head)), " "); got.Status != wire.ResultSucceeded || said != want {
				t.Errorf("%s %s: the job says %q, want %q", got.Status, got.Detail, said, want)
			}
			if r.sink.kept["clip"] != string(content) {
				t.Errorf("handed over %q", r.sink.kept["clip"])
			}
		})
	}
}

// TERM, KILL and the leftovers of an earlier life reach the processes of another user.
func TestAccount_ACancelReachesTheJob(t *testing.T) {
	r := newRigAs(t, t.TempDir(), sh(`trap '' TERM; echo $$ > ../work/pid; while :; do sleep 0.05; done`), nil, nobody(t))
	ref := r.start(wire.Payload{})
	deadline := time.Now().Add(patience)
	for poll := time.NewTicker(5 * time.Millisecond); len(r.survivors(ref)) == 0; <-poll.C {
		if time.Now().After(deadline) {
			t.Fatal("the job does not run")
		}
	}
	r.Stop(ref, 100*time.Millisecond)
	if end := r.wait(); !end.Stopped {
		t.Errorf("ended %+v", end)
	}
	if left := r.survivors(ref); len(left) > 0 {
		t.Errorf("survived: %v", left)
	}
}

func TestAccount_WhoCanNotBeTaken(t *testing.T) {
	nobody(t)
	for name, want := range map[string]string{"root": "root's rights", "no-such-user": "there is no user"} {
		if _, err := LookAccount(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// The self-test is no way to run as the agent's user either.
func TestAccount_SelfTestsRunAsTheJobsUser(t *testing.T) {
	account := nobody(t)
	book, err := NewBook([]Spec{{Name: "x", Argv: []string{"true"}, SelfTest: []string{"sh", "-c", `test "$(id -u)" = ` + strconv.Itoa(account.UID)}, Env: []string{"PATH"}}}, Builtins{}, "cpu", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	if err := book.SelfTest(t.Context()); err == nil {
		t.Error("the test passes as the agent's own user")
	}
	book.As(account)
	if err := book.SelfTest(t.Context()); err != nil {
		t.Error(err)
	}
}

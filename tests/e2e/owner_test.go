package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rockpool/tests/rig"
)

// nobody is the user that owns nothing.
const nobody = 65534

// owner is a new user on a fresh machine: a home with the programs, and nothing else.
type owner struct {
	u    *tenant
	home string
}

func newOwner(t *testing.T, u *tenant) *owner {
	t.Helper()
	home, err := os.MkdirTemp("", "rockpool-owner-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	o := &owner{u, home}
	o.must(t, os.Mkdir(filepath.Join(home, "bin"), 0o755))
	for _, name := range []string{"rockpool", "rockpool-agent"} {
		program, err := os.ReadFile(rig.Binary(t, name))
		o.must(t, err)
		o.must(t, os.WriteFile(filepath.Join(home, "bin", name), program, 0o755))
	}
	o.must(t, os.WriteFile(filepath.Join(home, "clip.mp4"), []byte("a clip of the owner's\n"), 0o644))
	if os.Geteuid() == 0 {
		o.must(t, os.Chown(home, nobody, nobody))
	}
	return o
}

func (o *owner) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// types is a command line of the owner's, in the home.
func (o *owner) types(t *testing.T, line string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "/bin/sh", "-c", line)
	command.Dir = o.home
	command.Env = []string{
		"HOME=" + o.home, "PATH=" + filepath.Join(o.home, "bin") + ":/usr/bin:/bin",
		"ROCKPOOL_AGENT_LICENSE=" + o.u.license.LicenseCode, "ROCKPOOL_SERVER=" + o.u.s.URL, "ROCKPOOL_TOKEN=" + o.u.token,
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	return command
}

// runs types a command and demands that it succeeds.
func (o *owner) runs(t *testing.T, line string) string {
	t.Helper()
	out, err := o.types(t, line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// ownersPath are the commands that docs/operate.md promises, for this server.
func ownersPath(t *testing.T, u *tenant) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(rig.Root(), "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "## From a license code to the first job\n")
	_, text, begun := strings.Cut(text, "```sh\n")
	text, _, ended := strings.Cut(text, "```\n")
	if !found || !begun || !ended {
		t.Fatal("docs/operate.md has no owner's path")
	}
	return strings.Split(strings.TrimSpace(strings.NewReplacer("https://fleet.example", u.s.URL, "cam-7", u.app).Replace(text)), "\n")
}

// TestOwner_FromALicenseCodeToTheFirstJob types what the page says, as a user who
// has nothing: then leaves, and comes back as the same node.
func TestOwner_FromALicenseCodeToTheFirstJob(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	o := newOwner(t, u)
	path := ownersPath(t, u)
	if len(path) > 3 {
		t.Errorf("the path has %d commands: %q", len(path), path)
	}
	var agent *exec.Cmd
	for _, line := range path {
		if work, background := strings.CutSuffix(strings.TrimSpace(line), "&"); background {
			agent = o.types(t, "exec "+work)
			var log bytes.Buffer
			agent.Stderr = &log
			o.must(t, agent.Start())
			continue
		}
		t.Logf("%s\n%s", line, o.runs(t, line))
	}
	job := o.runs(t, "rockpool job list --app "+u.app)
	if !strings.Contains(job, "succeeded") {
		t.Errorf("the first job: %s", job)
	}
	status := o.runs(t, "rockpool-agent status")
	if !strings.Contains(status, u.pool()) || !strings.Contains(status, "open") {
		t.Errorf("status:\n%s", status)
	}
	if status := o.runs(t, "rockpool-agent status -o json"); !strings.Contains(status, `"session": "open"`) {
		t.Errorf("status as JSON:\n%s", status)
	}
	o.runs(t, "rockpool-agent doctor --idle 0s")
	o.runs(t, "rockpool-agent leave")
	if err := agent.Wait(); err != nil {
		t.Errorf("the agent that left ended with %v", err)
	}
	o.comesBack(t)
}

// comesBack joins again, twice: each is the same node, on one seat.
func (o *owner) comesBack(t *testing.T) {
	t.Helper()
	nodes := func() (list []string) {
		return query[[]string](t, o.u.s, `SELECT array_agg(id || ' ' || CASE WHEN left_at IS NULL THEN 'in' ELSE 'left' END) FROM nodes WHERE license_id = $1`, o.u.license.ID)
	}
	one := func(end string) {
		t.Helper()
		rig.Await(t, patience, func() (bool, string) {
			list := nodes()
			return len(list) == 1 && strings.HasSuffix(list[0], end), strings.Join(list, ", ")
		})
	}
	one(" left")
	for range 2 {
		o.runs(t, "rockpool-agent join "+o.u.s.URL)
		one(" in")
	}
}

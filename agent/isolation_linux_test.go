package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rockpool/agent/internal/runner"
	"rockpool/shared/wire"
)

// A job tries to read what is the agent's and to change its program and settings:
// as another user it can't. As the agent's own it could, and each start says so.
func TestAttack_A60_AJobChangesNothingOfTheAgent(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	warned := func(n *node) bool { return strings.Contains(n.snapshot(), "job_user: is not set") }
	n := begin(t, cfg)
	c.welcome()
	if !warned(n) {
		t.Error("nothing says that jobs run as the agent's own user")
	}
	n.stop()
	if os.Geteuid() != 0 {
		t.Skip("only root can run jobs as another user")
	}

	config, program := filepath.Join(openFolder(t), "agent.toml"), filepath.Join(openFolder(t), "rockpool-agent")
	put(t, config, "slots = 1\n")
	put(t, program, "the agent's program")
	script := fmt.Sprintf(`
id -u
for file in %[1]s/secret %[1]s/node.json %[2]s /proc/$PPID/environ /proc/$PPID/fd/0; do cat $file > /dev/null 2>&1 && echo read $file; done
for file in %[2]s %[3]s %[1]s/secret; do echo changed 2> /dev/null >> $file && echo wrote $file; rm -f $file 2> /dev/null && echo removed $file; done
kill -0 $PPID 2> /dev/null && echo signaled
env | cut -d= -f1 | sort | tr '\n' ' '
`, cfg.StateDir, config, program)
	cfg.JobUser, cfg.JobDir = "nobody", openFolder(t)
	cfg.Runners = append(cfg.Runners, runner.Spec{Name: "burglar", Argv: []string{"/bin/sh", "-c", script}})
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	n = begin(t, cfg)
	s := c.welcome()
	s.run(offerOf(1, "burglar", wire.Payload{}))
	r := expect[wire.Result](s)
	s.ackResult(r, wire.VerdictStored)
	account, err := runner.LookAccount("nobody")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d PWD ROCKPOOL_ATTEMPT ROCKPOOL_DIR ROCKPOOL_JOB TMPDIR", account.UID) // PWD is the shell's own
	if said := strings.Join(strings.Fields(string(r.Head)), " "); r.Status != wire.ResultSucceeded || said != want {
		t.Errorf("%s %s: the job says %q, want %q", r.Status, r.Detail, said, want)
	}
	if warned(n) {
		t.Error("the start warns although jobs run as another user")
	}
	if status, err := AskStatus(t.Context(), cfg); err != nil || !slices.Contains(status.Isolation, "user") {
		t.Errorf("status %+v, %v", status, err)
	}
	for _, file := range []string{config, program} {
		if content, err := os.ReadFile(file); err != nil || strings.Contains(string(content), "changed") {
			t.Errorf("%s: %q, %v", file, content, err)
		}
	}
}

func TestJobUser_NeedsAFolderThatItCanEnter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run jobs as another user")
	}
	shut := t.TempDir()
	if err := os.Chmod(shut, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ user, dir, want string }{
		"no folder":        {"nobody", "", "job_dir: must be set"},
		"a shut folder":    {"nobody", shut, "job_dir: job_user can't pass through"},
		"no such user":     {"no-such-user", openFolder(t), "job_user: there is no user"},
		"root":             {"root", openFolder(t), "job_user: \"root\" has root's rights"},
		"a relative path":  {"", ".", "job_dir"},
		"all is well":      {"nobody", openFolder(t), ""},
		"a folder of root": {"", openFolder(t), ""},
	} {
		cfg := testConfig(t, "https://fleet.example")
		cfg.JobUser, cfg.JobDir = tc.user, tc.dir
		if err := cfg.Validate(); tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

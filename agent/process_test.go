package agent

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the tool of its jobs, and an agent that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "helper" {
		helper(os.Args[2], os.Args[3])
		return
	}
	if config := os.Getenv("AGENT_TEST_CONFIG"); config != "" {
		agentProcess(config)
		return
	}
	// Most of these tests wait, so more of them than cores run at once.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func helper(mode, dir string) {
	if mode == "stubborn" { // takes TERM for nothing
		signal.Ignore(syscall.SIGTERM)
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("pid-", os.Getpid())), nil, 0o600); err != nil {
		os.Exit(3)
	}
	switch mode {
	case "until":
		fmt.Println("waits")
	case "chatter":
		fmt.Println("chatter begins")
		fmt.Fprintln(os.Stderr, "chatter waits")
	}
	for mode != "until" || !exists(filepath.Join(dir, "go")) { // until its test says so
		<-time.After(5 * time.Millisecond)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// agentProcess is an agent with the settings of a test, for kill -9.
func agentProcess(config string) {
	cfg, err := LoadConfig(config, os.Environ()[:0], nil)
	if err == nil {
		err = New(cfg, processLog()).Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// processLog is the file that the environment names, if it does.
func processLog() *slog.Logger {
	to, err := os.OpenFile(os.Getenv("AGENT_TEST_LOG"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return discard()
	}
	return slog.New(slog.NewTextHandler(to, nil))
}

// spawn starts an agent of its own process, with more variables; the function
// kills it with -9.
func spawn(t *testing.T, config string, environ ...string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = slices.Concat(os.Environ(), []string{"AGENT_TEST_CONFIG=" + config}, environ)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			t.Log(lines.Text())
		}
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	return kill
}

// configFile writes the settings of a test's configuration.
func configFile(t *testing.T, cfg Config) string {
	t.Helper()
	dir := t.TempDir()
	license := filepath.Join(dir, "license")
	path := filepath.Join(dir, "agent.toml")
	content := fmt.Sprintf(`
server_url = %q
license_file = %q
state_dir = %q
slots = 2
ca_file = %q
[[runner]]
name = "tool"
argv = [%q, "helper", "{{param.mode}}", "{{param.dir}}"]
params.mode = { type = "enum", values = ["stubborn", "until"] }
params.dir = { type = "string", max_length = 1000 }
`, cfg.ServerURL, license, cfg.StateDir, cfg.CAFile, os.Args[0])
	for name, text := range map[string]string{license: licenseCode + "\n", path: content} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// started waits until the tool runs and gives its process.
func started(t *testing.T, dir string) (pid int) {
	t.Helper()
	await(t, "the tool", func() bool { return len(pidsIn(dir)) == 1 })
	return pidsIn(dir)[0]
}

func pidsIn(dir string) (pids []int) {
	names, _ := filepath.Glob(filepath.Join(dir, "pid-*"))
	for _, name := range names {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(name), "pid-%d", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lives reports a process that is there and no zombie.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func release(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for poll := time.NewTicker(5 * time.Millisecond); !ok(); <-poll.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

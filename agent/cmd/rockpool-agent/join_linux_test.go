package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pair of a terminal's two ends.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// TestJoin_AsksForTheCodeAndDoesNotShowIt types a license code at the real program,
// which shows it to the server alone.
func TestJoin_AsksForTheCodeAndDoesNotShowIt(t *testing.T) {
	shown := make(chan string, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.Header.Get("Authorization")
		http.Error(w, "refused by the test", http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	person, end := terminal(t)
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), program(t), "join", server.URL, "--config", filepath.Join(dir, "agent.toml"), "--state-dir", filepath.Join(dir, "state"))
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	command.Stdin, command.Stderr = end, end
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = end.Close() // so that its end is seen
	if err := person.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Log("no deadline: ", err)
	}
	screen := bufio.NewReader(person)
	asked, err := screen.ReadString(':')
	if err != nil || !strings.Contains(asked, "License code") {
		t.Fatalf("the screen shows %q, %v", asked, err)
	}
	if _, err := io.WriteString(person, someCode+"\n"); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(screen) // a terminal whose program is gone gives an error
	if err := command.Wait(); err == nil || !strings.Contains(string(rest), "401") {
		t.Errorf("ended with %v and printed %q", err, rest)
	}
	if strings.Contains(asked+string(rest), someCode) {
		t.Errorf("the screen shows the code: %q", asked+string(rest))
	}
	if got := <-shown; got != "License "+someCode {
		t.Errorf("the server was shown %q", got)
	}
}

func TestJoin_TakesTheCredentialFromOnePlace(t *testing.T) {
	for name, tc := range map[string]struct {
		environ []string
		args    []string
		in      string
		want    string
	}{
		"nowhere":             {nil, nil, "", "--credential-file"},
		"twice":               {[]string{codeVariable + "=" + someCode}, []string{"--credential-file", "x"}, "", "given twice"},
		"a file for all":      {nil, []string{"--credential-file", write(t, "license", someCode, 0o644)}, "", "can be read by others"},
		"no code in a pipe":   {nil, []string{"--credential-file", "-"}, "hunter2\n", "neither a license code"},
		"as a setting's file": {[]string{codeVariable + "=" + someCode}, []string{"--license-file", write(t, "license", someCode, 0o600)}, "", "license_file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var out, errs strings.Builder
			args := append([]string{"join", "http://127.0.0.1:1", "--config", filepath.Join(dir, "agent.toml"), "--state-dir", filepath.Join(dir, "state")}, tc.args...)
			code := run(args, tc.environ, strings.NewReader(tc.in), &out, &errs)
			if code == exitOK || !strings.Contains(errs.String(), tc.want) || strings.Contains(errs.String(), "hunter2") || strings.Contains(errs.String(), someCode) {
				t.Errorf("code %d, printed %q; want %q", code, errs.String(), tc.want)
			}
		})
	}
}

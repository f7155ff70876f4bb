package rig

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Ran is what one run of the command line printed, and its exit code.
type Ran struct {
	Out, Err string
	Code     int
}

// Run runs the command line against the server with a token.
func (s *Server) Run(t testing.TB, token string, args ...string) Ran {
	t.Helper()
	var out, errs bytes.Buffer
	command := exec.CommandContext(t.Context(), Binary(t, "rockpool"), args...)
	command.Env = append(os.Environ(), "ROCKPOOL_SERVER="+s.URL, "ROCKPOOL_TOKEN="+token,
		"ROCKPOOL_CREDENTIALS="+filepath.Join(t.TempDir(), "credentials"))
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run rockpool %v: %v", args, err)
	}
	return Ran{Out: out.String(), Err: errs.String(), Code: command.ProcessState.ExitCode()}
}

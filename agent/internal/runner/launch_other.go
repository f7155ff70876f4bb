//go:build !linux

package runner

import "os/exec"

// launch prepares a command; nothing but its group and its priority is set here.
func launch(c command) (*exec.Cmd, *launchReport, error) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	ownGroup(cmd)
	return cmd, &launchReport{}, nil
}

// launchReport has nothing to tell: what fails, fails when the command is started.
type launchReport struct{}

func (*launchReport) wait() error { return nil }

func selfTestCommand(argv []string, _ *Account) (*exec.Cmd, error) {
	return exec.Command(argv[0], argv[1:]...), nil
}

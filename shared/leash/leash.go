// Package leash starts processes that end with the one that started them.
package leash

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts cmd, which gets sig when this process ends, however that comes; on
// systems other than Linux it does not. ended is called once, with what Wait says.
func Start(cmd *exec.Cmd, sig syscall.Signal, ended func(error)) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	tie(cmd.SysProcAttr, sig)
	started := make(chan error)
	go func() {
		// The signal comes when the thread that started the child ends: it lives as
		// long as the child does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended(cmd.Wait())
		}
	}()
	return <-started
}

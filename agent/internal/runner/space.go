package runner

import (
	"errors"
	"os"
	"slices"
	"strings"

	"rockpool/agent/internal/durable"
)

const (
	fullBelow = 1 << 20 // bytes: a tool's write fails before the last byte is gone
	noSpace   = "no space left on device"
)

// blamable are the failures that a full disk explains.
var blamable = []string{causeExitCode, causeSignaled, causeStartFailed, causeOutputMissing}

// blameDisk names the disk as the reason of a failure, where it has no room: tools
// say so in many ways, or not at all. One that says so is believed where it could
// have filled the disk: it may have tidied up, and it may have met another disk.
func (a *attempt) blameDisk(err error) error {
	if err == nil || errors.Is(err, errStopped) {
		return err
	}
	var f *failure
	if errors.As(err, &f) && !slices.Contains(blamable, f.cause) {
		return err
	}
	if durable.IsFull(err) || a.roomBelow(fullBelow) || strings.Contains(strings.ToLower(err.Error()), noSpace) && a.roomBelow(a.mayWrite()) {
		return failed(causeDiskFull, "this node's disk has no room: "+strings.TrimPrefix(err.Error(), causeStartFailed+": "))
	}
	return err
}

// roomBelow reports that the disk of jobs has less than so many bytes, or that it
// takes no file at all.
func (a *attempt) roomBelow(bytes int64) bool {
	if _, free, err := durable.Space(a.set.dir); err == nil && free < bytes {
		return true
	}
	file, err := os.CreateTemp(a.set.dir, "room-*")
	if err != nil {
		return durable.IsFull(err)
	}
	_, _ = file.Close(), os.Remove(file.Name())
	return false
}

// mayWrite is how many bytes the attempt may write; 0: it is no program's.
func (a *attempt) mayWrite() int64 {
	switch t := a.task.(type) {
	case *Spec:
		return int64(t.DiskLimit)
	case *execTask:
		return int64(t.spec.DiskLimit)
	}
	return 0
}

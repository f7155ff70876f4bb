package runner

import (
	"errors"
	"slices"
	"strings"

	"rockpool/agent/internal/durable"
)

const (
	fullBelow = 1 << 20 // bytes: a tool's write fails before the last byte is gone
	noSpace   = "No space left on device"
)

// blamable are the failures that a full disk explains.
var blamable = []string{causeExitCode, causeSignaled, causeStartFailed, causeOutputMissing}

// blameDisk names the disk as the reason of a failure, where it has no room: tools
// say so in many ways, or not at all.
func (a *attempt) blameDisk(err error) error {
	if err == nil || errors.Is(err, errStopped) {
		return err
	}
	var f *failure
	if errors.As(err, &f) && !slices.Contains(blamable, f.cause) {
		return err
	}
	_, free, unknown := durable.Space(a.set.dir)
	if unknown == nil && free < fullBelow || durable.IsFull(err) || strings.Contains(err.Error(), noSpace) {
		return failed(causeDiskFull, "this node's disk has no room: "+strings.TrimPrefix(err.Error(), causeStartFailed+": "))
	}
	return err
}

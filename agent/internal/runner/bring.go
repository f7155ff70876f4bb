package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"rockpool/agent/internal/durable"
	"rockpool/agent/internal/unpack"
	"rockpool/shared/wire"
)

// maxEntries is how many files and folders an archive may hold, those in paths too.
const maxEntries = 10_000

// bring puts one input where the job finds it: a file, or the folder of what was in
// it where the runner has it unpacked.
func (a *attempt) bring(ctx context.Context, in wire.Input) error {
	place := filepath.Join(a.inDir(), in.Name)
	spec, declared := a.task.(*Spec)
	if !declared || !slices.Contains(spec.Unpack, in.Name) {
		return a.set.fetch(ctx, in, place)
	}
	packed := filepath.Join(a.dir, "packed")
	if err := a.set.fetch(ctx, in, packed); err != nil {
		return err
	}
	if err := os.Mkdir(place, 0o700); err != nil {
		return diskError{err}
	}
	limits := unpack.Limits{Bytes: int64(spec.UnpackLimit), Entries: maxEntries}
	return errors.Join(unpack.Archive(ctx, packed, place, limits), os.Remove(packed))
}

// inputFailure says whose fault it is that an input is not there: the job's, which
// brought what is no archive, this node's, or that of the way.
func inputFailure(in wire.Input, err error) error {
	detail := fmt.Sprintf("input %s: %v", in.Name, err)
	var refused *unpack.Refused
	switch {
	case errors.As(err, &refused):
		return failed(causeBadInput, fmt.Sprintf("input %s can't be unpacked: %s", in.Name, wire.CleanText(refused.Why, 500)))
	case durable.IsFull(err):
		return failed(causeDiskFull, detail)
	}
	return failed(causeInputFailed, detail)
}

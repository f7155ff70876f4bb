package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Probes by name, as PlayProbe knows them.
const (
	ProbeInsertUpdate = "insert-update" // of a row, in batches of 512
	ProbeExec         = "exec"          // of /bin/true, as many at a time as ProbeExecs
)

const probeBatch = 512

// ProbeExecs is how many processes run at a time, which Rockpool has as slots: as
// docs/runners.md advises for jobs this short.
const ProbeExecs = 32

// PlayProbe is a probe's process. It speaks as `rockpool load --on-demand` does: a
// greeting, then for each line of in, a number, so many operations and a line with
// the time that they took.
func PlayProbe(ctx context.Context, name, database string, in io.Reader, out io.Writer) (err error) {
	var run func(ctx context.Context, n int) error
	switch name {
	case ProbeInsertUpdate:
		p, err := newProbe(ctx, database, probeBatch)
		if err != nil {
			return err
		}
		run = p.run
		defer func() { err = errors.Join(err, p.close(ctx)) }()
	case ProbeExec:
		run = execMany
	default:
		return fmt.Errorf("there is no probe %q", name)
	}
	answers := json.NewEncoder(out)
	if err := answers.Encode(map[string]any{"processes": []int{os.Getpid()}}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number of operations", lines.Text())
		}
		began := time.Now()
		if err := run(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := answers.Encode(map[string]any{"jobs": n, "seconds": time.Since(began).Seconds()}); err != nil {
			return err
		}
	}
	return lines.Err()
}

// execMany starts /bin/true so many times and waits for each.
func execMany(ctx context.Context, n int) error {
	var next atomic.Int64
	var starters sync.WaitGroup
	errs := make(chan error, ProbeExecs)
	for range ProbeExecs {
		starters.Go(func() {
			for next.Add(1) <= int64(n) {
				if err := exec.CommandContext(ctx, "/bin/true").Run(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	starters.Wait()
	close(errs)
	return <-errs
}

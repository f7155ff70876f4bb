package runner

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rockpool/shared/wire"
)

// check implements task.
func (s *Spec) check(p wire.Payload) error {
	if _, err := s.fillParams(p.Params); err != nil {
		return err
	}
	return checkInputs(s.Inputs, p.Inputs)
}

// run implements task: it starts the program, watches it, ends what is left of it
// and judges what it left.
func (s *Spec) run(a *attempt, r *wire.Result) error {
	argv, err := s.command(a)
	if err != nil {
		return failed(causeBadParams, err.Error())
	}
	return s.runCommand(a, r, argv)
}

// runCommand runs a command as the declaration says of limits and success.
func (s *Spec) runCommand(a *attempt, r *wire.Result, argv []string) error {
	out := newOutput(filepath.Join(a.dir, logFile), int64(s.LogLimit), s.Success.without)
	defer func() { _ = out.close() }()
	defer func() { out.ends(r) }()
	a.log.Store(out)
	var err error
	if len(a.offer.Payload.Inputs) > 0 {
		if a.brought, err = folderSize(a.ctx, a.inDir()); err != nil {
			return failed(causeStartFailed, "measure the job's inputs: "+err.Error())
		}
	}
	p, err := s.start(a, argv, out)
	if err != nil {
		return failed(causeStartFailed, err.Error())
	}
	a.ran = true
	limit := a.runLimit(time.Duration(s.Timeout))
	ctx, cancel := context.WithTimeoutCause(a.ctx, limit, &failure{wire.ResultTimedOut, causeRunTimeout, fmt.Sprintf("ran longer than %v", limit)})
	defer cancel()
	why := s.watch(ctx, a, p)
	end := p.finish()
	a.set.notes.drop(p.note)
	a.haunted = !p.group.wasAlone()
	r.ExitCode = new(int64(end.code))
	if why != nil {
		return why
	}
	if err := s.judge(end, out); err != nil {
		return err
	}
	if err := s.harvest(ctx, a, r, out); err != nil {
		return cmp.Or(a.asked(ctx), err)
	}
	return nil
}

// harvest takes what a run left. It ends with its ctx: a file that a job made in a
// moment may take hours to read.
func (s *Spec) harvest(ctx context.Context, a *attempt, r *wire.Result, out *output) error {
	if a.clean = a.home.untouched(); !a.clean {
		if err := s.measure(ctx, a); err != nil {
			return err
		}
		if len(s.files()) > 0 && a.roomBelow(fullBelow) { // a tool that met the end of the disk need not say so
			return failed(causeDiskFull, "this node's disk has no room: what the tool left may be cut")
		}
	}
	if err := s.collect(ctx, a, r); err != nil {
		return err
	}
	output, err := s.result(a, out)
	r.Output = output
	return err
}

// asked is why a run has to end; nil: it need not.
func (a *attempt) asked(ctx context.Context) error {
	switch {
	case a.ctx.Err() != nil:
		return errStopped
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// command fills the argv.
func (s *Spec) command(a *attempt) ([]string, error) {
	params, err := s.fillParams(a.offer.Payload.Params)
	if err != nil {
		return nil, err
	}
	return s.fillArgv(s.argv, func(p piece) string {
		switch p.hole {
		case holeIn:
			return filepath.Join(a.inDir(), p.name)
		case holeOut:
			return filepath.Join(a.workDir(), p.name)
		case holeParam:
			return params[p.name]
		}
		return a.set.book.fixed(s, p)
	}), nil
}

func (s *Spec) start(a *attempt, argv []string, out *output) (*process, error) {
	book, m := a.set.book, a.marker()
	if err := a.handInputs(book.account); err != nil {
		return nil, err
	}
	group, err := a.set.cgroups.make(filepath.Base(a.dir), s.limits())
	if err != nil {
		return nil, err
	}
	p, err := start(command{
		argv: argv, env: slices.Concat([]string{"TMPDIR=" + a.tmpDir()}, book.allowed(s.Env), m.env()), dir: a.workDir(), marker: m,
		limits: s.limits(), account: book.account, cgroup: group, output: out, threads: &a.set.threads,
	})
	if err != nil {
		group.remove()
		return nil, err
	}
	if p.note, err = a.set.notes.put(a.dir, p.cmd.Process.Pid, p.group.startOf(p.cmd.Process.Pid)); err != nil {
		a.set.log.Warn("a job's process is not written down", "job", m.job, "error", err)
	}
	return p, nil
}

// watchDisk is how often a job's folder is measured, and what its processes take.
const watchDisk = 500 * time.Millisecond

// runLimit is how long the attempt may run: as its runner says, or less as its job.
func (a *attempt) runLimit(limit time.Duration) time.Duration {
	if ms := a.offer.Limits.RunMs; ms > 0 {
		return min(limit, time.Duration(min(ms, limit.Milliseconds()+1))*time.Millisecond)
	}
	return limit
}

// watch returns when the program has ended by itself, or ends it for a reason.
func (s *Spec) watch(ctx context.Context, a *attempt, p *process) error {
	disk := time.NewTicker(watchDisk)
	defer disk.Stop()
	for {
		select {
		case <-p.exited:
			return nil
		case <-ctx.Done():
			if a.ctx.Err() == nil {
				p.end(a.set.stopGrace)
			} else if p.over() {
				return nil
			} else {
				p.end(a.grace)
			}
			return a.asked(ctx)
		case <-disk.C:
			if err := s.measure(ctx, a); err != nil && ctx.Err() == nil {
				p.end(0)
				return err
			}
			if over := s.over(p.group.usage()); over != "" {
				p.end(0)
				return failed(causeLimitPassed, over)
			}
		}
	}
}

// measure says whether a job has written more than it may. A folder that it made so
// that nobody can tell is too much.
func (s *Spec) measure(ctx context.Context, a *attempt) error {
	size, err := folderSize(ctx, a.dir)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return failed(causeOutputTooLarge, "its folder can't be measured: "+err.Error())
	case size-a.brought > int64(s.DiskLimit)+int64(s.LogLimit):
		return failed(causeOutputTooLarge, fmt.Sprintf("wrote more than disk_limit = %v", s.DiskLimit))
	}
	return nil
}

// judge compares an end with the rule of success. What a tool says last is
// usually why it failed.
func (s *Spec) judge(e ended, out *output) error {
	var f *failure
	switch {
	case e.signal != "":
		f = failed(causeSignaled, "killed by "+e.signal)
	case !slices.Contains(s.Success.Exit, e.code):
		f = failed(causeExitCode, strings.TrimSuffix(fmt.Sprintf("exit code %d: %s", e.code, lastLines(out.last())), ": "))
	}
	if e.overMemory || f != nil && s.over(usage{memory: e.maxMemory}) != "" {
		return failed(causeLimitPassed, fmt.Sprintf("used more than memory_limit = %v (exit code %d)", s.MemoryLimit, e.code))
	}
	if f != nil {
		return f
	}
	if line := out.refused(); line != "" {
		return failed(causeOutputMissing, "the log says: "+wire.CleanText(line, 500))
	}
	return nil
}

// lastLines are a few lines of a log as one for people.
func lastLines(log []byte) string {
	const most = 4
	lines := strings.FieldsFunc(string(log), func(c rune) bool { return c == '\n' || c == '\r' })
	return wire.CleanText(strings.Join(lines[max(0, len(lines)-most):], "; "), 500)
}

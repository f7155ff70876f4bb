package runner

import (
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
	out, err := newOutput(filepath.Join(a.dir, "log"), int64(s.LogLimit), s.Success.without)
	if err != nil {
		return failed(causeStartFailed, err.Error())
	}
	defer func() { _ = out.close() }()
	defer func() { out.ends(r) }()
	a.log.Store(out)
	p, err := s.start(a, argv, out)
	if err != nil {
		return failed(causeStartFailed, err.Error())
	}
	a.ran = true
	why := s.watch(a, p)
	end := p.finish()
	r.ExitCode = int64(end.code)
	if why != nil {
		return why
	}
	if err := s.judge(end, out); err != nil {
		return err
	}
	if err := s.collect(a.workDir(), r); err != nil {
		return err
	}
	r.Output, err = s.result(a.workDir(), out)
	return err
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
	if err := noteProcess(a.dir, m, 0); err != nil {
		return nil, err
	}
	if err := a.handFolders(book.account); err != nil {
		return nil, err
	}
	group, err := a.set.cgroups.make(filepath.Base(a.dir), s.limits())
	if err != nil {
		return nil, err
	}
	p, err := start(command{
		argv: argv, env: append(book.allowed(s.Env), m.env()...), dir: a.workDir(), marker: m,
		limits: s.limits(), account: book.account, cgroup: group, output: out,
	})
	if err != nil {
		group.remove()
		return nil, err
	}
	if err := noteProcess(a.dir, m, p.cmd.Process.Pid); err != nil {
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
func (s *Spec) watch(a *attempt, p *process) error {
	limit := a.runLimit(time.Duration(s.Timeout))
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	disk := time.NewTicker(watchDisk)
	defer disk.Stop()
	for {
		select {
		case <-p.exited:
			return nil
		case <-a.ctx.Done():
			if p.over() {
				return nil
			}
			p.end(a.grace)
			return errStopped
		case <-timeout.C:
			p.end(a.set.stopGrace)
			return &failure{wire.ResultTimedOut, causeRunTimeout, fmt.Sprintf("ran longer than %v", limit)}
		case <-disk.C:
			if size := folderSize(a.dir) - inputSize(a.offer.Payload); size > int64(s.DiskLimit)+int64(s.LogLimit) {
				p.end(0)
				return failed(causeOutputTooLarge, fmt.Sprintf("wrote more than disk_limit = %v", s.DiskLimit))
			}
			if over := s.over(p.group.usage()); over != "" {
				p.end(0)
				return failed(causeLimitPassed, over)
			}
		}
	}
}

func inputSize(p wire.Payload) (size int64) {
	for _, in := range p.Inputs {
		size += in.Size
	}
	return size
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

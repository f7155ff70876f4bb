package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// errStopped says that an attempt ended because it was asked to.
var errStopped = errors.New("stopped")

// attempt is one attempt under way.
type attempt struct {
	set     *Set
	ref     nodecore.Ref
	offer   wire.Offer
	task    task
	dir     string
	home    folder // at dir, once it is made
	clean   bool   // the job has left it as it was made
	haunted bool   // a process may be in it yet that nobody knows to be the job's

	ctx   context.Context // ends when the attempt is asked to stop
	stop  context.CancelFunc
	grace time.Duration // written before ctx ends
	ran   bool          // the program was started

	log atomic.Pointer[output] // nil until the program runs, and of a runner without one

	brought int64               // bytes of the inputs, as the program found them
	found   map[string]*os.File // the declared files that it left, by name
}

// What is in the folder of an attempt.
const (
	inFolder   = "in" // made for who has inputs
	workFolder = "work"
	tmpFolder  = "tmp"
	logFile    = "log" // made for who prints
)

func (a *attempt) inDir() string   { return filepath.Join(a.dir, inFolder) }
func (a *attempt) workDir() string { return workDir(a.dir) }
func (a *attempt) tmpDir() string  { return filepath.Join(a.dir, tmpFolder) }

// workDir is where the processes of the attempt with that folder begin.
func workDir(folder string) string { return filepath.Join(folder, workFolder) }

func (a *attempt) marker() marker {
	return markerOf(a.ref, a.dir)
}

// run takes the attempt from its folder to its result. When it returns, nothing
// of the attempt is left but the result.
func (a *attempt) run() Done {
	r := wire.Result{Job: a.ref.Job.String(), Attempt: int64(a.ref.Attempt), Status: wire.ResultSucceeded}
	err := a.work(&r)
	a.leave()
	var f *failure
	switch {
	case errors.Is(err, errStopped):
		r.Status = wire.ResultCanceled
		return Done{Ref: a.ref, Result: r, Stopped: true}
	case errors.As(err, &f):
		r.Status, r.Reason, r.Detail = f.status, f.cause, f.detail
	case err != nil:
		r.Status, r.Reason, r.Detail = wire.ResultFailed, causeStartFailed, err.Error()
	}
	end := Done{Ref: a.ref, Result: r, Ran: a.ran}
	if !a.ran && (r.Reason == causeStartFailed || r.Reason == causeDiskFull) {
		end.Unstarted = r.Detail
	}
	return end
}

// leave gives the folder back, or removes it.
func (a *attempt) leave() {
	if a.home.path != "" && !a.haunted && (a.clean || a.home.untouched()) && a.set.folders.give(a.home) {
		return
	}
	if err := removeFolder(a.dir); err != nil {
		a.set.log.Warn("the folder of a job can't be removed", "job", a.ref.Job, "attempt", a.ref.Attempt, "error", err)
	}
}

func (a *attempt) work(r *wire.Result) error {
	if err := a.task.check(a.offer.Payload); err != nil {
		return failed(causeBadParams, err.Error())
	}
	return a.blameDisk(a.workChecked(r))
}

// workChecked works on what fits the runner.
func (a *attempt) workChecked(r *wire.Result) error {
	var err error
	if a.home, err = a.set.folders.take(a.dir); err != nil {
		return failed(causeStartFailed, err.Error())
	}
	if len(a.offer.Payload.Inputs) > 0 {
		if err := os.Mkdir(a.inDir(), 0o700); err != nil {
			return failed(causeStartFailed, "make the job's folder: "+err.Error())
		}
	}
	if err := a.fetchAll(r); err != nil {
		return err
	}
	defer a.closeFound()
	began := time.Now()
	err = a.task.run(a, r)
	r.RunMs = time.Since(began).Milliseconds()
	if err == nil {
		err = a.handOver(r.Outputs)
	}
	if err != nil {
		r.Outputs = nil // nobody shall look for what may not have arrived
	}
	return err
}

// handInputs gives the inputs to the user that the job runs as.
func (a *attempt) handInputs(to *Account) error {
	if to == nil || len(a.offer.Payload.Inputs) == 0 {
		return nil
	}
	err := filepath.WalkDir(a.inDir(), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, to.UID, to.GID))
	})
	if err != nil {
		return fmt.Errorf("hand the job's inputs to job_user: %w", err)
	}
	return nil
}

// fetchAll brings the inputs into the folder, within the time that a run gets.
func (a *attempt) fetchAll(r *wire.Result) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(a.ctx, fetchTime)
	defer cancel()
	for _, in := range a.offer.Payload.Inputs {
		err := a.bring(ctx, in)
		if a.ctx.Err() != nil {
			return errStopped
		}
		if err != nil {
			return inputFailure(in, err)
		}
	}
	r.FetchMs = time.Since(began).Milliseconds()
	return nil
}

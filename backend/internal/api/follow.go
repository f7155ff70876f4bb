package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Logs follows the log of an attempt on its node.
type Logs interface {
	// Follow shows pieces from an offset on, until the attempt does not run there any
	// more or the node is away (nil), ctx ends or show fails. A piece may begin
	// beyond the end of the one before. rate_limited: too many logs are followed there.
	Follow(ctx context.Context, node string, job ids.JobID, attempt int32, from int64, show func(at int64, part []byte) error) error
}

// Bounds of following a job's log.
const (
	followPoll    = 500 * time.Millisecond // how often a job that does not run is looked at
	followRecheck = 30 * time.Second       // how often rights are asked anew
	followStall   = 30 * time.Second       // a reader that takes nothing for so long is cut
	followJob     = 16                     // followers of one job
	followAll     = 256                    // followers of all jobs
)

// follows counts who follows.
type follows struct {
	mu  sync.Mutex
	job map[ids.JobID]int
	all int
}

func (f *follows) enter(id ids.JobID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job[id] >= followJob || f.all >= followAll {
		return fleet.Errorf(fleet.CodeRateLimited, "too many clients follow logs; read the log without follow, or try again")
	}
	if f.job == nil {
		f.job = map[ids.JobID]int{}
	}
	f.job[id]++
	f.all++
	return nil
}

func (f *follows) leave(id ids.JobID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all--
	if f.job[id]--; f.job[id] == 0 {
		delete(f.job, id)
	}
}

// follower is one client that follows a job's log.
type follower struct {
	a       *API
	c       *call
	conn    *http.ResponseController
	id      ids.JobID
	attempt int32 // that is followed; 0: none ran yet
	at      int64 // bytes of its log that are shown or passed over
	full    bool  // it was said that the node's logs have too many followers
}

// followLog streams a job's log as text, until the attempt's end. The end is cut,
// so that no client takes it for the log's, when the server stops, the rights are
// gone or the client reads nothing.
func (a *API) followLog(c *call, id ids.JobID) error {
	if err := a.follows.enter(id); err != nil {
		return err
	}
	defer a.follows.leave(id)
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMETextPlainCharsetUTF8)
	c.Response().WriteHeader(http.StatusOK)
	f := &follower{a: a, c: c, conn: http.NewResponseController(c.Response()), id: id}
	if err := f.run(); err != nil {
		a.log.Debug("a log is followed no more", "job", id, "request_id", requestID(c.Context), "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// run looks at the job until all is shown.
func (f *follower) run() error {
	if err := f.flush(); err != nil {
		return err
	}
	poll := time.NewTicker(followPoll)
	defer poll.Stop()
	checked := time.Now()
	for {
		if now := time.Now(); now.Sub(checked) >= followRecheck {
			checked = now
			if err := f.recheck(); err != nil {
				return err
			}
		}
		if done, err := f.step(); done || err != nil {
			return err
		}
		select {
		case <-poll.C:
		case <-f.c.ctx().Done():
			return f.c.ctx().Err()
		}
	}
}

// recheck asks again for what the request was let in with.
func (f *follower) recheck() error {
	who, err := f.a.gate.Identify(f.c.ctx(), f.c.Request().Header, peer(f.c))
	if err != nil {
		return err
	}
	f.c.who, f.c.scope = who, f.a.policy.Decide(who.Grants(), "job", "read")
	if f.c.scope.None() {
		return fleet.Errorf(fleet.CodeForbidden, "this credential may not read a job any more")
	}
	_, err = f.a.store.Job(f.c.ctx(), f.id, f.c.rows())
	return err
}

// step shows what there is to show of the job as it is now.
func (f *follower) step() (done bool, err error) {
	live, err := f.a.dispatch.LiveJobs(f.c.ctx(), []ids.JobID{f.id})
	if err != nil {
		return false, err
	}
	job, open := live[f.id]
	switch {
	case !open:
		return true, f.stored()
	case f.attempt != 0 && (job.Attempt != f.attempt || job.State == fleet.JobQueued):
		return true, f.goesOn()
	case job.State == fleet.JobRunning || job.State == fleet.JobCanceling:
		return false, f.running(&job)
	}
	return false, nil
}

// running shows the log as the node tells it.
func (f *follower) running(job *core.JobView) error {
	f.attempt = job.Attempt
	ctx, cancel := context.WithTimeout(f.c.ctx(), followRecheck)
	defer cancel()
	err := f.a.logs.Follow(ctx, job.Node, f.id, job.Attempt, f.at, f.show)
	var known *fleet.Error
	switch {
	case f.c.ctx().Err() != nil:
		return f.c.ctx().Err()
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return nil
	case errors.As(err, &known) && known.Code == fleet.CodeRateLimited:
		return f.tooMany()
	}
	return err
}

func (f *follower) tooMany() error {
	if f.full {
		return nil
	}
	f.full = true
	return f.say("too many logs of this node are followed: waiting")
}

// stored shows what came with the result of what was not shown yet.
func (f *follower) stored() error {
	if _, err := f.a.dispatch.Wait(f.c.ctx(), f.id); err != nil { // an end whose commit is in doubt
		return err
	}
	log, err := f.a.store.JobLog(f.c.ctx(), f.id)
	switch {
	case isNotFound(err): // ended without a result
		return nil
	case err != nil:
		return err
	case f.attempt != 0 && log.Attempt != f.attempt:
		return f.goesOn()
	}
	if err := f.show(0, log.Head); err != nil {
		return err
	}
	return f.show(log.Bytes-int64(len(log.Tail)), log.Tail)
}

func (f *follower) goesOn() error {
	return f.say(fmt.Sprintf("attempt %d is over; follow again for the next one", f.attempt))
}

// show writes a piece, of which some may have been shown, and marks what is missing
// before it.
func (f *follower) show(at int64, part []byte) error {
	if at+int64(len(part)) <= f.at {
		return nil
	}
	if at < f.at {
		part, at = part[f.at-at:], f.at
	}
	if missing := at - f.at; missing > 0 {
		if err := f.say(fmt.Sprintf("%d bytes are not kept", missing)); err != nil {
			return err
		}
	}
	f.at = at + int64(len(part))
	return f.write(part)
}

// say writes a line of ours between those of the log.
func (f *follower) say(text string) error { return f.write([]byte("\n[rockpool: " + text + "]\n")) }

func (f *follower) write(part []byte) error {
	_ = f.conn.SetWriteDeadline(time.Now().Add(followStall)) // not every writer has one
	if _, err := f.c.Response().Write(part); err != nil {
		return err
	}
	return f.flush()
}

// flush sends what is written; the deadline of the write is that of the sending,
// and none stays for the connection's next request.
func (f *follower) flush() error {
	if err := f.conn.Flush(); err != nil {
		return err
	}
	_ = f.conn.SetWriteDeadline(time.Time{})
	return nil
}

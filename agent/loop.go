package agent

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"rockpool/agent/internal/identity"
	"rockpool/agent/internal/link"
	"rockpool/agent/internal/local"
	"rockpool/agent/internal/runner"
	"rockpool/agent/internal/systemd"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// loop owns the deciding code: one goroutine gives it events and acts on its
// effects. It never waits for the disk, the network or a job, so that heartbeats
// go out whatever these do.
type loop struct {
	node  *nodecore.Node
	out   nodecore.Effects
	clock clock
	slept time.Duration

	id        *identity.Identity
	link      *link.Link
	runners   *runner.Set
	ended     chan runner.Done
	disk      *disk
	tasks     []diskTask // for the disk, which is busy
	hello     wire.Hello // what does not change between sessions
	tails     tails
	rotation  *rotation
	log       *slog.Logger
	inventory wire.Inventory // what was collected last
	collected chan wire.Inventory

	selfTest   *selfTest           // while starts fail
	asked      chan func(*loop)    // by the node's owner
	supervisor *systemd.Supervisor // nil: none
	isolation  []string            // what keeps jobs apart here
	server     string              // its address
	begun      sync.Once           // with the first welcome the start is over
	pool       string              // as the newest welcome said
	refusal    *local.Refusal      // since the newest welcome; nil: none
	acked      time.Time           // newest acknowledged heartbeat; zero: none yet
	goodbye    wire.GoodbyeKind    // what the end will say
	left       bool                // it said that the node leaves

	offers  map[nodecore.Ref]wire.Offer  // accepted, not started
	results map[nodecore.Ref]wire.Result // ended, not in the spool yet, or since this turn
	kept    []nodecore.Ref               // those that are in the spool since this turn
}

// run turns until the node has ended. The end of ctx, and then each value from
// hurry, is a signal to stop.
func (l *loop) run(ctx context.Context, hurry <-chan struct{}) {
	stop := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer l.tails.stop()
	defer l.rotation.stop()
	defer l.selfTest.stop()
	for !l.out.Exit {
		l.out.Reset()
		asked := l.tasksFor()
		select {
		case <-timer.C:
			l.node.Tick(l.clock.now(), &l.out)
		case e := <-l.link.Events():
			l.heard(e)
		case d := <-l.ended:
			l.results[d.Ref] = d.Result
			l.node.Finished(l.clock.now(), d.Ref, nodecore.End{Stopped: d.Stopped, Ran: d.Ran, Unstarted: d.Unstarted}, &l.out)
		case l.inventory = <-l.collected:
			l.node.Inventory(l.clock.now(), &l.out)
		case why := <-l.selfTest.done:
			l.node.SelfTested(l.clock.now(), why, &l.out)
		case what := <-l.asked:
			what(l)
		case <-l.supervisor.Pulse():
			l.pulse()
		case id := <-l.rotation.done:
			l.rotated(id)
		case <-l.tails.ticks():
			l.tails.answer(time.Now(), l.runners, l.sendLog)
		case done := <-l.disk.done:
			for _, d := range done {
				l.stored(d)
			}
		case asked <- l.tasks:
			l.tasks = nil // they are the disk's
		case <-stop:
			stop = nil
			l.tellSupervisor(l.supervisor.Stopping())
			l.log.Info("stopping: no new work; running jobs may end until the stop timeout")
			l.node.Stop(l.clock.now(), &l.out)
		case <-hurry:
			l.log.Info("stopping now: running jobs are ended")
			l.node.Stop(l.clock.now(), &l.out)
		}
		l.wakeUp()
		l.act()
		timer.Reset(l.clock.until(l.node.Next()))
	}
}

// tasksFor is where tasks go; nil while there are none.
func (l *loop) tasksFor() chan<- []diskTask {
	if len(l.tasks) == 0 {
		return nil
	}
	return l.disk.asked
}

// wakeUp notices that the machine was suspended.
func (l *loop) wakeUp() {
	slept := suspended()
	if slept-l.slept > sleepNotice {
		l.log.Info("the machine was suspended", "for", (slept - l.slept).Round(time.Second).String())
		l.node.Woke(l.clock.now(), &l.out)
	}
	l.slept = slept
}

// stored tells what came of the disk's work.
func (l *loop) stored(d diskDone) {
	now := l.clock.now()
	switch {
	case d.changed:
		l.log.Info("the file of the node's secret was changed")
		l.node.Redial(now, "another secret", &l.out)
	case d.room:
		l.node.Disk(now, d.full, &l.out)
	case d.remembered != nil:
		l.node.Remembered(now, d.remembered.Chain, d.err == nil, &l.out)
	case d.unreadable:
		l.node.Unreadable(now, d.ref, &l.out)
	case d.err != nil:
		l.node.StoreFailed(now, d.ref, &l.out)
	default:
		l.node.Stored(now, d.ref, bytesOf(l.results[d.ref]), &l.out)
		l.kept = append(l.kept, d.ref)
	}
}

// heard gives what came over the channel to the deciding code.
func (l *loop) heard(e link.Event) {
	now := l.clock.now()
	switch e := e.(type) {
	case link.Dialed:
		l.node.Dialed(now, e.Conn, &l.out)
	case link.Closed:
		l.tellSupervisor(l.supervisor.Text("no connection: it is tried again"))
		l.node.Closed(now, e.Conn, l.floorOf(e), &l.out)
	case link.Received:
		for _, body := range e.Bodies {
			l.heardMessage(now, e.Conn, body)
		}
	}
}

// floorOf is the least wait after the end of a connection.
func (l *loop) floorOf(e link.Closed) nodecore.Time {
	if e.Status == http.StatusUnauthorized && l.id.Refused() {
		l.log.Info("the new secret is not known yet: the old one is shown again")
		return 0
	}
	l.lost(e)
	return nodecore.FloorOfStatus(e.Status, milliseconds(e.Floor))
}

func (l *loop) heardMessage(now nodecore.Time, conn int64, body wire.Body) {
	switch m := body.(type) {
	case wire.Welcome:
		l.log.Info("session open", "node", m.NodeID, "epoch", m.Epoch, "pool", m.Pool)
		l.node.Welcome(now, conn, link.Welcome(m), &l.out)
		l.pool, l.refusal = m.Pool, nil
		l.tellSupervisor(l.supervisor.Text("session open as " + m.NodeID))
	case wire.Refused:
		l.refuse(local.Refusal{Code: m.Code, Detail: m.Detail, Advice: helloAdvice[m.Code]})
		l.node.Refused(now, conn, nodecore.Refusal{
			Code: m.Code, Detail: m.Detail, RetryAfter: nodecore.Time(m.RetryAfterMs), Fatal: m.Fatal,
		}, &l.out)
	case wire.HeartbeatAck:
		l.node.HeartbeatAck(now, conn, link.Ack(m), &l.out)
		if m.OK {
			l.acknowledged()
		}
	case wire.Offer:
		l.heardOffer(now, conn, m)
	case wire.Start:
		l.node.Start(now, conn, link.Ref(m.Job, m.Attempt), &l.out)
	case wire.Void:
		l.node.Void(now, conn, link.Ref(m.Job, m.Attempt), &l.out)
	case wire.Cancel:
		l.node.Cancel(now, conn, nodecore.Stop{Ref: link.Ref(m.Job, m.Attempt), Grace: nodecore.Time(m.GraceMs)}, &l.out)
	case wire.Rotate:
		l.rotate(m.ID)
	case wire.LogRequest:
		l.tails.ask(time.Now(), conn, m)
	case wire.ResultAck:
		l.node.ResultAck(now, conn, link.Ref(m.Job, m.Attempt), string(m.Verdict), &l.out)
	}
}

// heardOffer keeps what is offered until the decision: an offer that is declined
// is forgotten again. The first of two with the same key counts.
func (l *loop) heardOffer(now nodecore.Time, conn int64, m wire.Offer) {
	ref := link.Ref(m.Job, m.Attempt)
	if _, there := l.offers[ref]; !there {
		l.offers[ref] = m
	}
	l.node.Offer(now, conn, nodecore.Offer{Ref: ref, Runner: m.Runner, Backend: m.Backend, Slots: int(m.Demands.Slots)}, &l.out)
	if !l.node.Holds(ref) {
		delete(l.offers, ref)
	}
}

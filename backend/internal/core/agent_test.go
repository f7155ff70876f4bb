package core

import (
	"fmt"
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// agent is a node's process as far as the core can see it.
type agent struct {
	id      string
	slots   int64
	backend string
	boot    int
	epoch   int64
	place   int32
	open    bool
	ready   bool // had its welcome
	mail    []Send
	work    []task
	spool   []handIn
	begun   map[Attempt]bool // started ever, over all boots

	machine  string
	chain    fleet.Sum // what its disk has
	gets     fleet.Sum // what the welcome under way brings
	secret   fleet.Sum
	rotation string // that it was asked for
	refused  fleet.Code
}

type task struct {
	Attempt
	started, canceled bool
}

type handIn struct {
	Attempt
	res *fleet.Result
}

func (w *world) connect(a *agent) {
	if a.open {
		return
	}
	hello := HelloEvent{Node: a.id, Report: &fleet.NodeReport{
		BootID: fmt.Sprint(a.boot), Capacity: fleet.Vector{Slots: a.slots}, Runners: []string{"noop"}, Backend: a.backend,
		MachineID: a.machine, RemoteAddr: "192.0.2." + fmt.Sprint(a.boot),
	}, Running: a.running(), Spooled: int64(len(a.spool)), Secret: a.secret, Chain: a.chain, ChainNext: w.nextChain(), LastEpoch: a.epoch}
	hello.Claimant = fmt.Sprintf("%d-%x", a.boot, a.chain[:2])
	opened, refused := w.d.Hello(w.now, hello, w.pending)
	if a.refused = ""; refused != nil {
		a.refused = refused.Code
	} else {
		a.epoch, a.place, a.open, a.ready, a.mail, a.gets = opened.Epoch, opened.place, true, false, nil, hello.ChainNext
	}
	w.after()
}

func (a *agent) session() Session { return Session{Node: a.id, Epoch: a.epoch, place: a.place} }

func (a *agent) running() []Running {
	var list []Running
	for _, t := range a.work {
		r := Running{Job: t.Job, Attempt: t.Attempt.Attempt}
		if t.started {
			r.Phase, r.Percent = PhaseRunning, 50
		}
		list = append(list, r)
	}
	return list
}

func (w *world) disconnect(a *agent) {
	if !a.open {
		return
	}
	a.open, a.ready, a.mail = false, false, nil
	w.d.SessionClosed(w.now, a.session(), w.pending)
	w.after()
}

// restart ends the process: what ran is lost, or its end is in the spool.
func (w *world) restart(a *agent) {
	for _, t := range a.work {
		if t.started && w.pick("spool the end", 2) == 0 {
			a.spool = append(a.spool, handIn{t.Attempt, &fleet.Result{Status: fleet.ResultFailed, Cause: fleet.CauseAgentRestarted}})
		}
	}
	a.work = nil
	a.boot++
	w.disconnect(a)
}

// read lets the agent handle its oldest message.
func (w *world) read(a *agent) {
	if len(a.mail) == 0 {
		return
	}
	s := a.mail[0]
	a.mail = a.mail[1:]
	at := Attempt{Job: s.Job, Attempt: s.Attempt}
	switch s.Kind {
	case SendWelcome:
		a.ready, a.chain = true, a.gets
		a.drop(s.Welcome.Void)
		w.handIn(a)
	case SendOffer:
		w.answer(a, at)
	case SendProbe:
		if !w.calm && w.pick("answer the probe", 3) == 0 {
			return
		}
		w.d.Decline(w.now, a.session(), at, "runner", w.pending)
		w.after()
	case SendStart:
		w.begin(a, at)
		w.d.Progress(w.now, a.session(), at, 10, w.pending)
		w.after()
	case SendVoid:
		a.drop([]Attempt{at})
	case SendCancel:
		a.stop(at)
	case SendHeartbeatAck:
		if !s.Ack.OK {
			w.disconnect(a)
			return
		}
		a.drop(s.Ack.Void)
		for _, c := range s.Ack.Cancel {
			c.GraceMs = 0
			a.stop(c)
		}
	case SendResultAck:
		a.spool = slices.DeleteFunc(a.spool, func(h handIn) bool { return h.Attempt == at })
	case SendError:
		a.spool = slices.DeleteFunc(a.spool, func(h handIn) bool { return h.Attempt == at })
	case SendRotate:
		a.rotation = s.Rotate
	case SendClose:
		w.disconnect(a)
	}
}

func (w *world) answer(a *agent, at Attempt) {
	switch choice := w.pick("answer", 10); {
	case !w.calm && choice == 0: // lost on the way
	case int64(len(a.work)) >= a.slots || !w.calm && choice == 1:
		w.d.Decline(w.now, a.session(), at, "no", w.pending)
		w.after()
	default:
		a.work = append(a.work, task{Attempt: at})
		w.d.Accept(w.now, a.session(), at, w.pending)
		w.after()
	}
}

func (w *world) begin(a *agent, at Attempt) {
	for i := range a.work {
		t := &a.work[i]
		if t.Attempt != at || t.started {
			continue
		}
		t.started = true
		if a.begun == nil {
			a.begun = map[Attempt]bool{}
		}
		if a.begun[at] {
			w.fail("%v started twice on %s", at, a.id)
		}
		a.begun[at] = true
	}
}

func (a *agent) drop(list []Attempt) {
	a.work = slices.DeleteFunc(a.work, func(t task) bool { return slices.Contains(list, t.Attempt) })
}

func (a *agent) stop(at Attempt) {
	at.GraceMs = 0
	for i := range a.work {
		if a.work[i].Attempt == at {
			a.work[i].canceled = true
		}
	}
}

// work ends the agent's oldest task that can end.
func (w *world) work(a *agent) {
	for i, t := range a.work {
		if !t.started && !t.canceled {
			continue
		}
		res := &fleet.Result{Status: fleet.ResultSucceeded}
		switch choice := w.pick("result", 8); {
		case t.canceled:
			res.Status = fleet.ResultCanceled
		case choice == 0 && !w.calm:
			res.Status, res.Cause = fleet.ResultFailed, fleet.CauseStartFailed
		case choice == 1:
			res.Status, res.Cause = fleet.ResultFailed, fleet.CauseExitCode
		case choice == 2:
			res.Status = fleet.ResultTimedOut
		}
		res.Digest[0], res.Digest[1] = byte(t.Attempt.Attempt), t.Job[15]
		a.work = slices.Delete(a.work, i, i+1)
		a.spool = append(a.spool, handIn{t.Attempt, res})
		w.handIn(a)
		return
	}
}

// handIn sends all that is in the spool.
func (w *world) handIn(a *agent) {
	if !a.ready {
		return
	}
	for _, h := range slices.Clone(a.spool) {
		w.d.Result(w.now, a.session(), h.Attempt, h.res, w.pending)
		w.after()
	}
}

func (w *world) heartbeat(a *agent) {
	if !a.open || !a.ready {
		return
	}
	healthy := w.calm || w.pick("healthy", 8) > 0
	w.d.Heartbeat(w.now, a.session(), HeartbeatEvent{
		Accepting: true, Healthy: healthy, Running: a.running(), Spooled: int64(len(a.spool)),
	}, w.pending)
	w.after()
}

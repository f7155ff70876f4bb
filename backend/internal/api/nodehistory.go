package api

import (
	"net/http"
	"slices"
	"strconv"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/lease"
	"rockpool/backend/internal/rest"
)

func (a *API) nodeHistory(c *call) error {
	id, err := c.named("node")
	if err != nil {
		return err
	}
	row, err := a.node(c, id)
	if err != nil {
		return err
	}
	past, err := a.dispatch.NodePast(c.ctx(), id)
	if err != nil {
		return err
	}
	doc := rest.NodeHistory{
		Node: id, At: rest.At(a.now()), SessionSince: rest.AtPtr(a.wall(past.OpenedAt)),
		SuspectMs: int64(past.Times.Suspect), LostMs: int64(past.Times.Lost),
		HeartbeatMs: a.heartbeat.Milliseconds(), RoundTripMs: past.RoundTripMs,
		Decisions: a.nodeDecisions(c, &past, row.Pool), Log: a.nodeLog(&past),
		Chosen: past.ChosenTimes, ChosenSince: rest.At(a.dispatch.WallAt(past.ChosenSince)),
	}
	return c.JSON(http.StatusOK, doc)
}

// nodeDecisions are those about work that the caller may see.
func (a *API) nodeDecisions(c *call, past *core.NodePast, pool string) []rest.NodeDecision {
	list := []rest.NodeDecision{}
	for _, r := range past.Rejected {
		if c.sees(r.Spec.Owner, pool) {
			list = append(list, rest.NodeDecision{Outcome: "rejected", Job: r.Spec.ID.String(), App: r.Spec.App, Reason: rejectionWords(&r, past)})
		}
	}
	for _, ch := range past.Chosen {
		if c.sees(ch.Owner, ch.Pool) {
			at := rest.At(a.dispatch.WallAt(ch.At))
			list = append(list, rest.NodeDecision{At: &at, Outcome: "chosen", Job: ch.Job.String(), App: ch.App, Reason: choiceWords(&ch)})
		}
	}
	return list
}

func choiceWords(ch *core.Choice) string {
	words := "most free slots (" + strconv.FormatInt(ch.Free, 10) + ")"
	if ch.Tie {
		words += ", a tie that the lowest id won"
	}
	return words
}

// rejectionWords tells the first reason: what is there and what is asked.
func rejectionWords(r *core.Rejection, past *core.NodePast) string {
	ask := &r.Spec.Demands
	switch first := r.Reasons[0]; first {
	case fleet.NoSlots:
		return "slots: " + freeAndAsked(past.Free.Slots, ask.Slots, "")
	case fleet.NoResource:
		name, free, asked := shortage(past.Free.Resources, ask.Resources)
		return "resource:" + name + ": " + freeAndAsked(free, asked, "")
	case fleet.NoMemory:
		name, free, asked := shortage(past.Free.Memory, ask.Memory)
		return "memory:" + name + ": " + freeAndAsked(free, asked, " MiB")
	case fleet.WrongBackend:
		return "backend: " + past.Record.Backend + ", " + r.Spec.Backend + " asked"
	case fleet.WrongRegion:
		return "region: " + past.Record.Region + ", " + r.Spec.Region + " asked"
	case fleet.WrongRole:
		return "role: " + past.Record.Role + ", " + r.Spec.Role + " asked"
	case fleet.NoRunner:
		return "runner: " + r.Spec.Runner + " is not there"
	default:
		return blockWords(first, past.Record.Holds)
	}
}

// blockWords tells the hold that is the reason, or the reason itself.
func blockWords(r fleet.Reason, holds []fleet.Hold) string {
	if h, held := holdFor(r, holds); held {
		return holdWords(h)
	}
	if r.String() == r.Words() {
		return r.Words()
	}
	return r.String() + ": " + r.Words()
}

func freeAndAsked(free, asked int64, unit string) string {
	return strconv.FormatInt(free, 10) + unit + " free, " + strconv.FormatInt(asked, 10) + unit + " asked"
}

// shortage finds the first thing of which too little is free.
func shortage(free, asked []fleet.Quantity) (name string, has, wants int64) {
	for _, q := range asked {
		if at := slices.IndexFunc(free, func(f fleet.Quantity) bool { return f.Name == q.Name }); at < 0 {
			return q.Name, 0, q.Amount
		} else if free[at].Amount < q.Amount {
			return q.Name, free[at].Amount, q.Amount
		}
	}
	return "", 0, 0
}

// nodeLog is what happened on the node with the changes of its lease, newest first.
func (a *API) nodeLog(past *core.NodePast) []rest.NodeLogLine {
	log := make([]rest.NodeLogLine, 0, len(past.Events)+len(past.Lease))
	for i := range past.Events {
		e := &past.Events[i]
		log = append(log, rest.NodeLogLine{At: rest.At(a.dispatch.WallAt(e.At)), Text: eventWords(e)})
	}
	for _, l := range past.Lease {
		if l.Event != lease.Opened { // its session tells
			log = append(log, rest.NodeLogLine{At: rest.At(a.dispatch.WallAt(l.At)), Text: "lease " + l.State.String() + ", " + l.Event.String()})
		}
	}
	slices.SortStableFunc(log, func(x, y rest.NodeLogLine) int { return y.At.Compare(x.At.Time) })
	return log
}

func eventWords(e *core.NodeEvent) string {
	switch e.Kind {
	case core.NodeOpened:
		return "session " + strconv.FormatInt(e.Epoch, 10) + " opened, agent " + e.Detail
	case core.NodeStarted:
		return "start " + e.Job.String() + " " + e.Detail
	case core.NodeDeclined:
		return "offer " + e.Job.String() + " declined: " + e.Detail
	case core.NodeUnanswered:
		return "offer " + e.Job.String() + " not answered"
	case core.NodeCanceling:
		return "cancel " + e.Job.String()
	case core.NodeResult:
		if e.Detail == "" {
			return "result " + e.Job.String() + " succeeded"
		}
		return "result " + e.Job.String() + " failed: " + e.Detail
	case core.NodeLostWork:
		return "lost " + e.Job.String()
	case core.NodeMoved:
		return "moved to " + e.Detail
	case core.NodeHeld:
		return "hold: " + e.Detail
	case core.NodeLifted:
		return "lifted: " + e.Detail
	default:
		return "goodbye, " + e.Detail
	}
}

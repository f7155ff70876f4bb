package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rockpool/shared/wire"
)

// FleetOrder says what a fleet of scripted nodes is. It comes to the fleet's
// process as the first line of its standard input.
type FleetOrder struct {
	Server   string
	Name     string   // of its nodes, before a dash and their number
	Licenses []string // in turn
	Nodes    int
	Slots    int64
	// Keep lets attempts run until the command FleetEnds; else each ends well at its
	// start, and the fleet remembers none of them.
	Keep bool
}

// Commands to a fleet, each a line, and each answered with a report in JSON.
const (
	FleetReports = "report"
	FleetJoined  = "joined" // reports when every node has had a session, or after patience
	FleetOpened  = "opened" // reports with the times of sessions
	FleetForgets = "forget" // the sessions that were opened so far
	FleetEnds    = "end"    // every attempt that runs, well
	fleetPast    = "past "  // with a number: reports when more results are stored, or after patience
)

// fleetPatience is how long a command waits for news.
const fleetPatience = time.Second

// FleetReport is what a fleet's nodes have seen, whatever any server believes.
type FleetReport struct {
	Opened   []time.Time // sessions since they were last forgotten
	Sessions int         // of these the number
	Joined   int         // nodes that have had a session
	Stored   int         // results that the server says it has stored
	Refused  int         // results that it did not store: duplicates, fenced ones, canceled ones
	Started  int         // attempts that are kept
	Again    int         // starts of attempts that had begun before
	Voided   int         // attempts that ran and that the server took away
	Running  int
	Troubles []string // of dials, the first of them
}

// fleet is its nodes and what they saw together.
type fleet struct {
	order   FleetOrder
	workers []*worker
	news    chan struct{} // something has changed that a command may wait for

	stored, refused, joined atomic.Int64

	mu     sync.Mutex
	report FleetReport
	ending bool
}

// worker is a node of a fleet. What it holds is empty unless the fleet keeps.
type worker struct {
	*Node
	fleet *fleet
	known bool // it has had a session
	held  map[wire.AttemptRef]wire.Phase
	begun map[wire.AttemptRef]bool
}

// firstDials is how many nodes register at one time.
const firstDials = 64

// PlayFleet is a fleet's process: it obeys what stands in its standard input until
// that ends.
func PlayFleet(ctx context.Context, in io.Reader, out io.Writer) error {
	debug.SetGCPercent(400) // what its nodes cost is taken from the server that is measured
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	f := &fleet{news: make(chan struct{}, 1)}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &f.order) != nil || len(f.order.Licenses) == 0 {
		return fmt.Errorf("the fleet got no order: %q, %v", lines.Text(), lines.Err())
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	gate := make(chan struct{}, firstDials)
	for i := range f.order.Nodes {
		w := f.hire(i)
		running.Go(func() { w.live(ctx, uint64(i)+1, gate) })
	}
	answers := json.NewEncoder(out)
	for lines.Scan() {
		if err := answers.Encode(f.obey(lines.Text())); err != nil {
			break
		}
	}
	cancel()
	running.Wait()
	return lines.Err()
}

func (f *fleet) hire(i int) *worker {
	w := &worker{fleet: f, held: map[wire.AttemptRef]wire.Phase{}, begun: map[wire.AttemptRef]bool{}}
	o := NodeOptions{
		Server: f.order.Server, Name: fmt.Sprintf("%s-%05d", f.order.Name, i), License: f.order.Licenses[i%len(f.order.Licenses)],
		Slots: f.order.Slots, Hear: w.hear,
	}
	if f.order.Keep {
		o.Holding = w.holding
	}
	w.Node = NewNode(o)
	f.workers = append(f.workers, w)
	return w
}

// live registers when it is the node's turn, and then stays.
func (w *worker) live(ctx context.Context, seed uint64, gate chan struct{}) {
	gate <- struct{}{}
	var once sync.Once
	leave := func() { once.Do(func() { <-gate }) }
	defer leave()
	w.Stay(ctx, seed, func() {
		leave()
		w.fleet.opened(w)
	}, w.fleet.trouble)
}

func (f *fleet) opened(w *worker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report.Opened = append(f.report.Opened, time.Now())
	if !w.known {
		w.known = true
		f.joined.Add(1)
		f.tell()
	}
	w.void(w.Welcome.Void...)
	if f.ending {
		w.end()
	}
}

// trouble keeps the first few reasons for which nodes did not come in or not stay.
func (f *fleet) trouble(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.report.Troubles) < 5 {
		f.report.Troubles = append(f.report.Troubles, err.Error())
	}
}

// tell wakes a command that waits.
func (f *fleet) tell() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// obey answers a command with the report after it.
func (f *fleet) obey(command string) FleetReport {
	switch past, isPast := strings.CutPrefix(command, fleetPast); {
	case isPast:
		n, _ := strconv.ParseInt(past, 10, 64)
		f.await(func() bool { return f.stored.Load() > n })
	case command == FleetJoined:
		f.await(func() bool { return f.joined.Load() == int64(len(f.workers)) })
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch command {
	case FleetForgets:
		f.report.Opened = nil
	case FleetEnds:
		f.ending = true
		f.each((*worker).end)
	}
	r := f.report
	r.Sessions = len(r.Opened)
	r.Joined, r.Stored, r.Refused = int(f.joined.Load()), int(f.stored.Load()), int(f.refused.Load())
	if command != FleetOpened {
		r.Opened = nil // many
	}
	f.each(func(w *worker) { r.Running += len(w.held) })
	return r
}

// await waits for what is told, with patience.
func (f *fleet) await(done func() bool) {
	overdue := time.After(fleetPatience)
	for !done() {
		select {
		case <-f.news:
		case <-overdue:
			return
		}
	}
}

func (f *fleet) each(do func(*worker)) {
	for _, w := range f.workers {
		do(w)
	}
}

// hear takes every offer, and counts what becomes of results.
func (w *worker) hear(m wire.Message) {
	if m.Type == wire.TypeResultAck {
		if ack, err := wire.Decode[wire.ResultAck](m); err == nil {
			w.fleet.count(ack.Verdict)
		}
	}
	if w.fleet.order.Keep {
		w.keep(m)
		return
	}
	w.Diligent(m)
}

func (f *fleet) count(v wire.Verdict) {
	if v != wire.VerdictStored {
		f.refused.Add(1)
		return
	}
	f.stored.Add(1)
	f.tell()
}

// keep begins what it has taken at its start, and keeps it over sessions.
func (w *worker) keep(m wire.Message) {
	w.fleet.mu.Lock()
	defer w.fleet.mu.Unlock()
	switch m.Type {
	case wire.TypeOffer:
		if offer, err := wire.Decode[wire.Offer](m); err == nil {
			w.held[wire.AttemptRef{Job: offer.Job, Attempt: offer.Attempt}] = wire.PhaseAccepted
			_ = w.TrySend(wire.Accept{Job: offer.Job, Attempt: offer.Attempt}) // a cut is the reader's to see
		}
	case wire.TypeStart:
		if start, err := wire.Decode[wire.Start](m); err == nil {
			w.begin(wire.AttemptRef(start))
		}
	case wire.TypeVoid:
		if void, err := wire.Decode[wire.Void](m); err == nil {
			w.void(wire.AttemptRef(void))
		}
	case wire.TypeHeartbeatAck:
		if ack, err := wire.Decode[wire.HeartbeatAck](m); err == nil {
			w.void(ack.Void...)
		}
	case wire.TypeResultAck:
		if ack, err := wire.Decode[wire.ResultAck](m); err == nil {
			delete(w.held, wire.AttemptRef{Job: ack.Job, Attempt: ack.Attempt})
		}
	}
}

// begin heeds the start of what it has accepted; one that is repeated while the
// attempt runs changes nothing.
func (w *worker) begin(ref wire.AttemptRef) {
	if w.held[ref] != wire.PhaseAccepted {
		return
	}
	w.held[ref] = wire.PhaseRunning
	w.fleet.report.Started++
	if w.begun[ref] {
		w.fleet.report.Again++
	}
	w.begun[ref] = true
}

func (w *worker) void(list ...wire.AttemptRef) {
	for _, ref := range list {
		if w.held[ref] == wire.PhaseRunning {
			w.fleet.report.Voided++
		}
		delete(w.held, ref)
	}
}

// end sends the results of what runs; the next session does it again.
func (w *worker) end() {
	for ref, phase := range w.held {
		if phase == wire.PhaseRunning {
			_ = w.TrySend(wire.Result{Job: ref.Job, Attempt: ref.Attempt, Status: wire.ResultSucceeded})
		}
	}
}

// holding lists what hello and heartbeats say.
func (w *worker) holding() (list []wire.RunningWork) {
	w.fleet.mu.Lock()
	defer w.fleet.mu.Unlock()
	for ref, phase := range w.held {
		list = append(list, wire.RunningWork{Job: ref.Job, Attempt: ref.Attempt, Phase: phase})
	}
	return list
}

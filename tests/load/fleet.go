package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
)

// A fleet of scripted nodes is a process of its own: what it costs is not the
// measuring test's. It is this test program with fleetVariable set; its order comes
// on standard input, then commands, and each is answered with a report in JSON.
const fleetVariable = "ROCKPOOL_TEST_FLEET"

// fleetOrder says what the fleet is.
type fleetOrder struct {
	Server, License string
	Nodes           int
}

// Commands to a fleet.
const (
	fleetReports = "report"
	fleetOpened  = "opened" // reports with the times of sessions
	fleetForgets = "forget" // the sessions that were opened so far
	fleetEnds    = "end"    // every attempt that runs, well
)

// fleetReport is what its nodes have seen, whatever any server believes.
type fleetReport struct {
	Opened  []time.Time // sessions since they were last forgotten
	Started int         // attempts
	Again   int         // starts of attempts that had begun before
	Voided  int         // attempts that ran and that the server took away
	Running int
}

// fleet is its nodes and what they saw together.
type fleet struct {
	workers []*worker

	mu     sync.Mutex
	report fleetReport
	ending bool
}

// worker is a node that runs what it is told to until the fleet ends it.
type worker struct {
	*backendtest.ScriptedNode
	fleet *fleet
	held  map[wire.AttemptRef]wire.Phase
	begun map[wire.AttemptRef]bool
}

// firstDials is how many nodes register at one time.
const firstDials = 64

// runFleet plays a fleet until its standard input ends.
func runFleet(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	var order fleetOrder
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &order) != nil {
		return fmt.Errorf("no order came: %q, %w", lines.Text(), lines.Err())
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &fleet{}
	var running sync.WaitGroup
	gate := make(chan struct{}, firstDials)
	for i := range order.Nodes {
		w := f.hire(fmt.Sprintf("storm-%05d", i), order)
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

func (f *fleet) hire(name string, order fleetOrder) *worker {
	w := &worker{fleet: f, held: map[wire.AttemptRef]wire.Phase{}, begun: map[wire.AttemptRef]bool{}}
	w.ScriptedNode = backendtest.NewScriptedNode(backendtest.ScriptedNodeOptions{
		Server: order.Server, Name: name, License: order.License, Slots: 2, Hear: w.hear, Holding: w.holding,
	})
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
	})
}

func (f *fleet) opened(w *worker) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report.Opened = append(f.report.Opened, time.Now())
	w.void(w.Welcome.Void...)
	if f.ending {
		w.end()
	}
}

// obey answers a command with the report after it.
func (f *fleet) obey(command string) fleetReport {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch command {
	case fleetForgets:
		f.report.Opened = nil
	case fleetEnds:
		f.ending = true
		for _, w := range f.workers {
			w.end()
		}
	}
	r := f.report
	if command != fleetOpened {
		r.Opened = nil // many
	}
	for _, w := range f.workers {
		r.Running += len(w.held)
	}
	return r
}

// hear takes every offer, begins at its start, and keeps what it runs over sessions.
func (w *worker) hear(m wire.Message) {
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

// playFleet runs the fleet when this process is one.
func playFleet() (played bool) {
	if os.Getenv(fleetVariable) == "" {
		return false
	}
	if err := runFleet(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// Package nodecore is what decides on a node: when to dial and to give up a
// session, which offers to take, what may start, what must stop, and in which
// order results are handed in. The agent is a shell around it, the simulator
// another one.
//
// It is pure. The driver gives the time and one event; the core appends what it
// wants done to Effects; what came of it returns as another event:
//
//	Dials    → Dialed, later Closed; or Closed at once
//	Welcomed → Remembered
//	Starts   → Finished
//	Reports  → Stored | StoreFailed
//	SelfTest → SelfTested
//
// Next tells when Tick is due. A Node has no lock: one goroutine owns it.
package nodecore

import (
	"math"

	"rockpool/shared/ids"
)

// Time is the driver's monotonic clock in milliseconds. Durations have the same unit.
type Time int64

// Never is later than everything.
const Never Time = math.MaxInt64

// The units in which this package thinks.
const (
	second Time = 1_000
	minute      = 60 * second
	hour        = 60 * minute
)

// Ref names one attempt of one job: the key on which all correctness rests.
type Ref struct {
	Job     ids.JobID
	Attempt int32
}

// Phase of an attempt on its node.
type Phase uint8

// An accepted attempt waits for start. A running one has had it, a stopping one
// was asked to end. An ended one holds no slot; its result is on its way to the
// spool.
const (
	PhaseAccepted Phase = iota
	PhaseRunning
	PhaseStopping
	PhaseEnded
)

var phaseNames = [...]string{"accepted", "running", "stopping", "ended"}

func (p Phase) String() string { return phaseNames[p] }

// dice is a splitmix64 generator: seeded, so that the same events give the same
// effects.
type dice uint64

// below gives a number in [0, n); 0 for n ≤ 0.
func (d *dice) below(n Time) Time {
	if n <= 0 {
		return 0
	}
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return Time((z ^ z>>31) % uint64(n))
}

// around gives d ± 20 %, so that the fleet's beats spread out.
func (d *dice) around(mean Time) Time { return mean - mean/5 + d.below(2*mean/5+1) }

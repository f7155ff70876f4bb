// Package lease is the state machine of a node's presence. It is pure: times
// come in, states go out.
package lease

import "rockpool/backend/internal/core/fleet"

// Times rule a lease: without a frame for Suspect a ready node is suspect, for
// Lost it is lost.
type Times struct {
	Suspect fleet.Time
	Lost    fleet.Time
}

// Lease is what is believed of one node's presence.
//
//	new ──opened──▶ ready ◀──renewed, opened── suspect ──silent──▶ lost
//	                  ▲   ──silent, broken──▶                        │
//	                  └───────────────opened─────────────────────────┘
//	any ──left──▶ left ──opened──▶ ready    any but left ──granted──▶ suspect
type Lease struct {
	State fleet.LeaseState
	Seen  fleet.Time // the last frame, or when a grace began
	Heard fleet.Time // the last frame alone; 0: none yet
	Past  []Change   // the newest MaxPast changes of the state, newest last
}

// Change is one change of a lease's state.
type Change struct {
	State fleet.LeaseState
	Event Event
	At    fleet.Time
}

// MaxPast is how many changes a lease remembers.
const MaxPast = 50

// Since is when the lease came into its state; 0: before this process began.
func (l *Lease) Since() fleet.Time {
	if len(l.Past) == 0 {
		return 0
	}
	return l.Past[len(l.Past)-1].At
}

// Event is what can happen to a lease.
type Event uint8

// Events. Opened is a committed session, Renewed a frame over it, Broken its
// connection's end, Granted a fresh full grace of a node whose session nobody
// holds, Excused one of whatever is believed, Left the node's or an operator's
// goodbye.
const (
	Opened Event = iota
	Renewed
	Broken
	Granted
	Excused
	Left
	Silent // one of the two times may have passed
)

// On moves the lease and reports whether its state changed.
func (l *Lease) On(event Event, now fleet.Time, times Times) bool {
	was := l.State
	switch event {
	case Opened:
		l.State = fleet.LeaseReady // seen when it said hello, or since
	case Renewed:
		l.Seen, l.Heard = now, now
		if was == fleet.LeaseSuspect {
			l.State = fleet.LeaseReady
		}
	case Broken:
		if was == fleet.LeaseReady {
			l.State = fleet.LeaseSuspect
		}
	case Granted:
		l.Seen = now
		if was != fleet.LeaseLeft {
			l.State = fleet.LeaseSuspect
		}
	case Excused:
		l.Seen = max(l.Seen, now)
	case Left:
		l.State = fleet.LeaseLeft
	case Silent:
		l.silent(now, times)
	}
	if l.State == was {
		return false
	}
	l.remember(Change{State: l.State, Event: event, At: now})
	return true
}

// remember keeps the newest changes in a list of its own: others may still read
// the one before.
func (l *Lease) remember(c Change) {
	from := max(0, len(l.Past)+1-MaxPast)
	past := make([]Change, 0, len(l.Past)-from+1)
	l.Past = append(append(past, l.Past[from:]...), c)
}

// words are the events as a timeline names them.
var words = [...]string{
	Opened: "hello", Renewed: "heartbeat", Broken: "disconnected", Granted: "restart", Excused: "restart", Left: "left", Silent: "silence",
}

func (e Event) String() string { return words[e] }

func (l *Lease) silent(now fleet.Time, times Times) {
	if now < l.Due(times) {
		return
	}
	switch l.State {
	case fleet.LeaseReady:
		l.State = fleet.LeaseSuspect
	case fleet.LeaseSuspect:
		l.State = fleet.LeaseLost
	}
}

// Due is when silence would move the lease; Never: it does not.
func (l *Lease) Due(times Times) fleet.Time {
	switch l.State {
	case fleet.LeaseReady:
		return l.Seen + times.Suspect
	case fleet.LeaseSuspect:
		return l.Seen + times.Lost
	}
	return fleet.Never
}

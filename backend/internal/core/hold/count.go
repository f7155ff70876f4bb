package hold

import "rockpool/backend/internal/core/fleet"

// What earns a node an automatic hold, and for how long (milliseconds).
const (
	MaxRejections = 5
	RejectionHold = fleet.Time(60_000)
	MaxFlaps      = 3
	FlapSpan      = fleet.Time(600_000)
	FlapHold      = fleet.Time(600_000)
	MaxSilences   = 3 // and then for as long as it leaves probes unanswered
)

// Why automatic holds stand, for people.
const (
	RejectionReason = "declined or failed to start 5 offers in a row"
	DeafReason      = "left 3 offers in a row unanswered"
	FlapReason      = "lost its connection and came back 3 times in 10 minutes"
)

// Rejections counts the offers in a row that a node declined or failed to start.
type Rejections struct{ row int }

// Reject counts one and reports the one that is too much; then it begins anew.
func (r *Rejections) Reject() bool {
	if r.row++; r.row < MaxRejections {
		return false
	}
	r.row = 0
	return true
}

// Ran ends the row: an attempt was started.
func (r *Rejections) Ran() { r.row = 0 }

// Silences counts the offers in a row that a node left unanswered.
type Silences struct {
	row  int
	from fleet.Time // when the first of them was sent
}

// Silent counts an offer that was sent then.
func (s *Silences) Silent(sent fleet.Time) {
	if s.row++; s.row == 1 {
		s.from = sent
	}
}

// Answered ends the row.
func (s *Silences) Answered() { s.row = 0 }

// Deaf reports too long a row of a node that was heard meanwhile: it is there, and
// does not answer. Without a word of it the connection may be what is dead.
func (s *Silences) Deaf(heard fleet.Time) bool { return s.row >= MaxSilences && heard > s.from }

// Flaps remembers when a node's lease came back from suspect.
type Flaps struct {
	at [MaxFlaps - 1]fleet.Time // the newest ones, newest last; 0: none
}

// Flap counts one and reports the one that is too much within FlapSpan; then it
// begins anew.
func (f *Flaps) Flap(now fleet.Time) bool {
	if oldest := f.at[0]; oldest != 0 && now-oldest <= FlapSpan {
		*f = Flaps{}
		return true
	}
	copy(f.at[:], f.at[1:])
	f.at[len(f.at)-1] = now
	return false
}

// Longer is the automatic hold that stands after another was put on top of it: the
// one that ends later.
func Longer(list []fleet.Hold, h fleet.Hold) fleet.Hold {
	if stands, found := Find(list, h.Kind, h.Owner); found && (stands.Until == 0 || stands.Until > h.Until) {
		return stands
	}
	return h
}

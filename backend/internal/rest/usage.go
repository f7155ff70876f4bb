package rest

// Usage is what an app's work took of a pool on one day (UTC).
type Usage struct {
	Day                 string `json:"day"` // 2026-11-29
	App                 string `json:"app"`
	Pool                string `json:"pool"`
	Attempts            int64  `json:"attempts"`
	SlotSeconds         int64  `json:"slotSeconds"`
	FallbackSlotSeconds int64  `json:"fallbackSlotSeconds"` // of these, as fallback
}

// Isolation answers an audit of the kept history.
type Isolation struct {
	Holds     bool  `json:"holds"`          // no work ran outside its pools without a record
	From      *Time `json:"from,omitempty"` // of the oldest attempt read
	To        *Time `json:"to,omitempty"`
	Jobs      int64 `json:"jobs"`
	Attempts  int64 `json:"attempts"`
	Fallbacks int64 `json:"fallbacks"` // with a record
	// Undecided attempts have no decision on record, because their job waited for the
	// next one: what their app resolved to and the records of fallbacks and moves
	// spoke for them.
	Undecided int64      `json:"undecided"`
	Tolerance Duration   `json:"tolerance"` // around a change, in which what stood before and after are both right
	Crossings []Crossing `json:"crossings"` // at most 100
	Found     int64      `json:"found"`     // all of them
}

// Crossing is an attempt that ran where it should not have.
type Crossing struct {
	Job     string `json:"job"`
	Attempt int32  `json:"attempt"`
	Node    string `json:"node"`
	Pool    string `json:"pool"`
	Detail  string `json:"detail"`
}

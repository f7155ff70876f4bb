package rest

// Usage is what an app's work took of a pool on one day (UTC).
type Usage struct {
	Day                 string `json:"day"` // 2026-11-29
	App                 string `json:"app"`
	Pool                string `json:"pool"`
	Attempts            int64  `json:"attempts"`
	SlotSeconds         int64  `json:"slotSeconds"`
	FallbackSlotSeconds int64  `json:"fallbackSlotSeconds"` // of these, as fallback
	// Placements are counted and added up for themselves, by the nodes that they had.
	Placements                   int64 `json:"placements"`
	PlacementSlotSeconds         int64 `json:"placementSlotSeconds"`
	PlacementFallbackSlotSeconds int64 `json:"placementFallbackSlotSeconds"` // of these, as fallback
}

// Isolation answers an audit of the kept history.
type Isolation struct {
	Holds      bool  `json:"holds"`          // no work ran outside its pools without a record
	From       *Time `json:"from,omitempty"` // of the oldest attempt or placement read
	To         *Time `json:"to,omitempty"`
	Jobs       int64 `json:"jobs"`
	Attempts   int64 `json:"attempts"` // of jobs
	Placements int64 `json:"placements"`
	Fallbacks  int64 `json:"fallbacks"` // of both, with a record
	// Undecided attempts have no decision on record, because their job waited for the
	// next one: what their app resolved to and the records of fallbacks and moves
	// spoke for them.
	Undecided int64      `json:"undecided"`
	Tolerance Duration   `json:"tolerance"` // around a change, in which what stood before and after are both right
	Crossings []Crossing `json:"crossings"` // at most 100
	Found     int64      `json:"found"`     // all of them
}

// Crossing is an attempt or a placement's node that is where it should not be.
type Crossing struct {
	Job       string `json:"job,omitempty"`
	Attempt   int32  `json:"attempt,omitempty"`
	Placement string `json:"placement,omitempty"`
	Node      string `json:"node"`
	Pool      string `json:"pool"`
	Detail    string `json:"detail"`
}

// Package fleet holds the nouns of a Rockpool fleet: what the deciding code,
// the store and the API all speak of. It is pure data with small rules of its
// own; tables here (states, reasons, codes) are the only place where their
// names are written down.
package fleet

// Time is milliseconds on a monotonic clock given by the driver: the process's
// own clock in production, the virtual clock in the simulator. It is never a
// wall time; the driver translates where people read it.
type Time int64

// Never is later than every moment.
const Never = Time(1<<63 - 1)

// Package prescan looks over a whole msgpack frame before anything decodes it.
//
// The msgpack library trusts the lengths that a frame claims: five bytes make it
// allocate gigabytes, a nest of one-item arrays overflows its stack, duplicate
// keys and trailing bytes pass in silence. So every frame is first walked here:
// without recursion, without an allocation, with a bound on all that can grow.
// What passes is one well-formed value, safe to hand to the library.
//
// Scan is the check. ReadHead and Skip let others walk bytes that passed it.
package prescan

// Bounds that hold for every frame, whatever its session agreed on.
const (
	// MaxDepth is how deep arrays and maps may nest; the frame's array is level 1.
	MaxDepth = 16
	// MaxNodes counts values: scalars, arrays and maps, but not a map's keys.
	MaxNodes = 8192
	// MaxKeys is how many keys one map may have.
	MaxKeys = 64
	// MaxKey is the longest key of a map, in bytes.
	MaxKey = 128
	// MaxFrame is the largest frame that any Limits can allow, in bytes.
	MaxFrame = 1<<24 - 1
	// MaxInteger is the largest integer, and its negative the smallest: beyond it
	// a browser's numbers lose digits.
	MaxInteger = 1<<53 - 1
)

// Limits that a session agrees on. Bytes, bytes and items.
type Limits struct {
	Frame  int // the whole frame; more than MaxFrame means MaxFrame
	String int // one string, or one piece of binary data
	List   int // the items of one array
}

// Report is what a scan found.
type Report struct {
	Fault Fault // the first fault; its zero value says that there is none
	Nodes int   // values seen, keys not counted
}

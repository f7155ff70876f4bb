package wire

import "rockpool/shared/wire/prescan"

// MaxMessages is how many messages one frame may hold; it holds at least one.
const MaxMessages = 256

// Bounds of what stands in messages. Lists and texts beyond them are refused
// with the field's name; texts for people are cut instead.
const (
	MaxInteger = prescan.MaxInteger // every integer, and its negative

	MaxType    = 64 // bytes of a message's type
	MaxID      = 64 // bytes of a request id, machine id or boot id
	MaxText    = 256
	MaxDetail  = 1024
	MaxURL     = 2048
	MaxResult  = 64 << 10 // output, head and tail of a result together
	MaxLog     = 32 << 10 // of a log that one message carries
	MaxSlots   = 4096
	MaxAmounts = 32 // resources, and memory domains
	MaxPairs   = 32 // labels, and endpoints
	MaxRunners = 64
	MaxRunning = 512
	MaxRefs    = 1024 // attempts to void or to cancel in one message
	MaxHolds   = 16
	MaxFiles   = 64 // inputs, outputs and parameters

	MaxInventory = 64  // each list of an inventory, but for the next
	MaxCached    = 256 // artifacts that an inventory lists
)

// DefaultLimits hold for a session whose hello is through.
func DefaultLimits() Limits { return Limits{Frame: 256 << 10, String: 64 << 10, List: 4096} }

// HelloLimits hold for what an agent sends until then.
func HelloLimits() Limits { return Limits{Frame: 64 << 10, String: 64 << 10, List: 4096} }

// scan gives the limits to the pre-scan.
func (l Limits) scan() prescan.Limits {
	return prescan.Limits{Frame: clamp(l.Frame), String: clamp(l.String), List: clamp(l.List)}
}

// clamp keeps a limit from a peer within what the pre-scan can hold at all.
func clamp(n int64) int { return int(max(0, min(n, prescan.MaxFrame))) }

//go:build !linux

package agent

import "time"

// begun has both a wall and a monotonic reading.
var begun = time.Now()

// suspended compares the wall clock with the monotonic one. A wall clock that is
// set forward reads as a sleep and costs one reconnect.
func suspended() time.Duration {
	wall := time.Now().Round(0).Sub(begun.Round(0))
	return wall - time.Since(begun)
}

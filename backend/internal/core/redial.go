package core

import "rockpool/backend/internal/core/fleet"

// RedialAfter is how long the node waits before it dials anew after a planned stop:
// evenly spread over the window, and the same whoever asks.
func RedialAfter(node string, window fleet.Time) fleet.Time {
	sum := uint64(14695981039346656037) // FNV-1a
	for i := range len(node) {
		sum = (sum ^ uint64(node[i])) * 1099511628211
	}
	sum = (sum ^ sum>>30) * 0xbf58476d1ce4e5b9 // names differ in their last letters alone
	sum = (sum ^ sum>>27) * 0x94d049bb133111eb
	return fleet.Time((sum ^ sum>>31) % uint64(max(1, window)))
}

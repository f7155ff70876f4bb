package core

import (
	"fmt"
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestCase_F6_RedialsAreSpreadEvenly(t *testing.T) {
	const nodes, window = 1000, 5000
	for _, name := range []string{"n-%04d", "edge-ams-%d", "%d"} {
		var bySecond [window / 1000]int
		for i := range nodes {
			after := RedialAfter(fmt.Sprintf(name, i), window)
			if after < 0 || after >= window {
				t.Fatalf("%d ms in a window of %d", after, window)
			}
			bySecond[after/1000]++
		}
		for second, n := range bySecond {
			if most := nodes / len(bySecond) * 3 / 2; n > most {
				t.Errorf("names %s: %d of %d nodes in second %d, at most %d", name, n, nodes, second, most)
			}
		}
	}
	for _, window := range []fleet.Time{-1, 0, 1} {
		if after := RedialAfter("n1", window); after != 0 {
			t.Errorf("%d ms in a window of %d", after, window)
		}
	}
}

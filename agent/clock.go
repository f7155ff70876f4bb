package agent

import (
	"time"

	"rockpool/shared/nodecore"
)

// clock is the monotonic time of the deciding code.
type clock struct{ begin time.Time }

func (c clock) now() nodecore.Time { return nodecore.Time(time.Since(c.begin).Milliseconds()) }

// until is how long to sleep before a time; at least a millisecond has passed then.
func (c clock) until(at nodecore.Time) time.Duration {
	const longest = 24 * time.Hour // Never is too long for a timer
	return min(max(0, time.Until(c.begin.Add(duration(at)))), longest)
}

func duration(t nodecore.Time) time.Duration {
	return time.Duration(min(t, nodecore.Time(100*365*24*time.Hour/time.Millisecond))) * time.Millisecond
}

func milliseconds(d time.Duration) nodecore.Time { return nodecore.Time(d.Milliseconds()) }

// sleepNotice is how long a machine must have been suspended to matter.
const sleepNotice = 2 * time.Second

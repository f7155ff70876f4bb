package pool

import (
	"strconv"

	"rockpool/backend/internal/core/fleet"
)

// Checks are what must hold of a canary pool before its nodes move on. Zero
// values ask for nothing.
type Checks struct {
	Jobs      int64      // canary jobs that succeeded
	NoRestart bool       // no agent began anew within ReadyFor; 0: since this process began
	ReadyFor  fleet.Time // milliseconds, every node, without a hold now
}

// Facts are what is known of a canary pool.
type Facts struct {
	At        fleet.Time
	Succeeded int64       // canary jobs
	Nodes     []NodeFacts // that have not left, by id
}

// NodeFacts are what is known of one of its nodes.
type NodeFacts struct {
	ID        string
	Blocks    []fleet.Reason // why it gets no new work; none: it may
	Since     fleet.Time     // when its lease came into its state
	BootSince fleet.Time     // when its agent began; 0: before this process did
}

// Promotable lists in words why the pool's nodes may not move on, in a
// repeatable order; none: they may.
func Promotable(c Checks, f Facts) []string {
	var why []string
	if len(f.Nodes) == 0 {
		why = append(why, "it has no nodes")
	}
	if f.Succeeded < c.Jobs {
		why = append(why, count(f.Succeeded)+" of "+count(c.Jobs)+" canary jobs have succeeded")
	}
	for i := range f.Nodes {
		why = append(why, f.Nodes[i].unfit(&c, f.At)...)
	}
	return why
}

// unfit lists what the node lacks of the checks.
func (n *NodeFacts) unfit(c *Checks, now fleet.Time) (why []string) {
	if c.NoRestart && n.BootSince > 0 && (c.ReadyFor == 0 || now-n.BootSince < c.ReadyFor) {
		why = append(why, n.ID+"'s agent began anew "+fleet.Span(now-n.BootSince)+" ago")
	}
	if c.ReadyFor == 0 {
		return why
	}
	for _, reason := range n.Blocks {
		why = append(why, n.ID+" is "+reason.Words())
	}
	if len(n.Blocks) == 0 && now-n.Since < c.ReadyFor {
		why = append(why, n.ID+" has been ready for "+fleet.Span(now-n.Since)+", not for "+fleet.Span(c.ReadyFor))
	}
	return why
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// Text says the decision in words for people: of which app of which owner (0:
// none) it is, and how many slots were asked for.
func (d *Decision) Text(app string, owner, slots int64) string {
	var b strings.Builder
	for i := range d.Pools {
		if i > 0 {
			b.WriteString("; ")
		}
		d.poolText(&b, i, app, owner)
	}
	if len(d.Pools) == 0 {
		b.WriteString(app + " resolves to no pool")
	}
	if d.Node != "" {
		b.WriteString("; " + d.Node + " had the most free slots (" + strconv.FormatInt(d.RemainingSlots+slots, 10))
		if d.TieBreak {
			b.WriteString(", as others had; the lowest id won")
		}
		b.WriteString(").")
		return b.String()
	}
	if d.Rule == RuleCanary {
		b.WriteString(". A canary job goes nowhere else.")
		return b.String()
	}
	b.WriteString(". Fallback to " + PoolDefault + " is ")
	if d.FallbackOK {
		b.WriteString("allowed")
	} else {
		b.WriteString("off")
	}
	b.WriteString(" for " + app + ".")
	return b.String()
}

func (d *Decision) poolText(b *strings.Builder, i int, app string, owner int64) {
	t := &d.Pools[i]
	last := i == len(d.Pools)-1
	switch {
	case last && d.Fallback, last && i > 0 && d.FallbackOK && t.Pool == PoolDefault:
		b.WriteString("fallback to " + t.Pool)
	case d.Rule == RuleCanary:
		b.WriteString(t.Pool + " (named by a canary job of " + app + ")")
	case d.Rule == RuleOwnerPool:
		b.WriteString(t.Pool + " (owner's pool of user " + strconv.FormatInt(owner, 10) + ")")
	case d.Rule == RuleNoOwner:
		b.WriteString(t.Pool + " (" + app + " has no owner)")
	default:
		b.WriteString(t.Pool + " (bound to " + app + ")")
	}
	b.WriteString(": ")
	nodes := strconv.FormatInt(int64(t.Nodes), 10)
	switch {
	case t.Nodes == 0:
		b.WriteString("it has no nodes")
	case d.Node != "" && last:
		b.WriteString(strconv.FormatInt(int64(t.Candidates), 10) + " of " + nodes + " nodes could take it")
	case t.Candidates > 0: // of a placement on several
		b.WriteString("no more than " + strconv.FormatInt(int64(t.Candidates), 10) + " of " + nodes + " nodes can take it")
	default:
		b.WriteString("none of " + nodes + " nodes can take it")
	}
	if reasons := t.reasonText(); reasons != "" {
		b.WriteString(" (" + reasons + ")")
	}
}

// Refusal says in words why no node can take the work, pool by pool: "0 of 14
// nodes can take it: 9 draining, 5 without a free slot".
func (d *Decision) Refusal() string {
	if len(d.Pools) == 0 {
		return "it resolves to no pool"
	}
	var b strings.Builder
	for i := range d.Pools {
		t := &d.Pools[i]
		if i > 0 {
			b.WriteString("; ")
		}
		if len(d.Pools) > 1 {
			b.WriteString(t.Pool + ": ")
		}
		if t.Nodes == 0 {
			b.WriteString("there are no nodes")
			continue
		}
		b.WriteString(strconv.FormatInt(int64(t.Candidates), 10) + " of " + Count(int64(t.Nodes), "node") + " can take it")
		if reasons := t.reasonText(); reasons != "" {
			b.WriteString(": " + reasons)
		}
		if t.Candidates > 0 { // of a placement on several
			b.WriteString("; more are wanted")
		}
	}
	return b.String()
}

// Span reads a span in whole seconds, as its two largest units: 44s, 4m 12s, 2h 05m,
// 3d 1h.
func Span(t Time) string {
	s := int64(t) / 1000
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	case s < 86_400:
		return fmt.Sprintf("%dh %02dm", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%dd %dh", s/86_400, s%86_400/3600)
}

// Count reads a number of things: "1 node", "3 nodes".
func Count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.FormatInt(n, 10) + " " + thing
}

// reasonText lists the counts in the order of the reasons: "9 draining, 3
// without a free slot".
func (t *Tally) reasonText() string {
	var b strings.Builder
	for r, nodes := range t.Rejected {
		if nodes == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatInt(int64(nodes), 10) + " " + Reason(r).Words())
		switch {
		case Reason(r) == NoResource && t.Resource != "":
			b.WriteString(" " + t.Resource)
		case Reason(r) == NoMemory && t.Domain != "":
			b.WriteString(" " + t.Domain)
		}
	}
	return b.String()
}

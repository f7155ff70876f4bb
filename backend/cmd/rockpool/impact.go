package main

import (
	"fmt"
	"strings"

	"rockpool/backend/internal/rest"
)

// showImpact prints what a change would do: in words, then pools and apps before and
// after. As JSON it is the whole document.
func showImpact(d *desk, document any, words string, impact *rest.Impact) error {
	if d.json || impact == nil {
		return d.show(document, grid{})
	}
	if err := d.say(words + "; " + impactWords(impact) + "."); err != nil {
		return err
	}
	for _, g := range []grid{impactPools(impact), impactApps(impact), blockerRows(impact.Running)} {
		if len(g.rows) == 0 {
			continue
		}
		if err := d.say(""); err != nil {
			return err
		}
		if err := g.write(d.out); err != nil {
			return err
		}
	}
	return nil
}

// impactWords says what matters most: who would be left without a node.
func impactWords(impact *rest.Impact) string {
	var left []string
	for _, a := range impact.Apps {
		if a.After == 0 && a.Before > 0 {
			left = append(left, a.App+" ("+a.Role+")")
		}
	}
	text := "every app keeps a usable node"
	if len(left) > 0 {
		text = "without a usable node afterwards: " + strings.Join(left, ", ")
	}
	if impact.Waiting > 0 {
		text += fmt.Sprintf("; jobs that would wait without a node to hope for: %d", impact.Waiting)
	}
	return text
}

func impactPools(impact *rest.Impact) grid {
	g := columns("POOL", "USABLE NODES", "SLOTS", "FREE", "OUT OF USE")
	for _, p := range impact.Pools {
		b, a := p.Before, p.After
		g.row(p.Pool, change(int64(b.Usable), int64(a.Usable)), change(b.Slots, a.Slots), change(b.Free, a.Free), change(b.OutOfUse, a.OutOfUse))
	}
	return g
}

func impactApps(impact *rest.Impact) grid {
	g := columns("APP", "OWNER", "ROLE", "USABLE NODES", "WAITING", "FALLBACK")
	for _, a := range impact.Apps {
		g.row(a.App, a.Owner, a.Role, change(int64(a.Before), int64(a.After)), a.Waiting, onOff(a.FallbackAllowed))
	}
	return g
}

// blockerRows are the attempts that a node holds.
func blockerRows(running []rest.Blocker) grid {
	g := columns("JOB", "ATTEMPT", "PHASE", "PERCENT")
	for _, b := range running {
		g.row(b.Job, b.Attempt, b.Phase, b.Percent)
	}
	return g
}

// change is a number before and after; one that stays is itself.
func change(before, after int64) string {
	if before == after {
		return fmt.Sprint(before)
	}
	return fmt.Sprintf("%d -> %d", before, after)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

package identity

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// find gives the claimant that presents itself, or -1. That is the same process with
// what it showed; else one that began anew, the holder by its chain, another by what
// it showed before; else the same process with another value.
func find(id *fleet.Identity, p *Presented) int {
	for _, is := range []func(c *fleet.Claimant) bool{
		func(c *fleet.Claimant) bool { return c.BootID == p.BootID && (c.Holder || c.Chain == p.Chain) },
		func(c *fleet.Claimant) bool { return c.Holder && right(id, p.Chain) },
		func(c *fleet.Claimant) bool { return !c.Holder && c.Chain == p.Chain },
		func(c *fleet.Claimant) bool { return c.BootID == p.BootID },
	} {
		for at := range id.Claimants {
			c := &id.Claimants[at]
			if c.MachineID == p.MachineID && is(c) && (owns(id, p.Chain) || !owns(id, c.Chain)) {
				return at
			}
		}
	}
	return -1
}

// owns reports a value that the node was given, now or earlier, as far as is kept.
func owns(id *fleet.Identity, chain fleet.Sum) bool {
	return chain != fleet.Sum{} &&
		(chain == id.Current || slices.Contains(id.Pending, chain) || slices.Contains(id.Past, chain))
}

// Strange reports a claimant that shows a value which the node was never given, as far
// as is known, though it was given others.
func Strange(id *fleet.Identity) bool {
	return id.Current != fleet.Sum{} && slices.ContainsFunc(id.Claimants, func(c fleet.Claimant) bool { return !owns(id, c.Chain) })
}

// claimant is p as it is now.
func (p *Presented) claimant(id string, now fleet.Time, holder bool) fleet.Claimant {
	return fleet.Claimant{
		ID: id, Chain: p.Chain, MachineID: p.MachineID, BootID: p.BootID, Address: p.Address, AgentVersion: p.AgentVersion,
		Seen: now, Holder: holder,
	}
}

// claimed is the list with p in it as it is now, in its place or, at -1, as a new
// one. Where it is full the first ones stay, who came before anybody could fill it:
// the last makes room, but none that shows a value of the node's own for one that
// does not.
func claimed(id *fleet.Identity, at int, p *Presented, now fleet.Time, holder bool) []fleet.Claimant {
	list := slices.Clone(id.Claimants)
	switch {
	case at >= 0:
		list[at] = p.claimant(list[at].ID, now, list[at].Holder)
	case len(list) < MaxClaimants:
		at, list = len(list), append(list, p.claimant(unused(list, p.ID), now, false))
	default:
		if at = replaceable(id, holder || owns(id, p.Chain)); at < 0 {
			return list
		}
		list[at] = p.claimant(unused(list, p.ID), now, false)
	}
	for i := range list {
		list[i].Holder = list[i].Holder && !holder || holder && i == at
	}
	return list
}

// replaceable is the newest claimant that is neither the holder nor a person's choice
// and shows no value of the node's own; else, for somebody known to the node, the
// newest of those that do; else -1.
func replaceable(id *fleet.Identity, known bool) int {
	own := -1
	for at := len(id.Claimants) - 1; at >= 0; at-- {
		switch c := &id.Claimants[at]; {
		case c.Holder || c.ID == id.Keep:
		case !owns(id, c.Chain):
			return at
		case known && own < 0:
			own = at
		}
	}
	return own
}

// unused makes the id one that nobody in the list has.
func unused(list []fleet.Claimant, id string) string {
	for slices.ContainsFunc(list, func(c fleet.Claimant) bool { return c.ID == id }) {
		id += "+"
	}
	return id
}

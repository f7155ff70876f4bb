package fleet

import "slices"

// Sum is the SHA-256 of a secret or of a chain's value: all that is kept of it.
// The zero Sum is none.
type Sum = [32]byte

// Identity is by what a node is known beside its secret, and who else came with
// that secret. Its lists are shared: every change makes new ones.
type Identity struct {
	// Current is the chain's value that the node has shown; zero: it never showed
	// one. Pending were given to it since, the newest last; Past are earlier ones.
	Current Sum
	Pending []Sum
	Past    []Sum

	Claimants []Claimant // of a node in quarantine, in the order in which they came

	// Keep is the claimant that a person chose to be the node; empty: nobody did.
	Keep string
	// Rotation names the one that is under way; only the node that it was sent to
	// knows it. Empty: none. NextSecret is what that node put beside its secret.
	Rotation   string
	NextSecret Sum
}

// Claimant is a process that came with the node's secret while it was held for
// that. Only one of them is the node.
type Claimant struct {
	ID           string // short, for people to name it
	Chain        Sum    // the value that it showed last; zero: none
	MachineID    string
	BootID       string
	Address      string
	AgentVersion string
	Seen         Time // its last hello
	Holder       bool // its chain is the right one: its sessions are taken
}

// Claimant gives the one with that id.
func (i *Identity) Claimant(id string) (Claimant, bool) {
	at := slices.IndexFunc(i.Claimants, func(c Claimant) bool { return c.ID == id })
	if at < 0 {
		return Claimant{}, false
	}
	return i.Claimants[at], true
}

// Holder gives the claimant whose sessions are taken.
func (i *Identity) Holder() (Claimant, bool) {
	at := slices.IndexFunc(i.Claimants, func(c Claimant) bool { return c.Holder })
	if at < 0 {
		return Claimant{}, false
	}
	return i.Claimants[at], true
}

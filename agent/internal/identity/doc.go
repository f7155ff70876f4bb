// Package identity is who this node is, as its state directory knows it: the
// secret that it made itself, the id and epoch that the control plane gave it, and
// the lock that lets one process use them.
//
// The secret is on the disk before the first registration, so that a registration
// whose answer was lost is repeated with the same one and gives the same node.
package identity

// Package schedule finds nodes for work and keeps the work that has none.
//
// A decision takes three steps: the pool is the candidate set (a node outside
// is not looked at), the first reason against a node rejects and counts it, and
// of those left the one with the most free slots wins, the lowest id first
// among equals. Nothing else ranks.
//
// The index holds nodes in groups of equal attributes and counts the first
// reasons as nodes change, so that a decision costs the same however many nodes
// are full, held or away; its tests compare it with a plain scan.
package schedule

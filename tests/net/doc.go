// Package net is the rig of real networks: a server and its private PostgreSQL in
// one network namespace, agents behind NATs in others, all of them made by the
// tests themselves and gone with them. Nothing leaves the machine.
//
//	 the test, servers          a site: a NAT of its own, as many as tests ask for
//	┌──────────────────┐      ┌───────────────────────┐      ┌────────────┐
//	│ hub   10.88.0.1  │──────│ out   10.88.0.10 …    │──────│ 10.77.0.11 │ agent
//	│       no route back     │ lan   10.77.0.1  NAT  │──────│ 10.77.0.12 │ agent
//	└──────────────────┘      └───────────────────────┘      └────────────┘
//
// It needs root, ip, nft, conntrack and nsenter, and Linux; elsewhere its tests are
// skipped with the reason, in CI they fail.
package net

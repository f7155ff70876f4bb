// Package sim plays the deciding code of server and nodes over a virtual fleet: one
// event loop, a virtual clock, chance from a seed. It has no decision of its own.
// The real core and the real nodecore decide; this package translates between them
// and models what lies between: network, store, machines, operators, clients.
//
// Run plays a Scenario and gives a Report. What happens in which order follows from
// the scenario and the seed alone; Report.Hash is over every event and effect.
//
// # How it is built
//
//	World     the run: what is to happen, clock, trace, counts       world.go
//	server    the driver of core.Dispatch, as dispatch.Loop is     server.go
//	store     the database, which checks as the SQL does           store.go, write.go
//	node      the shell around nodecore.Node, and its machine      node.go
//	network   connections that keep their order                    network.go
//	told      what the core was told, for the checks               told.go
//
// # To extend it
//
// A word of the script is an entry of operatorActions or faultActions (script.go); a
// fault that lasts registers its end with World.lasting. A fault that swarms draw is
// an entry of faults (swarm.go). A figure that scenarios can expect is an entry of
// counters (counter.go). A rule is a call of World.fail with its number: what follows
// every send stands in judge.go, what follows every write in write.go, what is looked
// at now and then in check.go. Checks decide over World.told, the store and the
// sessions as the server's shell has them, never by asking the core.
//
// It imports neither clock nor randomness that is not seeded, starts no goroutine
// and ranges over no map: tests/archtest says so.
package sim

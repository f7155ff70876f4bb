// Package load measures Rockpool: scripted nodes over real sockets, whose runner
// "noop" answers at once, and probes that do the bare database work in the same
// run.
package load

// Package load measures a server under load that it makes itself: scripted nodes
// over real sockets, submitters over REST, and probes that do the bare work in the
// same run. Figures of a run mean something beside its probes only: a busy machine
// slows both.
//
// Tests use the scripted node too, by way of backendtest.
package load

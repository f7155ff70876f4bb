// Package agent is the program on a node: it holds one session with the control
// plane, runs the jobs that are offered to it, and hands in their results.
//
//	link    ──events──▶ ┌──────┐ ──effects──▶ link    dial, send, hang up
//	runner  ──ends────▶ │ loop │              runner  start, stop
//	disk    ──done────▶ └──────┘              disk    spool, registration
//	signals ──stop────▶  nodecore
//
// One loop owns nodecore, which decides; everything else acts. The loop itself
// never waits for the disk, the network or a job.
package agent

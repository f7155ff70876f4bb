// Package runner runs what the node's owner allows, and nothing else: each runner
// is a name with an argv template, and a payload fills its declared inputs and
// parameters. There is no shell.
//
// An attempt has a folder of its own, an environment of three variables and the
// allowed ones, a session, a control group where the machine gives one, another user
// where the owner names one, and bounds on time, memory, processes and what it may
// write. It has ended when none of its processes lives.
package runner

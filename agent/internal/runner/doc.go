// Package runner runs what the node's owner allows, and nothing else: each runner
// is a name with an argv template, and a payload fills its declared inputs and
// parameters. There is no shell.
//
// An attempt has a folder of its own, an environment of two variables and the
// allowed ones, a process group, a time limit and bounds on what it may write. It
// has ended when none of its processes lives.
package runner

// Package dispatch drives the deciding code: one goroutine owns a core.Dispatch,
// feeds it events one at a time, and hands what it wants written to the store in
// batches, a transaction each. While one is under way the effects of further
// events gather in the next, so that the batch adapts to the commit without any
// timer (group commit); a large one goes behind it before that is over.
//
// Files: loop.go is the goroutine; batch.go what happens to a batch of effects;
// recover.go how the loop begins, and begins again after the database was away;
// work.go what the API asks; node.go what sessions tell; clock.go the time.
package dispatch

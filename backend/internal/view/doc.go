// Package view is the one projection of the fleet that people see: REST and the
// topics of consoles make their nodes and pools from the same rows, so that list,
// detail and page agree.
//
// While consoles are subscribed the view asks the dispatch loop every 20 ms what
// changed (by revision: what did not change costs nothing) and sends each topic's
// subscribers the rows that became different. A node's lease, pool and holds and a
// job's end go out with that very tick; everything else is gathered and sent four
// times a second. A delta is encoded once for all who see the same rows. Without
// consoles the view wakes once a minute, for the history of pools.
//
// Files: row.go and jobrow.go what a row says; state.go what the view knows of
// the fleet, history.go of how its pools were, job.go of jobs; feed.go one topic
// as it is seen by some; topic.go which topics there are, scope.go who sees which
// rows; view.go the loop.
package view

// Package link is the agent's side of the channel: it dials, receives, sends and
// hangs up as it is told, and reports what happened as events. It decides nothing;
// connections are known by the numbers that nodecore gives them.
//
// One goroutine lives for each connection, from the dial to its end. Nothing here
// waits for the consumer of another connection's events.
package link

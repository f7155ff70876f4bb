package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

func TestClose_EndsAllSessionsAndTakesNoMore(t *testing.T) {
	r := newRig(t, nil)
	agents := []*agent{r.dial(bearer(r.node("mute")))} // still owes its hello
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		agents = append(agents, r.join(id, r.node(id)))
	}
	closed := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { closed <- r.gateway.Close(ctx) }()
	for _, a := range agents {
		if code := a.ended(); code != wire.CloseShutdown {
			t.Errorf("a session ended with %s", code)
		}
	}
	if len(agents[0].came) > 0 {
		t.Errorf("who owes its hello was told %+v", agents[0].came)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if n := r.hub.Counts().Open; n != 0 {
		t.Errorf("%d connections are left", n)
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		if told := r.loop.events(); !slices.ContainsFunc(told, func(s string) bool { return s[:8] == "closed "+id }) {
			t.Errorf("the loop was not told that %s is gone: %v", id, told)
		}
	}
	_, err := wsconn.Dial(t.Context(), r.url, wsconn.DialOptions{Header: bearer(r.node("late"))})
	var refused *wsconn.Refusal
	if !errors.As(err, &refused) || refused.Status != 503 {
		t.Errorf("after close: %v", err)
	}
}

// Fifty nodes are told of a planned stop: when to dial anew, evenly spread over the
// window, and then 1001.
func TestCase_F6_APlannedStopSpreadsTheFleet(t *testing.T) {
	const nodes, window, parts = 50, 60_000, 5
	r := newRig(t, func(c *Config) { c.Times.RedialWindow = window })
	agents := make([]*agent, nodes)
	for i := range agents {
		id := fmt.Sprintf("ams-%d", i)
		agents[i] = r.join(id, r.node(id))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- r.gateway.Close(ctx) }()
	var share [parts]int
	for i, a := range agents {
		if code := a.ended(); code != wire.CloseShutdown {
			t.Errorf("node %d: %s", i, code)
		}
		ack := hear[wire.HeartbeatAck](a)
		if !ack.OK || ack.Reconnect == nil || ack.Reconnect.DelayMs < 0 || ack.Reconnect.DelayMs >= window {
			t.Fatalf("node %d was told %+v", i, ack)
		}
		share[ack.Reconnect.DelayMs*parts/window]++
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for part, n := range share {
		if n == 0 || n > 3*nodes/parts {
			t.Errorf("%d of %d dial in part %d of %d: %v", n, nodes, part, parts, share)
		}
	}
}

// A planned stop says nothing to a node whose welcome waits for its commit: before it
// a node takes no message. It is closed with 1001 like the others.
func TestCase_F6_APlannedStopSaysNothingBeforeTheWelcome(t *testing.T) {
	r := newRig(t, nil)
	welcomed := r.join("ams-1", r.node("ams-1"))
	r.loop.mu.Lock()
	r.loop.committing = true
	r.loop.mu.Unlock()
	waiting := r.dial(bearer(r.node("ams-2")))
	waiting.say(helloFrom("ams-2"))
	r.loop.await(t, "hello ams-2 2")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- r.gateway.Close(ctx) }()
	for _, a := range []*agent{welcomed, waiting} {
		if code := a.ended(); code != wire.CloseShutdown {
			t.Errorf("closed with %s", code)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	hear[wire.HeartbeatAck](welcomed)
	if len(waiting.came) > 0 {
		t.Errorf("before its welcome the node heard %+v", waiting.came)
	}
}

func TestClose_CutsWhatDoesNotEndInTime(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Conn.CloseWithin = time.Hour })
	a := r.dialRaw(bearer(r.node("ams-1"))) // never answers a close
	a.send(frameOf(t, helloFrom("ams-1")))
	a.receive()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.gateway.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	r.loop.await(t, "closed ams-1 1")
}

package net

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"rockpool/tests/rig"
)

// longLeases is the server whose leases are as they ship; what is measured against
// the promised times runs there.
func longLeases(t *testing.T) *rig.Server {
	t.Helper()
	need(t)
	t.Parallel()
	return rig.SharedServer(t)
}

// noticed is how long after the fault both sides may believe in a dead connection:
// the suspect time, and a second.
const noticed = 26 * time.Second

// The NAT forgets both flows: no packet ever tells anybody.
func TestCase_N1_TheNATForgetsTheFlow(t *testing.T) {
	h := newHouse(t, longLeases(t), 2)
	h.begin()
	epochs := h.epochs()
	fault := time.Now()
	h.site.forget()
	server, agent := h.awaitNoticed(fault, epochs)
	t.Logf("noticed by the server after %v, by the agents after %v", server, agent)
	if server > noticed || agent > noticed {
		t.Errorf("noticed by the server after %v, by the agents after %v, want %v at most", server, agent, noticed)
	}
	h.awaitReady()
	h.finish(0, 0)
}

// awaitNoticed waits until the server knows of each node's dead session and each
// agent of its own, and gives the later times since the fault.
func (h *house) awaitNoticed(fault time.Time, epochs []int64) (server, agent time.Duration) {
	h.t.Helper()
	for host, a := range h.agents {
		told, seen := false, false
		rig.Await(h.t, patience, func() (bool, string) {
			if !told && strings.Contains(a.Log(), "no heartbeat was acknowledged in time") {
				told, agent = true, max(agent, time.Since(fault))
			}
			if node := h.node(host); !seen && (node.Lease != "ready" || node.Epoch > epochs[host]) {
				seen, server = true, max(server, time.Since(fault))
			}
			return told && seen, fmt.Sprintf("the agent has noticed: %v, the server: %v", told, seen)
		})
	}
	return server, agent
}

// epochs are the nodes' newest sessions.
func (h *house) epochs() (list []int64) {
	h.t.Helper()
	for host := range h.agents {
		list = append(list, h.node(host).Epoch)
	}
	return list
}

// A cut that is shorter than the lost time costs nothing, whichever way it goes: no
// work runs again, and nothing is raised. (Of a pool most of whose nodes are silent its
// threshold tells, as it should; here that is one of three.)
func TestPartition_OfAMinuteIsHarmless(t *testing.T) {
	h := newHouse(t, longLeases(t), 3)
	h.begin()
	h.site.part(0)
	h.pass(time.Minute)
	h.site.heal()
	t.Logf("back after %v", h.awaitReady())
	h.finish(0, 0)
	if alarms := h.alarms(); len(alarms) != 0 {
		t.Errorf("alarms %v", alarms)
	}
}

func TestPartition_TheNodeHearsNothing(t *testing.T) {
	h := newHouse(t, longLeases(t), 2)
	h.begin()
	h.site.deafen(0)
	h.pass(40 * time.Second)
	h.site.heal()
	t.Logf("back after %v", h.awaitReady())
	h.finish(0, 0)
}

func TestPartition_NobodyHearsTheNode(t *testing.T) {
	h := newHouse(t, longLeases(t), 2)
	h.begin()
	h.site.mute(0)
	h.pass(40 * time.Second)
	h.site.heal()
	t.Logf("back after %v", h.awaitReady())
	h.finish(0, 0)
}

// pass lets time pass: that a fault lasts is the fault. No node may be lost meanwhile.
func (h *house) pass(span time.Duration) {
	h.t.Helper()
	over := time.Now().Add(span)
	rig.Await(h.t, span+patience, func() (bool, string) {
		for host := range h.agents {
			if node := h.node(host); node.Lease == "lost" {
				h.t.Fatalf("node %s is lost", node.ID)
			}
		}
		return time.Now().After(over), ""
	})
}

// lossTime is how long packets are lost; scripts/soak has ten minutes.
func lossTime() time.Duration {
	if os.Getenv("ROCKPOOL_TEST_SOAK") != "" {
		return 10 * time.Minute
	}
	return time.Minute
}

// A twentieth of all packets is lost in each direction, while work goes on.
func TestLoss_NoSessionEnds(t *testing.T) {
	h := newHouse(t, longLeases(t), 2)
	h.begin()
	epochs := h.epochs()
	h.site.lose(5)
	over := time.Now().Add(lossTime())
	slowest := time.Duration(0)
	for time.Now().Before(over) {
		began := time.Now()
		h.await(h.submit("brief").ID, "succeeded")
		slowest = max(slowest, time.Since(began))
	}
	h.site.heal()
	t.Logf("%d jobs meanwhile, the slowest in %v", len(h.jobs), slowest)
	for host, epoch := range h.epochs() {
		if node := h.node(host); epoch != epochs[host] || node.Lease != "ready" {
			t.Errorf("node %s is %s, its session was %d and is %d", node.ID, node.Lease, epochs[host], epoch)
		}
	}
	h.finish(0, 0)
}

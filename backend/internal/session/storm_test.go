package session

import (
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// dial asks for the channel once; the Raw is nil when the answer is no.
func (p *pipes) dial(header http.Header) (*wsconntest.Raw, *http.Response, error) {
	client, server := net.Pipe()
	p.accepted <- server
	header = header.Clone()
	header.Set("Sec-WebSocket-Protocol", wire.Subprotocol)
	raw, answer, err := wsconntest.Upgrade(client, header)
	if raw == nil {
		_ = client.Close()
	}
	return raw, answer, err
}

// Many more nodes than may connect at once all come at once: the surplus is told
// when to come again, none sooner than it may, all are in as soon as the budget lets
// them, and an operator's console never waits for any of it.
func TestAttack_A29_AStormIsPacedAndLocksNobodyOut(t *testing.T) {
	const nodes, budget = 600, 50
	paced := func(c *Config) { c.AgentsPerSecond = budget }
	bubble(t, paced, func(t *testing.T, r *rig, p *pipes) {
		console, _ := r.signIn(operator)
		began := time.Now()
		var mu sync.Mutex
		var in []time.Duration // when each got in
		var putOff int
		var storm sync.WaitGroup
		for i := range nodes {
			secret := r.node("storm-" + strconv.Itoa(i))
			random := rand.New(rand.NewPCG(uint64(i), 1))
			storm.Go(func() {
				for {
					raw, answer, err := p.dial(bearer(secret))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if raw != nil {
						in = append(in, time.Since(began))
						mu.Unlock()
						_ = raw.Close()
						return
					}
					putOff++
					mu.Unlock()
					wait, err := strconv.Atoi(answer.Header.Get("Retry-After"))
					if answer.StatusCode != http.StatusServiceUnavailable || err != nil || wait < 1 {
						t.Errorf("put off with %s, Retry-After %q", answer.Status, answer.Header.Get("Retry-After"))
						return
					}
					time.Sleep(time.Duration(wait)*time.Second + time.Duration(random.Int64N(int64(time.Second))))
				}
			})
		}
		for range 5 { // operators, in the midst of it
			raw, answer, err := p.dial(console)
			if raw == nil {
				t.Fatalf("an operator was answered %v, %v", answer, err)
			}
			_ = raw.Close()
			time.Sleep(time.Second)
		}
		storm.Wait()
		for _, at := range in {
			n := 0
			for _, other := range in {
				if other >= at && other < at+time.Second {
					n++
				}
			}
			if n > 2*budget {
				t.Fatalf("%d got in within the second from %v", n, at)
			}
		}
		if took := time.Since(began); len(in) != nodes || putOff == 0 || took > 2*nodes/budget*time.Second {
			t.Errorf("%d got in within %v, after %d refusals", len(in), took, putOff)
		}
		if n := r.hub.Counts().OverBudget; n != uint64(putOff) {
			t.Errorf("%d are counted over the budget, %d were put off", n, putOff)
		}
	})
}

// When the last watcher leaves, however it goes, nothing of it is left: no
// subscription, no look at the fleet, no goroutine, no open connection.
func TestCase_N21_WhatWatchersLeaveIsNothing(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig, p *pipes) {
		header, _ := r.signIn(operator)
		before := goroutines()
		for round := range 3 {
			var watchers []*flooder
			for range 20 {
				w := p.join(t, header, nil)
				for _, topic := range []string{wire.TopicNodes, wire.TopicJobs, wire.TopicPools, wire.TopicFleet, wire.TopicAlarms} {
					w.write(masked(wsconntest.Binary, frameOf(t, wire.Subscribe{Topic: topic})))
				}
				watchers = append(watchers, w)
			}
			synctest.Wait()
			if !r.stage.Watching() || r.hub.Counts().Open != 20 {
				t.Fatalf("round %d: watching jobs: %v, %d open", round, r.stage.Watching(), r.hub.Counts().Open)
			}
			time.Sleep(time.Second)
			if looks := r.stage.Looks(); looks == 0 {
				t.Fatal("nobody looks at the fleet for them")
			}
			for i, w := range watchers {
				switch {
				case i%2 == 0: // says so
					w.write(masked(wsconntest.Close, []byte{0x03, 0xe8}))
					<-w.over
				case i%3 == 0: // goes topic by topic, then
					w.write(masked(wsconntest.Binary, frameOf(t, wire.Unsubscribe{Topic: wire.TopicJobs})))
				}
				w.leave() // as a cable does
			}
			synctest.Wait()
			time.Sleep(time.Second)
			looks := r.stage.Looks()
			time.Sleep(30 * time.Second)
			// Once a minute the view takes the pools' history in any case.
			if more := r.stage.Looks() - looks; more > 1 || r.stage.Watching() || r.hub.Counts().Open != 0 {
				t.Errorf("round %d: %d looks afterwards, watching jobs: %v, %d open", round, more, r.stage.Watching(), r.hub.Counts().Open)
			}
			if now := goroutines(); now > before {
				t.Errorf("round %d: %d goroutines, %d before", round, now, before)
			}
		}
	})
}

// goroutines counts the bubble's, once all of them wait for something.
func goroutines() int {
	synctest.Wait()
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "synctest bubble")
}

package load

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// crowd is many nodes' ends of sessions that cost this process little: each reads
// and answers pings, and all of them send heartbeats in turn.
type crowd struct {
	mu      sync.Mutex
	members []*member
	frames  atomic.Int64 // of messages, that came
	lost    atomic.Int64 // connections that ended
	closing atomic.Bool
	work    sync.WaitGroup
}

type member struct {
	*wsconntest.Raw
	writing sync.Mutex
}

// join opens one more connection; hello, if any, is its first frame, whose answer
// is waited for.
func (c *crowd) join(address string, header http.Header, hello []byte) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	header = header.Clone()
	header.Set("Sec-WebSocket-Protocol", wire.Subprotocol)
	raw, answer, err := wsconntest.Upgrade(conn, header)
	switch {
	case err != nil:
		_ = conn.Close()
		return err
	case raw == nil:
		_ = conn.Close()
		return fmt.Errorf("the upgrade was refused: %s", answer.Status)
	}
	m := &member{Raw: raw}
	if hello != nil {
		if err := m.greet(hello); err != nil {
			_ = conn.Close()
			return err
		}
	}
	c.mu.Lock()
	c.members = append(c.members, m)
	c.mu.Unlock()
	c.work.Go(func() { c.listen(m) })
	return nil
}

// greet says hello and reads the welcome.
func (m *member) greet(hello []byte) error {
	m.write(hello)
	opcode, payload, err := m.Read()
	if err != nil {
		return err
	}
	if code, reason := wsconntest.CloseCode(opcode, payload); code != 0 {
		return fmt.Errorf("closed %s: %s", code, reason)
	}
	return nil
}

func (c *crowd) listen(m *member) {
	for {
		opcode, payload, err := m.Read()
		if code, _ := wsconntest.CloseCode(opcode, payload); err != nil || code != 0 {
			if !c.closing.Load() {
				c.lost.Add(1)
			}
			_ = m.Close()
			return
		}
		switch opcode | 0x80 {
		case wsconntest.Ping:
			m.write(wsconntest.Frame(wsconntest.Pong, true, payload))
		case wsconntest.Binary:
			c.frames.Add(1)
		}
	}
}

// write sends a frame; that it can't leave is seen by the reader.
func (m *member) write(frame []byte) {
	m.writing.Lock()
	defer m.writing.Unlock()
	_, _ = m.Raw.Conn.Write(frame)
}

// live lets all members send a heartbeat every ten seconds, also those that join
// meanwhile, until it is stopped; each call of rounds waits for so many more.
func (c *crowd) live(beat []byte) (rounds func(int), stop func()) {
	round, over := make(chan struct{}), make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c.say(beat, 10*time.Second)
			select {
			case <-over:
				return
			case round <- struct{}{}:
			default:
			}
		}
	})
	rounds = func(n int) {
		for range n {
			<-round
		}
	}
	return rounds, func() { close(over); work.Wait() }
}

// say lets all members send a frame in turn, spread over a time.
func (c *crowd) say(frame []byte, over time.Duration) {
	c.mu.Lock()
	members := slices.Clone(c.members)
	c.mu.Unlock()
	const step = 5 * time.Millisecond
	steps := max(1, int(over/step))
	ticks := time.NewTicker(step)
	defer ticks.Stop()
	for i := range steps {
		for _, m := range members[len(members)*i/steps : len(members)*(i+1)/steps] {
			m.write(frame)
		}
		<-ticks.C
	}
}

// leave ends all connections.
func (c *crowd) leave() {
	c.closing.Store(true)
	for _, m := range c.members {
		_ = m.Close()
	}
	c.work.Wait()
}

package session

import (
	"sync"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/shared/wire"
)

// Bounds of what a connection may say by itself. Each is a rate a second; so many
// seconds' worth may come at once.
const (
	burstFor     = 4 * time.Second
	controlRate  = 10               // pings and pongs
	overFor      = 30 * time.Second // held up for so long without a gap: closed
	paidBySend   = 3                // frames, by an offer, a start or a cancel
	paidByStored = 1                // frames, by the verdict on a result that was new
	paidAtMost   = paidBySend * wire.MaxSlots
)

// pace keeps one connection to its budget. The goroutine that reads it is held up
// as soon as it has read more than that, so that the surplus waits in the socket
// and, when that is full, at the sender. Work is not paced: every offer, start and
// cancel pays for the frames that it makes the node send.
type pace struct {
	peer  peer // the connection itself
	hub   *Hub
	frame time.Duration // what one frame, or one of a console's messages, uses up

	mu                      sync.Mutex
	frames, bytes, controls bucket
	paid                    int32 // frames that are paid for
	ended                   bool  // for saying too much
}

// bucket is a token bucket, held as the moment at which it will be full again.
type bucket struct {
	full time.Duration // since the hub's start
	over time.Duration // since when each take had to wait; 0: the last one had not
}

// take uses up what is worth cost, and says how long to wait before the next take,
// and for how long that has been so.
func (b *bucket) take(now, cost time.Duration) (wait, over time.Duration) {
	b.full = max(b.full, now) + cost
	if wait = b.full - now - burstFor; wait <= 0 {
		b.over = 0
		return 0, 0
	}
	if b.over == 0 {
		b.over = now
	}
	return wait, now - b.over
}

func newPace(h *Hub, self peer, perSecond int) pace {
	return pace{peer: self, hub: h, frame: time.Second / time.Duration(perSecond)}
}

// Read implements wsconn.Pacer: bytes came from the socket.
func (p *pace) Read(n int) {
	p.spend(&p.bytes, p.worth(n))
}

// Control implements wsconn.Pacer: a ping or a pong came.
func (p *pace) Control() {
	p.spend(&p.controls, time.Second/controlRate)
}

// said counts a frame of so many bytes, unless it was asked for or is paid for.
func (p *pace) said(size int, asked bool) {
	if asked || p.usePaid() {
		p.giveBack(size)
		return
	}
	p.spend(&p.frames, p.frame)
}

// worth is what so many bytes use up.
func (p *pace) worth(n int) time.Duration {
	return time.Duration(n) * time.Second / time.Duration(p.hub.cfg.BytesPerSecond)
}

// spend takes from a bucket and holds the caller up; it ends a connection that has
// been held up for too long.
func (p *pace) spend(b *bucket, cost time.Duration) {
	p.mu.Lock()
	wait, over := b.take(p.hub.elapsed(), cost)
	end := over >= overFor && !p.ended
	p.ended = p.ended || end
	p.mu.Unlock()
	if end {
		p.hub.counts.rateLimited.Add(1)
		p.peer.end(wire.CloseRateLimited, "it sends more than it may")
	}
	time.Sleep(wait)
}

// usePaid takes a frame from those that are paid for, if there is one.
func (p *pace) usePaid() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paid == 0 {
		return false
	}
	p.paid--
	return true
}

// giveBack gives the bytes of a frame back.
func (p *pace) giveBack(size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes.full -= p.worth(size)
}

// pay pays for the frames that a send makes the node send.
func (p *pace) pay(send *core.Send) {
	var frames int32
	switch send.Kind {
	case core.SendOffer, core.SendStart, core.SendCancel:
		frames = paidBySend
	case core.SendResultAck:
		if send.Verdict == core.VerdictStored {
			frames = paidByStored
		}
	}
	if frames > 0 {
		p.mu.Lock()
		p.paid = min(p.paid+frames, paidAtMost)
		p.mu.Unlock()
	}
}

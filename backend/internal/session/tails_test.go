package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// reader follows the log of job 1's first attempt on node ams-1.
type reader struct {
	t      *testing.T
	cancel context.CancelFunc
	pieces chan string // offset:bytes
	ended  chan error
}

func (r *rig) follow(n byte, from int64, show func(at int64, part []byte)) *reader {
	ctx, cancel := context.WithCancel(r.t.Context())
	f := &reader{t: r.t, cancel: cancel, pieces: make(chan string, 1024), ended: make(chan error, 1)}
	go func() {
		f.ended <- r.hub.Follow(ctx, "ams-1", job(n), 1, from, func(at int64, part []byte) error {
			f.pieces <- fmt.Sprintf("%d:%s", at, part)
			if show != nil {
				show(at, part)
			}
			return nil
		})
	}()
	r.t.Cleanup(cancel)
	return f
}

func (f *reader) piece() string {
	f.t.Helper()
	return get(f.t, "a piece of the log", f.pieces)
}

func (f *reader) end() error {
	f.t.Helper()
	return get(f.t, "the end of following", f.ended)
}

func get[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("%s never came", what)
		panic("unreachable")
	}
}

// logOf is a piece of the log that reader follows.
func logOf(n byte, offset int64, text string) wire.Log {
	return wire.Log{Job: job(n).String(), Attempt: 1, Stream: wire.LogOutput, Offset: offset, Bytes: []byte(text)}
}

// asked hears the next request, which must begin there.
func (a *agent) asked(n byte, offset int64) {
	a.t.Helper()
	want := wire.LogRequest{Job: job(n).String(), Attempt: 1, Stream: wire.LogOutput, Offset: offset, Max: tailAsk}
	if got := hear[wire.LogRequest](a); got != want {
		a.t.Fatalf("asked %+v, want %+v", got, want)
	}
}

func TestFollow_AsksForOnePieceAfterTheOther(t *testing.T) {
	r := newRig(t, nil)
	a := r.join("ams-1", r.node("ams-1"))
	f := r.follow(1, 0, nil)
	a.asked(1, 0)
	a.say(logOf(1, 0, "one\n"))
	if got := f.piece(); got != "0:one\n" {
		t.Errorf("piece %q", got)
	}
	a.asked(1, 4)
	a.say(logOf(1, 4, "")) // nothing new for a while
	a.asked(1, 4)
	a.say(logOf(1, 100, "two\n")) // what stood between is not kept
	if got := f.piece(); got != "100:two\n" {
		t.Errorf("piece %q", got)
	}
	a.asked(1, 104)
	last := logOf(1, 104, "")
	last.End = true
	a.say(last)
	if err := f.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
	for _, told := range r.loop.events() {
		if told != "hello ams-1 1" && told != "alive ams-1 1" {
			t.Errorf("the loop was told %q", told)
		}
	}
	s := r.hub.sessionOf("ams-1", 1)
	s.tails.mu.Lock()
	defer s.tails.mu.Unlock()
	if n := len(s.tails.open); n != 0 {
		t.Errorf("%d logs are left", n)
	}
}

func TestFollow_ALogThatNobodyAskedForEndsTheSession(t *testing.T) {
	other, old := logOf(1, 0, "x"), logOf(1, 0, "x")
	other.Attempt, old.Offset = 2, 9
	for name, c := range map[string]struct {
		from    int64 // a follower begins there; -1: there is none
		send    []wire.Log
		problem string
	}{
		"nobody follows":       {-1, []wire.Log{logOf(1, 0, "x")}, "was not asked for"},
		"another job":          {0, []wire.Log{logOf(2, 0, "x")}, "was not asked for"},
		"another attempt":      {0, []wire.Log{other}, "was not asked for"},
		"before what is asked": {10, []wire.Log{old}, "is before the one asked for"},
		"more than is asked":   {0, []wire.Log{logOf(1, 0, strings.Repeat("x", tailAsk+1))}, "more than were asked for"},
		"more than travels":    {0, []wire.Log{logOf(1, 0, strings.Repeat("x", wire.MaxLog+1))}, "at most 32768"},
		"an offset too far":    {0, []wire.Log{logOf(1, wire.MaxInteger, "x")}, "offset"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			a := r.join("ams-1", r.node("ams-1"))
			var f *reader
			if c.from >= 0 {
				f = r.follow(1, c.from, nil)
				a.asked(1, c.from)
			}
			for _, m := range c.send {
				a.say(m)
			}
			if said := hear[wire.Error](a); !strings.Contains(said.Detail, c.problem) {
				t.Errorf("refused with %q, want %q", said.Detail, c.problem)
			}
			if code := a.ended(); code != wire.CloseBadMessage {
				t.Errorf("closed with %s", code)
			}
			if f == nil {
				return
			}
			if err := f.end(); err != nil || len(f.pieces) != 0 {
				t.Errorf("%d pieces, then %v", len(f.pieces), err)
			}
		})
	}
}

// A request has one answer: a node that answers twice, in one frame, is closed. Its
// follower is still showing the first answer, or would ask for the second in time.
func TestFollow_ARequestHasOneAnswer(t *testing.T) {
	r := newRig(t, nil)
	a := r.dialRaw(bearer(r.node("ams-1")))
	a.send(frameOf(t, helloFrom("ams-1")))
	r.loop.await(t, "hello ams-1 1")
	release := make(chan struct{})
	f := r.follow(1, 0, func(int64, []byte) { <-release })
	for asked := false; !asked; {
		messages, _ := a.receive()
		asked = slices.ContainsFunc(messages, func(m wire.Message) bool { return m.Type == wire.TypeLogRequest })
	}
	frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(logOf(1, 0, "x")), wire.Msg(logOf(1, 1, "y")))
	if err != nil {
		t.Fatal(err)
	}
	a.send(frame)
	_, code := a.until()
	close(release)
	if err := f.end(); code != wire.CloseBadMessage || err != nil {
		t.Errorf("closed with %s, the follower ended with %v", code, err)
	}
}

func TestFollow_SeveralShareOneRequest(t *testing.T) {
	r := newRig(t, nil)
	a := r.join("ams-1", r.node("ams-1"))
	first := r.follow(1, 0, nil)
	a.asked(1, 0)
	a.say(logOf(1, 0, "one\n"))
	first.piece()
	a.asked(1, 4)
	second := r.follow(1, 0, nil) // what is kept comes without a request
	if got := second.piece(); got != "0:one\n" {
		t.Errorf("the second one got %q", got)
	}
	a.say(logOf(1, 4, "two\n"))
	if one, two := first.piece(), second.piece(); one != "4:two\n" || two != one {
		t.Errorf("got %q and %q", one, two)
	}
	a.asked(1, 8) // had the second one asked too, it would have been for 0 or 4
	second.cancel()
	if err := second.end(); !errors.Is(err, context.Canceled) {
		t.Errorf("the second one ended with %v", err)
	}
	a.say(logOf(1, 8, "three\n"))
	if got := first.piece(); got != "8:three\n" {
		t.Errorf("the first one got %q", got)
	}
}

// A follower who takes nothing costs a bounded ring, and sees a gap later.
func TestFollow_ASlowOneHoldsNobodyUp(t *testing.T) {
	r := newRig(t, nil)
	a := r.join("ams-1", r.node("ams-1"))
	release, stuck := make(chan struct{}), make(chan struct{}, 1024)
	slow := r.follow(1, 0, func(int64, []byte) {
		stuck <- struct{}{}
		<-release
	})
	a.asked(1, 0)
	piece := string(bytes.Repeat([]byte("x"), tailAsk))
	a.say(logOf(1, 0, piece))
	get(t, "the slow one's first piece", stuck)
	fast := r.follow(1, 0, nil)
	fast.piece()
	offset := int64(tailAsk)
	for range 3 * tailKept / tailAsk {
		a.asked(1, offset)
		a.say(logOf(1, offset, piece))
		fast.piece()
		offset += tailAsk
	}
	s := r.hub.sessionOf("ams-1", 1)
	s.tails.mu.Lock()
	if kept := len(s.tails.open[tailKey{job(1), 1}].kept); kept > tailKept {
		t.Errorf("%d bytes are kept", kept)
	}
	s.tails.mu.Unlock()
	close(release)
	slow.piece()
	if got := slow.piece(); !strings.HasPrefix(got, fmt.Sprintf("%d:", offset-tailKept)) || len(got) < tailKept {
		t.Errorf("the slow one goes on with %.20q of %d bytes", got, len(got))
	}
}

// Between its hello and its welcome a node takes no message.
func TestFollow_AsksNothingBeforeTheWelcome(t *testing.T) {
	r := newRig(t, nil)
	r.loop.committing = true
	a := r.dial(bearer(r.node("ams-1")))
	a.say(helloFrom("ams-1"))
	r.loop.await(t, "hello ams-1 1")
	r.follow(1, 0, nil)
	s := r.hub.sessionOf("ams-1", 1)
	follows := func() bool {
		s.tails.mu.Lock()
		defer s.tails.mu.Unlock()
		return len(s.tails.open) > 0
	}
	for deadline := time.Now().Add(patience); !follows(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("nobody follows")
		}
	}
	r.loop.welcome("ams-1", 1)
	frame, err := a.conn.Receive()
	if err != nil || frame.Messages[0].Type != wire.TypeWelcome {
		t.Fatalf("first came %+v, %v", frame.Messages, err)
	}
	if len(frame.Messages) == 1 { // else the request is behind it
		a.asked(1, 0)
	}
}

func TestFollow_EndsWithTheSession(t *testing.T) {
	r := newRig(t, nil)
	a := r.join("ams-1", r.node("ams-1"))
	f := r.follow(1, 0, nil)
	a.asked(1, 0)
	a.conn.CloseNow()
	if err := f.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if err := r.hub.Follow(t.Context(), "nowhere", job(1), 1, 0, nil); err != nil {
		t.Errorf("a node without a session: %v", err)
	}
}

// What one node has under way is bounded, and an abandoned request frees its place
// with its answer.
func TestFollow_LogsOfOneNodeAreBounded(t *testing.T) {
	r := newRig(t, nil)
	a := r.join("ams-1", r.node("ams-1"))
	var first *reader
	for n := byte(1); n <= maxTails; n++ {
		if f := r.follow(n, 0, nil); n == 1 {
			first = f
		}
		a.asked(n, 0)
	}
	full := func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var limited *fleet.Error
		err := r.hub.Follow(ctx, "ams-1", job(99), 1, 0, nil)
		return errors.As(err, &limited) && limited.Code == fleet.CodeRateLimited
	}
	if !full() {
		t.Error("one more is followed")
	}
	first.cancel()
	first.end()
	if !full() {
		t.Error("a request that is open has no place")
	}
	a.say(logOf(1, 0, "late"), wire.Heartbeat{Health: wire.Health{OK: true}})
	r.loop.await(t, "heartbeat ams-1 1 accepting=false")
	if full() {
		t.Error("the answer freed no place")
	}
}

// A node that answers at once with little or nothing is asked again after a pause,
// and one that fills its answers without one.
func TestFollow_PausesWhereTheNodeHasNoMore(t *testing.T) {
	for _, size := range []int{0, 1, tailAsk} {
		bubble(t, func(c *Config) { c.TailPause = 250 * time.Millisecond }, func(t *testing.T, r *rig, p *pipes) {
			client, server := net.Pipe()
			p.accepted <- server
			header := bearer(r.node("ams-1"))
			header.Set("Sec-WebSocket-Protocol", wire.Subprotocol)
			raw, _, err := wsconntest.Upgrade(client, header)
			if err != nil {
				t.Fatal(err)
			}
			say := func(body wire.Body) { _, _ = raw.Write(masked(wsconntest.Binary, frameOf(t, body))) }
			say(helloFrom("ams-1"))
			r.loop.await(t, "hello ams-1 1")
			reader := r.follow(1, 0, nil)
			began := time.Now()
			for answered := 0; answered < 20; {
				_, frame, err := raw.Read()
				if err != nil {
					t.Fatal(err)
				}
				messages, _ := wire.DecodeFrame(frame, wire.DefaultLimits())
				for _, m := range messages {
					if m.Type == wire.TypeLogRequest {
						request, _ := wire.Decode[wire.LogRequest](m)
						say(logOf(1, request.Offset, strings.Repeat("x", size)))
						answered++
					}
				}
			}
			took, want := time.Since(began), 19*250*time.Millisecond
			if size == tailAsk {
				want = 0
			}
			if took != want {
				t.Errorf("20 answers of %d bytes took %v, want %v", size, took, want)
			}
			reader.cancel()
			_ = reader.end()
			_ = raw.Close()
		})
	}
}

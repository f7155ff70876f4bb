package session

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/view"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// door knows the consoles' users by their secrets.
type door struct {
	mu    sync.Mutex
	users map[enroll.Sum]ConsoleUser
	asked int
}

const consoleCookie = "__Host-rockpool"

func (d *door) sum(header http.Header) (sum enroll.Sum, there bool, err error) {
	cookies := (&http.Request{Header: header}).CookiesNamed(consoleCookie)
	if len(cookies) == 0 {
		return sum, false, nil
	}
	sum, ok := enroll.ParseConsoleSecret(cookies[0].Value)
	if !ok {
		return sum, true, fleet.Errorf(fleet.CodeUnauthenticated, "no cookie of ours")
	}
	return sum, true, nil
}

func (d *door) Presented(header http.Header) (bool, error) {
	_, there, err := d.sum(header)
	return there, err
}

func (d *door) Admit(ctx context.Context, header http.Header, _ netip.Addr) (ConsoleUser, error) {
	sum, _, err := d.sum(header)
	if err != nil {
		return ConsoleUser{}, err
	}
	if err := d.Recheck(ctx, sum); err != nil {
		return ConsoleUser{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.users[sum], nil
}

func (d *door) Recheck(_ context.Context, sum [32]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if _, ok := d.users[sum]; !ok {
		return fleet.Errorf(fleet.CodeUnauthenticated, "signed out")
	}
	return nil
}

// show runs the rig's view until the test ends.
func (r *rig) show() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.view.Run(ctx) }()
	r.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
}

// signIn makes a console session and gives the headers of its upgrade.
func (r *rig) signIn(who view.Viewer) (header http.Header, session enroll.Sum) {
	secret := enroll.NewConsoleSecret()
	r.door.mu.Lock()
	defer r.door.mu.Unlock()
	r.door.users[secret.Sum] = ConsoleUser{User: 1, Viewer: who, Session: secret.Sum, Name: "Ada", Roles: []string{"operator"}}
	return http.Header{"Cookie": {consoleCookie + "=" + secret.Text}, "Origin": {r.origin()}}, secret.Sum
}

func (r *rig) origin() string { return strings.TrimSuffix(r.url, wire.ChannelPath) }

var operator = view.Viewer{Nodes: &record.Scope{}, Pools: &record.Scope{}, Jobs: &record.Scope{}, Alarms: &record.Scope{}}

// browser is the other end of a console; it holds what a page would.
type browser struct {
	*agent
	nodes map[string]wire.NodeRow
	rev   map[string]int64
	gaps  int // deltas that did not fit
}

func (r *rig) open(header http.Header) *browser {
	r.t.Helper()
	b := &browser{agent: r.dial(header), nodes: map[string]wire.NodeRow{}, rev: map[string]int64{}}
	welcome := heard[wire.WelcomeConsole](b)
	if welcome.Name != "Ada" || welcome.Times.Tick <= 0 {
		r.t.Fatalf("welcomed with %+v", welcome)
	}
	return b
}

// heard waits for the next message, which must be of this type.
func heard[T any, P bodyOf[T]](b *browser) T {
	b.t.Helper()
	m := b.next()
	body, err := wire.Decode[T, P](m)
	if err != nil {
		b.t.Fatalf("heard %s: %v", m.Type, err)
	}
	return body
}

// next is the next message.
func (b *browser) next() wire.Message {
	b.t.Helper()
	for len(b.came) == 0 {
		frame, err := b.conn.Receive()
		if err != nil {
			b.t.Fatal(err)
		}
		b.came = frame.Messages
	}
	m := b.came[0]
	b.came = b.came[1:]
	return m
}

func (b *browser) say(body wire.Body) {
	b.t.Helper()
	if err := b.conn.Send(wire.Outgoing{ID: "q", Body: body}); err != nil {
		b.t.Fatal(err)
	}
}

// step takes one message as a page does, asking for further parts.
func (b *browser) step() wire.Type {
	b.t.Helper()
	m := b.next()
	switch m.Type {
	case wire.TypeSnapshot:
		part, err := wire.Decode[wire.Snapshot](m)
		if err != nil {
			b.t.Fatal(err)
		}
		if part.Part == 0 {
			clear(b.nodes)
		}
		for _, row := range part.Nodes {
			b.nodes[row.ID] = row
		}
		b.rev[part.Topic] = part.Rev
		if !part.Last {
			b.say(wire.More{Topic: part.Topic, Part: part.Part + 1})
		}
	case wire.TypeDelta:
		d, err := wire.Decode[wire.Delta](m)
		if err != nil {
			b.t.Fatal(err)
		}
		if d.Prev != b.rev[d.Topic] {
			b.gaps++
		}
		b.rev[d.Topic] = d.Rev
		for _, row := range d.Nodes {
			b.nodes[row.ID] = row
		}
		for _, id := range d.Deletes {
			delete(b.nodes, id)
		}
	}
	return m.Type
}

// until steps until the condition holds.
func (b *browser) until(what string, holds func() bool) {
	b.t.Helper()
	overdue := time.AfterFunc(patience, b.conn.CloseNow)
	defer overdue.Stop()
	for !holds() {
		if b.step() == wire.TypeError {
			b.t.Fatalf("an error came before %s", what)
		}
	}
}

// closed waits for the connection's end and gives its code.
func (b *browser) closed() wire.CloseCode {
	b.t.Helper()
	overdue := time.AfterFunc(patience, b.conn.CloseNow)
	defer overdue.Stop()
	for {
		if _, err := b.conn.Receive(); err != nil {
			var end *wsconn.End
			if !errors.As(err, &end) {
				b.t.Fatal(err)
			}
			return end.Code
		}
	}
}

func status(err error) int {
	var refused *wsconn.Refusal
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

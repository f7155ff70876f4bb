// Package load measures Rockpool: agents as goroutines over real sockets, whose
// own runner "noop" answers at once, and probes that do the bare database work
// in the same run.
package load

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// agent is a node of the load: it takes every offer and ends it at its start.
type agent struct {
	conn   *wsconn.Conn
	epoch  int64
	secret string
}

// join enrolls a new node with a license code and opens its session.
func join(ctx context.Context, server, license, name string, slots int64) (*agent, error) {
	var secret [32]byte
	rand.Read(secret[:])
	a := &agent{secret: base64.RawURLEncoding.EncodeToString(secret[:])}
	header := http.Header{}
	header.Set("Authorization", "License "+license)
	header.Set(wire.NodeSecretHeader, a.secret)
	conn, err := wsconn.Dial(ctx, server+wire.ChannelPath, wsconn.DialOptions{Header: header})
	if err != nil {
		return nil, fmt.Errorf("dial as %s: %w", name, err)
	}
	a.conn = conn
	if err := a.hello(name, slots); err != nil {
		conn.CloseNow()
		return nil, fmt.Errorf("hello as %s: %w", name, err)
	}
	return a, nil
}

func (a *agent) hello(name string, slots int64) error {
	err := a.conn.Send(wire.Msg(wire.Hello{
		NodeID: name, ProtoMin: wire.ProtoMin, ProtoMax: wire.ProtoMax, AgentVersion: "load", OS: "linux", Arch: "amd64",
		MachineID: "load", BootID: name, Role: "worker", Backend: "cpu",
		Capacity: wire.Capacity{Slots: slots}, Runners: []string{"noop"},
	}))
	if err != nil {
		return err
	}
	frame, err := a.conn.Receive()
	if err != nil {
		return err
	}
	welcome, err := wire.Decode[wire.Welcome](frame.Messages[0])
	if err != nil {
		return err
	}
	a.epoch = welcome.Epoch
	a.conn.SetSendLimits(welcome.Limits)
	return nil
}

// run answers until the connection ends, which is its only way out.
func (a *agent) run() {
	beat := time.NewTicker(10 * time.Second)
	defer beat.Stop()
	go func() {
		for {
			select {
			case <-beat.C:
				// What runs ends within its frame: there is nothing to list.
				_ = a.conn.Send(wire.Msg(wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}}))
			case <-a.conn.Closed():
				return
			}
		}
	}()
	for {
		frame, err := a.conn.Receive()
		if err != nil {
			return
		}
		for _, m := range frame.Messages {
			if a.answer(m) != nil {
				return
			}
		}
	}
}

func (a *agent) answer(m wire.Message) error {
	switch m.Type {
	case wire.TypeOffer:
		offer, err := wire.Decode[wire.Offer](m)
		if err != nil {
			return err
		}
		return a.conn.Send(wire.Msg(wire.Accept{Job: offer.Job, Attempt: offer.Attempt}))
	case wire.TypeStart:
		start, err := wire.Decode[wire.Start](m)
		if err != nil {
			return err
		}
		return a.conn.Send(wire.Msg(wire.Result{Job: start.Job, Attempt: start.Attempt, Status: wire.ResultSucceeded}))
	}
	return nil
}

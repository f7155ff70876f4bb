package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"rockpool/agent/internal/identity"
	"rockpool/agent/internal/link"
	"rockpool/agent/internal/runner"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// visit opens a session, stores what its welcome says, and says goodbye. It is for
// what takes no more than that: joining, leaving, looking whether the way is free.
// It waits for each answer once.
func (a *Agent) visit(ctx context.Context, id *identity.Identity, book *runner.Book, credential link.Credential, goodbye wire.GoodbyeKind) (wire.Welcome, error) {
	server, err := url.Parse(a.cfg.ServerURL)
	if err != nil {
		return wire.Welcome{}, fmt.Errorf("server_url: %w", err)
	}
	config, err := a.cfg.tls()
	if err != nil {
		return wire.Welcome{}, err
	}
	header, err := credential()
	if err != nil {
		return wire.Welcome{}, err
	}
	conn, err := wsconn.Dial(ctx, server.JoinPath(wire.ChannelPath).String(), wsconn.DialOptions{Header: header, TLS: config, Proxy: http.ProxyFromEnvironment})
	if err != nil {
		return wire.Welcome{}, wayError{err}
	}
	defer conn.CloseNow()
	welcome, err := a.greet(conn, id, book)
	if err != nil {
		return wire.Welcome{}, err
	}
	if err := errors.Join(id.Remember(identity.Record{NodeID: welcome.NodeID, Epoch: welcome.Epoch, Chain: welcome.Chain}), id.Confirm()); err != nil {
		return wire.Welcome{}, err
	}
	if err := conn.Send(wire.Msg(wire.Goodbye{Kind: goodbye})); err != nil {
		return wire.Welcome{}, wayError{fmt.Errorf("say goodbye: %w", err)}
	}
	conn.Close(wire.CloseNormal, "a visit")
	return welcome, nil
}

// greet says hello and waits for the welcome.
func (a *Agent) greet(conn *wsconn.Conn, id *identity.Identity, book *runner.Book) (wire.Welcome, error) {
	hello, record := a.hello(id, book, identity.ThisMachine(id.Dir())), id.Record()
	if record.Registered() {
		hello.NodeID = "" // it has its name
	}
	hello.LastEpoch, hello.Chain = record.Epoch, record.Chain
	if err := conn.Send(wire.Msg(hello)); err != nil {
		return wire.Welcome{}, wayError{fmt.Errorf("say hello: %w", err)}
	}
	late := time.AfterFunc(time.Duration(a.cfg.RPCTimeout), conn.CloseNow)
	defer late.Stop()
	for {
		frame, err := conn.Receive()
		if err != nil {
			return wire.Welcome{}, wayError{fmt.Errorf("wait for the welcome: %w", err)}
		}
		for _, m := range frame.Messages {
			switch m.Type {
			case wire.TypeWelcome:
				welcome, err := wire.Decode[wire.Welcome](m)
				if err != nil {
					return wire.Welcome{}, err
				}
				if _, ok := wire.Agree(welcome.Proto, welcome.Proto); !ok {
					return wire.Welcome{}, &link.VersionError{Proto: welcome.Proto}
				}
				return welcome, nil
			case wire.TypeRefused:
				refused, err := wire.Decode[wire.Refused](m)
				if err != nil {
					return wire.Welcome{}, err
				}
				return wire.Welcome{}, &refusedError{refused}
			}
		}
	}
}

// wayError is an end of the way between the two, or none at all.
type wayError struct{ error }

// Unwrap gives the way's own error.
func (w wayError) Unwrap() error { return w.error }

// refusedError is a hello that the control plane did not take.
type refusedError struct{ wire.Refused }

func (r *refusedError) Error() string {
	return "the control plane refuses this node: " + r.Code + ": " + r.Detail
}

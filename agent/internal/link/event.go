package link

import (
	"time"

	"rockpool/shared/wire"
)

// Event is what happened on a connection: Dialed, Received or Closed.
type Event interface{ conn() int64 }

// Dialed: the connection is up.
type Dialed struct{ Conn int64 }

// Received is what one frame brought, decoded and checked: each of the bodies is one
// of the wire structs that an agent receives.
type Received struct {
	Conn   int64
	Bodies []wire.Body
}

// Closed is the last event of a connection, whether it ever was up or not.
type Closed struct {
	Conn   int64
	Status int            // HTTP status when the upgrade was refused
	Code   wire.CloseCode // with which it ended, by the control plane or for its version; 0: without
	Floor  time.Duration  // least wait that the server asked for, or that the close code means
	Err    error          // for the log
}

func (e Dialed) conn() int64   { return e.Conn }
func (e Received) conn() int64 { return e.Conn }
func (e Closed) conn() int64   { return e.Conn }

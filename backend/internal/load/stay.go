package load

import (
	"context"
	"errors"
	"time"

	"rockpool/shared/nodecore"
	"rockpool/shared/wsconn"
)

// Stay keeps a session open until ctx ends, as an agent does: whenever one has
// ended, or a dial has failed, it dials anew after the wait that the agent's own
// code decides by the seed. opened is called at each session's begin, trouble with
// why one ended or could not be opened.
func (n *Node) Stay(ctx context.Context, seed uint64, opened func(), trouble func(error)) {
	redial := nodecore.NewRedial(seed)
	defer n.Cut()
	for {
		err := n.Connect(ctx)
		if err == nil {
			opened()
			err = n.outlive(ctx, redial)
		}
		if ctx.Err() == nil {
			trouble(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(redial.Wait(floorOf(err))) * time.Millisecond):
		}
	}
}

// outlive waits for the session's end and says why it came.
func (n *Node) outlive(ctx context.Context, redial *nodecore.Redial) error {
	began, s := time.Now(), n.Session()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Closed():
	}
	why := s.End()
	redial.Lived(nodecore.Time(time.Since(began).Milliseconds()), nodecore.Times{RedialWindow: nodecore.Time(n.Welcome.Times.RedialWindow)})
	return why
}

// floorOf is what the other side, or its answer, asks for before the next dial.
func floorOf(err error) nodecore.Time {
	var refusal *wsconn.Refusal
	var end *wsconn.End
	switch {
	case errors.As(err, &refusal):
		return nodecore.FloorOfStatus(refusal.Status, nodecore.Time(refusal.RetryAfter.Milliseconds()))
	case errors.As(err, &end) && !end.Local:
		return nodecore.Time(end.Code.RetryAfter().Milliseconds())
	}
	return 0
}

package link

import (
	"time"

	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// Ref reads the key of an attempt from a message that was checked already.
func Ref(job string, attempt int64) nodecore.Ref {
	id, _ := ids.ParseJobID(job) // decoding has checked it
	return nodecore.Ref{Job: id, Attempt: int32(attempt)}
}

// Refs reads a list of keys.
func Refs(list []wire.AttemptRef) []nodecore.Ref {
	refs := make([]nodecore.Ref, len(list))
	for i, r := range list {
		refs[i] = Ref(r.Job, r.Attempt)
	}
	return refs
}

// Welcome gives a welcome to the deciding code.
func Welcome(w wire.Welcome) nodecore.Welcome {
	return nodecore.Welcome{
		Registration: nodecore.Registration{NodeID: w.NodeID, Epoch: w.Epoch, Chain: w.Chain},
		Times: nodecore.Times{
			Heartbeat: nodecore.Time(w.Times.Heartbeat), Suspect: nodecore.Time(w.Times.Suspect),
			RedialWindow: nodecore.Time(w.Times.RedialWindow),
		},
		Void: Refs(w.Void),
	}
}

// Ack gives an acknowledgement to the deciding code.
func Ack(a wire.HeartbeatAck) nodecore.Ack {
	ack := nodecore.Ack{OK: a.OK, Void: Refs(a.Void), Reconnect: -1}
	for _, c := range a.Cancel {
		ack.Cancel = append(ack.Cancel, nodecore.Stop{Ref: Ref(c.Job, c.Attempt), Grace: nodecore.Time(c.GraceMs)})
	}
	if a.Reconnect != nil {
		ack.Reconnect = nodecore.Time(a.Reconnect.DelayMs)
	}
	return ack
}

// Running is what hello and heartbeats list.
func Running(work []nodecore.Work) []wire.RunningWork {
	list := make([]wire.RunningWork, len(work))
	for i, w := range work {
		list[i] = wire.RunningWork{Job: w.Ref.Job.String(), Attempt: int64(w.Ref.Attempt), Phase: phases[w.Phase]}
	}
	return list
}

var phases = map[nodecore.Phase]wire.Phase{
	nodecore.PhaseAccepted: wire.PhaseAccepted, nodecore.PhaseRunning: wire.PhaseRunning, nodecore.PhaseStopping: wire.PhaseStopping,
}

// Heartbeat is the node's state with what the machine says of itself.
func Heartbeat(s nodecore.State) wire.Heartbeat {
	load, memory := vitals()
	return wire.Heartbeat{
		Accepting: s.Accepting, Reason: s.Reason, Running: Running(s.Work), Spooled: int64(s.Spooled),
		Health: wire.Health{OK: true}, LoadMilli: load, MemoryMiB: memory,
		RoundTrip: int64(s.RoundTrip), Unsaved: s.Unsaved, At: time.Now().UnixMilli(),
	}
}

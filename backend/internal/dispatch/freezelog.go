package dispatch

import (
	"log/slog"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// freezeLog tells the log of each freeze once that it stands, and once that it is over.
type freezeLog struct{ told core.FreezeCause }

func (f *freezeLog) note(now core.Freeze, at Clock, log *slog.Logger) {
	switch {
	case now.Cause == f.told:
		return
	case now.Since == fleet.Time(0):
		log.Warn("fleet frozen no more: leases run out as ever", "cause", string(f.told))
	default:
		log.Warn("fleet frozen: no lease runs out", "cause", string(now.Cause), "since", at.WallAt(now.Since))
	}
	f.told = now.Cause
}

package session

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"time"
)

// Bounds of what one node, or one address before its node is known, may have
// written to the log, however many sessions it opens.
const (
	linesAtOnce = 10
	lineEvery   = time.Minute // beyond those
	maxPeers    = 1 << 14     // remembered
)

// log writes a line that a peer can cause again and again: a few of each peer, the
// rest are counted.
func (s *session) log(level slog.Level, line string, about ...any) {
	from := s.from
	if s.node != "" {
		from = netip.Addr{}
	}
	if !s.hub.lines.TakeOf(s.node, from) {
		s.hub.counts.unwritten.Add(1)
		return
	}
	s.hub.cfg.Logger.Log(context.Background(), level, line, slices.Concat([]any{"node", s.node, "address", s.from}, about)...)
}

package session

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"rockpool/backend/internal/core"
)

// Bounds of what one node, or one address before its node is known, may have
// written to the log and the audit, however many sessions it opens.
const (
	linesAtOnce = 10
	lineEvery   = time.Minute // beyond those

	auditsAtOnce = 5 // entries of one action; they are kept for ever
	auditEvery   = time.Hour

	maxPeers = 1 << 14 // remembered
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

// audit leaves an entry for what a node claims: a few of each node, the rest are
// counted.
func (s *session) audit(action, detail string) {
	if !s.hub.audits.TakeOf(action+" "+s.node, netip.Addr{}) {
		s.hub.counts.unwritten.Add(1)
		return
	}
	s.gateway.loop.Audit(core.AuditNote{Action: action, Node: s.node, Detail: detail})
}

package view

import (
	"rockpool/shared/wire"
)

// Snapshot is all rows of a topic at one moment, to be read in parts.
type Snapshot struct {
	topic string
	rev   int64
	rows  rows
	next  int
	part  int64
	limit int // rows of a part
}

// Next encodes the next part: at most 500 rows, and what fits into a frame. last:
// no more follow.
func (s *Snapshot) Next() (e wire.Encoded, last bool, err error) {
	left := s.rows.slice(s.next, s.rows.len())
	for {
		var taken int
		e, taken, err = encodeFitting(left, &s.limit, func(part rows) wire.Body {
			return wire.Snapshot{
				Topic: s.topic, Rev: s.rev, Part: s.part, Last: s.next+part.len() == s.rows.len(),
				Fleet: part.fleet, Pools: part.pools, Nodes: part.nodes, Jobs: part.jobs, Alarms: part.alarms, Placements: part.placements,
			}
		})
		s.next += taken
		if err == nil || taken == 0 {
			break
		}
		left = s.rows.slice(s.next, s.rows.len()) // a row that fits nowhere is left out
	}
	s.part++
	return e, s.next >= s.rows.len(), err
}

// Rev is the revision of the topic behind which the deltas follow.
func (s *Snapshot) Rev() int64 { return s.rev }

// Part is the number of the part that Next gives.
func (s *Snapshot) Part() int64 { return s.part }

package prescan

import (
	"bytes"
	"hash/maphash"
	"unicode/utf8"
)

// seed makes the keys' hashes unpredictable, so that nobody can choose keys that
// collide. It changes how fast a scan is, never what it says.
var seed = maphash.MakeSeed()

// forbidden would reach the prototype of a browser's object.
const forbidden = "__proto__"

// key remembers one key of an open map: 24 bits of offset, 8 bits of hash.
type key uint32

func (k key) offset() int { return int(k >> 8) }
func (k key) hash() uint8 { return uint8(k) }

// level is one open array or map.
type level struct {
	left  int // values to come
	first int // a map's first key in scanner.keys; -1 for an array
}

// scanner walks one frame. It lives on the stack.
type scanner struct {
	b      []byte
	limits Limits
	pos    int
	nodes  int
	depth  int
	top    int // keys in use
	levels [MaxDepth]level
	keys   []key // room for those of all open maps, one behind the other
	full   bool  // there was too little of it
}

// Scan checks that b is exactly one value within the bounds and limits. It
// allocates nothing and reads each byte at most a few times, whatever b holds.
func Scan(b []byte, limits Limits) Report {
	switch {
	case len(b) == 0:
		return Report{Fault: Fault{Empty, 0}}
	case len(b) > min(limits.Frame, MaxFrame):
		return Report{Fault: Fault{FrameTooLong, min(limits.Frame, MaxFrame)}}
	}
	var few [MaxKeys]key
	if report, whole := scan(b, limits, few[:]); whole {
		return report
	}
	return scanWide(b, limits)
}

// scanWide has room for as many keys as can be open, which hardly a frame needs: in
// Scan it would be cleared for each, and be part of the stack of each session.
//
//go:noinline
func scanWide(b []byte, limits Limits) Report {
	var all [MaxDepth * MaxKeys]key
	report, _ := scan(b, limits, all[:])
	return report
}

// scan reports what it finds, and whether there was room enough for that.
func scan(b []byte, limits Limits, room []key) (r Report, whole bool) {
	s := scanner{b: b, limits: limits, keys: room}
	fault := s.run()
	return Report{Fault: fault, Nodes: s.nodes}, !s.full
}

// run walks value by value until the outermost one is complete.
func (s *scanner) run() Fault {
	for {
		if s.depth > 0 && s.levels[s.depth-1].first >= 0 {
			if fault := s.key(); !fault.OK() {
				return fault
			}
		}
		if fault := s.value(); !fault.OK() {
			return fault
		}
		if s.close(); s.depth == 0 {
			break
		}
	}
	if s.pos != len(s.b) {
		return Fault{TrailingBytes, s.pos}
	}
	return Fault{}
}

// close leaves the arrays and maps that have no value left.
func (s *scanner) close() {
	for s.depth > 0 && s.levels[s.depth-1].left == 0 {
		s.depth--
		if first := s.levels[s.depth].first; first >= 0 {
			s.top = first
		}
	}
}

// value reads one scalar whole, or opens an array or map.
func (s *scanner) value() Fault {
	start := s.pos
	h, fault := ReadHead(s.b, start)
	if !fault.OK() {
		return fault
	}
	if s.nodes++; s.nodes > MaxNodes {
		return Fault{TooManyNodes, start}
	}
	if s.depth > 0 {
		s.levels[s.depth-1].left--
	}
	s.pos = h.Body
	if h.Kind == Array || h.Kind == Map {
		return s.open(start, h)
	}
	return s.scalar(start, h)
}

// scalar checks the content of a scalar and steps over it.
func (s *scanner) scalar(start int, h Head) Fault {
	if h.Len > len(s.b)-h.Body {
		if h.Kind == Str || h.Kind == Bin {
			return Fault{LengthBeyondEnd, start}
		}
		return Fault{Truncated, start}
	}
	body := s.b[h.Body : h.Body+h.Len]
	s.pos += h.Len
	switch h.Kind {
	case Str, Bin:
		if h.Len > s.limits.String {
			return Fault{StringTooLong, start}
		}
		if h.Kind == Str && !utf8.Valid(body) {
			return Fault{NotUTF8, start}
		}
	case Int:
		if h.Len == 8 && !integerFits(s.b[start], body) {
			return Fault{IntegerTooLarge, start}
		}
	}
	return Fault{}
}

// open enters an array or map after checking what its length claims.
func (s *scanner) open(start int, h Head) Fault {
	remaining := len(s.b) - h.Body
	first := -1
	switch h.Kind {
	case Array:
		if h.Len > remaining {
			return Fault{LengthBeyondEnd, start}
		}
		if h.Len > s.limits.List {
			return Fault{ListTooLong, start}
		}
	case Map:
		if h.Len > remaining/2 {
			return Fault{LengthBeyondEnd, start}
		}
		if h.Len > MaxKeys {
			return Fault{TooManyKeys, start}
		}
		first = s.top
	}
	if s.depth == MaxDepth {
		return Fault{TooDeep, start}
	}
	if s.nodes+h.Len > MaxNodes {
		return Fault{TooManyNodes, start}
	}
	s.levels[s.depth] = level{left: h.Len, first: first}
	s.depth++
	return Fault{}
}

// key reads one key of the innermost map and compares it with the earlier ones.
func (s *scanner) key() Fault {
	start := s.pos
	h, fault := ReadHead(s.b, start)
	switch {
	case !fault.OK():
		return fault
	case h.Kind != Str:
		return Fault{KeyNotString, start}
	case h.Len > len(s.b)-h.Body:
		return Fault{LengthBeyondEnd, start}
	case h.Len > MaxKey:
		return Fault{KeyTooLong, start}
	}
	name := s.b[h.Body : h.Body+h.Len]
	if !utf8.Valid(name) {
		return Fault{NotUTF8, start}
	}
	if string(name) == forbidden {
		return Fault{KeyForbidden, start}
	}
	if s.top == len(s.keys) {
		s.full = true
		return Fault{TooManyKeys, start} // for as much room
	}
	hash := uint8(maphash.Bytes(seed, name))
	if s.seen(hash, name) {
		return Fault{KeyDuplicate, start}
	}
	s.keys[s.top] = key(start)<<8 | key(hash)
	s.top++
	s.pos = h.Body + h.Len
	return Fault{}
}

// seen says whether the innermost map already has the key. The hash spares most
// comparisons, the bytes decide.
func (s *scanner) seen(hash uint8, name []byte) bool {
	for _, k := range s.keys[s.levels[s.depth-1].first:s.top] {
		if k.hash() != hash {
			continue
		}
		h, _ := ReadHead(s.b, k.offset())
		if bytes.Equal(s.b[h.Body:h.Body+h.Len], name) {
			return true
		}
	}
	return false
}

package prescan

import (
	"encoding/binary"
	"math"
)

// Kind is the shape of a value.
type Kind uint8

// The kinds of msgpack values that a frame may hold.
const (
	Nil Kind = iota + 1
	Bool
	Int
	Float
	Str
	Bin
	Array
	Map
)

// String names the kind as an error message would.
func (k Kind) String() string {
	names := [...]string{"nothing", "nil", "a boolean", "an integer", "a float", "a string", "bytes", "a list", "a map"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Head is the first byte of a value with the length that may follow it.
type Head struct {
	Kind Kind
	Len  int // bytes of a scalar's content, items of an array, pairs of a map
	Body int // offset of the content or of the first item
}

// ReadHead reads the head of the value at pos. It checks that the head itself is
// whole and of a known kind; whether the content is there is for Scan to say.
func ReadHead(b []byte, pos int) (Head, Fault) {
	if pos >= len(b) {
		return Head{}, Fault{Truncated, pos}
	}
	c := b[pos]
	switch {
	case c <= 0x7f || c >= 0xe0: // the small integers are their own head
		return Head{Int, 0, pos + 1}, Fault{}
	case c <= 0x8f:
		return Head{Map, int(c & 0x0f), pos + 1}, Fault{}
	case c <= 0x9f:
		return Head{Array, int(c & 0x0f), pos + 1}, Fault{}
	case c <= 0xbf:
		return Head{Str, int(c & 0x1f), pos + 1}, Fault{}
	}
	return readLongHead(b, pos, c)
}

// readLongHead reads the heads 0xc0 to 0xdf.
func readLongHead(b []byte, pos int, c byte) (Head, Fault) {
	switch c {
	case 0xc0:
		return Head{Nil, 0, pos + 1}, Fault{}
	case 0xc2, 0xc3:
		return Head{Bool, 0, pos + 1}, Fault{}
	case 0xc4, 0xc5, 0xc6:
		return readLength(b, pos, Bin, 1<<(c-0xc4))
	case 0xca, 0xcb:
		return Head{Float, 4 << (c - 0xca), pos + 1}, Fault{}
	case 0xcc, 0xcd, 0xce, 0xcf:
		return Head{Int, 1 << (c - 0xcc), pos + 1}, Fault{}
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return Head{Int, 1 << (c - 0xd0), pos + 1}, Fault{}
	case 0xd9, 0xda, 0xdb:
		return readLength(b, pos, Str, 1<<(c-0xd9))
	case 0xdc, 0xdd:
		return readLength(b, pos, Array, 2<<(c-0xdc))
	case 0xde, 0xdf:
		return readLength(b, pos, Map, 2<<(c-0xde))
	case 0xc1:
		return Head{}, Fault{ReservedCode, pos}
	}
	return Head{}, Fault{ExtType, pos} // 0xc7–0xc9, 0xd4–0xd8
}

// readLength reads the big-endian length of width bytes behind the code at pos.
func readLength(b []byte, pos int, kind Kind, width int) (Head, Fault) {
	at := pos + 1
	if len(b)-at < width {
		return Head{}, Fault{Truncated, pos}
	}
	var n uint32
	switch width {
	case 1:
		n = uint32(b[at])
	case 2:
		n = uint32(binary.BigEndian.Uint16(b[at:]))
	default:
		n = binary.BigEndian.Uint32(b[at:])
	}
	// No frame is that long; the clamp keeps an int of 32 bits from turning negative.
	n = min(n, math.MaxInt32)
	return Head{kind, int(n), at + width}, Fault{}
}

// Skip returns the offset behind the value at pos, in bytes that passed Scan.
// Bytes that did not give len(b).
func Skip(b []byte, pos int) int {
	for todo := 1; todo > 0; todo-- {
		h, fault := ReadHead(b, pos)
		if !fault.OK() {
			return len(b)
		}
		pos = h.Body
		switch h.Kind {
		case Array:
			todo += h.Len
		case Map:
			todo += 2 * h.Len
		default:
			pos += h.Len
		}
	}
	return min(pos, len(b))
}

// integerFits says whether the 8-byte integer with code c at body is within
// ±MaxInteger; shorter ones always are.
func integerFits(c byte, body []byte) bool {
	n := binary.BigEndian.Uint64(body)
	if c == 0xcf {
		return n <= MaxInteger
	}
	i := int64(n)
	return -MaxInteger <= i && i <= MaxInteger
}

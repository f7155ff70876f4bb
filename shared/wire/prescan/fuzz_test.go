package prescan

import (
	"encoding/binary"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// FuzzScan compares the scan with a plain recursive reading of the same rules:
// they must agree on what is accepted, and Skip must end where the value ends.
func FuzzScan(f *testing.F) {
	for _, b := range append(bombs(), costly()...) {
		f.Add(b.frame)
	}
	f.Add(nest("91", 10_000))
	f.Fuzz(func(t *testing.T, b []byte) { checkAgainstReference(t, b) })
}

func checkAgainstReference(t interface{ Fatalf(string, ...any) }, b []byte) {
	report := Scan(b, session)
	want := reference(b)
	if report.Fault.OK() != want {
		t.Fatalf("scan says %v, the reference says accepted=%v, for %x", report.Fault, want, b)
	}
	if report.Fault.OK() && Skip(b, 0) != len(b) {
		t.Fatalf("skip ends at %d of %d, for %x", Skip(b, 0), len(b), b)
	}
}

// TestScan_AgreesWithReference feeds frames that are nearly right, which random
// bytes seldom are.
func TestScan_AgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := appendValue(nil, t, 0)
		for range rapid.IntRange(0, 2).Draw(t, "mutations") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		checkAgainstReference(t, b)
	})
}

// appendValue draws a value whose keys often meet.
func appendValue(b []byte, t *rapid.T, depth int) []byte {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth > 17 && kind < 2 {
		kind = 2
	}
	n := rapid.IntRange(0, 3).Draw(t, "n")
	switch kind {
	case 0:
		b = append(b, 0x90|byte(n))
		for range n {
			b = appendValue(b, t, depth+1)
		}
	case 1:
		b = append(b, 0x80|byte(n))
		for range n {
			b = append(b, 0xa1, "abcdefgh"[rapid.IntRange(0, 7).Draw(t, "key")])
			b = appendValue(b, t, depth+1)
		}
	case 2:
		b = append(b, rapid.SampledFrom([]byte{0xc0, 0xc2, 0x05, 0xff, 0xa0, 0xc1}).Draw(t, "scalar"))
	case 3:
		b = binary.BigEndian.AppendUint64(append(b, 0xcf), rapid.Uint64Range(0, 1<<54).Draw(t, "uint"))
	case 4:
		text := rapid.StringN(0, 8, 31).Draw(t, "text")
		b = append(append(b, 0xa0|byte(len(text))), text...)
	case 5:
		b = append(b, 0xc4, byte(n))
		b = append(b, make([]byte, n)...)
	}
	return b
}

// reference reads the rules once more, with recursion and maps.
func reference(b []byte) bool {
	if len(b) == 0 || len(b) > session.Frame {
		return false
	}
	r := reader{b: b}
	return r.value(0) && r.pos == len(b)
}

type reader struct {
	b          []byte
	pos, nodes int
}

func (r *reader) take(n int) ([]byte, bool) {
	if n > len(r.b)-r.pos {
		return nil, false
	}
	p := r.b[r.pos : r.pos+n]
	r.pos += n
	return p, true
}

func (r *reader) number(width int) (uint64, bool) {
	p, ok := r.take(width)
	var n uint64
	for _, c := range p {
		n = n<<8 | uint64(c)
	}
	return n, ok
}

func (r *reader) value(depth int) bool {
	head, ok := r.take(1)
	if r.nodes++; !ok || r.nodes > MaxNodes {
		return false
	}
	c := head[0]
	width := map[byte]int{0xc4: 1, 0xc5: 2, 0xc6: 4, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4}[c]
	n, ok := r.number(width)
	switch {
	case !ok:
		return false
	case c < 0x80, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3:
		return true
	case c < 0x90:
		return r.pairs(int(c&0xf), depth+1)
	case c < 0xa0:
		return r.items(int(c&0xf), depth+1)
	case c < 0xc0:
		return r.text(int(c&0x1f), true)
	case c >= 0xc4 && c <= 0xc6, c >= 0xd9 && c <= 0xdb:
		return r.text(int(n), c >= 0xd9)
	case c >= 0xdc && c <= 0xdd:
		return r.items(int(n), depth+1)
	case c >= 0xde && c <= 0xdf:
		return r.pairs(int(n), depth+1)
	case c == 0xca || c == 0xcb:
		_, ok = r.take(4 << (c - 0xca))
		return ok
	case c >= 0xcc && c <= 0xcf:
		n, ok = r.number(1 << (c - 0xcc))
		return ok && n < 1<<53
	case c >= 0xd0 && c <= 0xd3:
		n, ok = r.number(1 << (c - 0xd0))
		return ok && (c != 0xd3 || int64(n) < 1<<53 && int64(n) > -1<<53)
	}
	return false
}

func (r *reader) text(n int, utf bool) bool {
	p, ok := r.take(n)
	return ok && n <= session.String && (!utf || utf8.Valid(p))
}

func (r *reader) items(n, depth int) bool {
	if n > session.List || depth > MaxDepth {
		return false
	}
	for range n {
		if !r.value(depth) {
			return false
		}
	}
	return true
}

func (r *reader) pairs(n, depth int) bool {
	if n > MaxKeys || depth > MaxDepth {
		return false
	}
	keys := map[string]bool{}
	for range n {
		start := r.pos
		if start >= len(r.b) || !(r.b[start]&0xe0 == 0xa0 || r.b[start] >= 0xd9 && r.b[start] <= 0xdb) {
			return false
		}
		if !r.value(depth) {
			return false
		}
		r.nodes-- // a key is no node
		h, _ := ReadHead(r.b, start)
		name := string(r.b[h.Body:r.pos])
		if keys[name] || len(name) > MaxKey || name == "__proto__" {
			return false
		}
		keys[name] = true
		if !r.value(depth) {
			return false
		}
	}
	return true
}

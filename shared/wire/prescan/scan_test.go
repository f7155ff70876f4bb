package prescan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestAttack_A19_BombsAreRefusedWithoutAllocation(t *testing.T) {
	for _, b := range append(bombs(), deepBombs()...) {
		t.Run(b.name, func(t *testing.T) {
			if got := Scan(b.frame, huge).Fault; got.Cause != b.cause {
				t.Errorf("got %v, want %v", got, b.cause)
			}
			if n := testing.AllocsPerRun(20, func() { Scan(b.frame, huge) }); n != 0 {
				t.Errorf("the scan allocated %v times", n)
			}
		})
	}
	for _, b := range costly() {
		t.Run(b.name, func(t *testing.T) {
			if got := Scan(b.frame, session).Fault; !got.OK() {
				t.Errorf("refused: %v", got)
			}
			if n := testing.AllocsPerRun(5, func() { Scan(b.frame, session) }); n != 0 {
				t.Errorf("the scan allocated %v times", n)
			}
		})
	}
}

func TestAttack_A20_DepthIsRefusedAtSeventeen(t *testing.T) {
	for _, head := range []string{"91", "81a161"} {
		width := len(head) / 2
		for _, depth := range []int{17, 100, 10_000, 1 << 20, 4 << 20 / width} {
			fault := Scan(nest(head, depth), huge).Fault
			want := Fault{TooDeep, 16 * width}
			if depth == 17 && width == 1 { // the seventeenth claims an item that isn't there
				want.Cause = LengthBeyondEnd
			}
			if depth == 17 && width == 3 {
				continue // checked with its content below
			}
			if fault != want {
				t.Errorf("head %s x %d: got %+v, want %+v", head, depth, fault, want)
			}
		}
	}
	sixteen := append(nest("91", 15), 0x90)
	if fault := Scan(sixteen, session).Fault; !fault.OK() {
		t.Errorf("depth 16 refused: %v", fault)
	}
	for _, inner := range []byte{0x90, 0x80} {
		if fault := Scan(append(nest("91", 16), inner), session).Fault; fault != (Fault{TooDeep, 16}) {
			t.Errorf("depth 17 ending in %#x: got %+v", inner, fault)
		}
	}
}

func TestAttack_A21_MalformedFramesAreRefused(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name, frame string
		want        Fault
	}{
		{"empty", "", Fault{Empty, 0}},
		{"duplicate keys", "\x82\xa1a\x01\xa1a\x02", Fault{KeyDuplicate, 4}},
		{"duplicate keys, other spelling of the length", "\x82\xa1a\x01\xd9\x01a\x02", Fault{KeyDuplicate, 4}},
		{"duplicate empty keys", "\x82\xa0\x01\xa0\x02", Fault{KeyDuplicate, 3}},
		{"duplicate keys around a nested map", "\x82\xa1a\x81\xa1a\x01\xa1a\x02", Fault{KeyDuplicate, 7}},
		{"key is an integer", "\x81\x01\x01", Fault{KeyNotString, 1}},
		{"key is nil", "\x81\xc0\x01", Fault{KeyNotString, 1}},
		{"key is bytes", "\x81\xc4\x01a\x01", Fault{KeyNotString, 1}},
		{"key is a map", "\x81\x80\x01", Fault{KeyNotString, 1}},
		{"key too long", "\x81\xd9\x81" + text(129) + "\x01", Fault{KeyTooLong, 1}},
		{"key not UTF-8", "\x81\xa1\xff\x01", Fault{NotUTF8, 1}},
		{"key of a prototype", "\x81\xa9__proto__\x01", Fault{KeyForbidden, 1}},
		{"key cut", "\x81\xa5ab", Fault{LengthBeyondEnd, 1}},
		{"65 keys", "\xde\x00\x41" + text(200), Fault{TooManyKeys, 0}},
		{"fixext1", "\xd4\x01\x00", Fault{ExtType, 0}},
		{"fixext16", "\xd8\x01" + text(16), Fault{ExtType, 0}},
		{"timestamp", "\xd6\xff\x00\x00\x00\x00", Fault{ExtType, 0}},
		{"ext8", "\xc7\x01\x01\x00", Fault{ExtType, 0}},
		{"reserved code", "\xc1", Fault{ReservedCode, 0}},
		{"trailing byte", "\x90\x00", Fault{TrailingBytes, 1}},
		{"second value", "\x90\x90", Fault{TrailingBytes, 1}},
		{"invalid UTF-8", "\xa2\xc3\x28", Fault{NotUTF8, 0}},
		{"surrogate in UTF-8", "\xa3\xed\xa0\x80", Fault{NotUTF8, 0}},
		{"overlong NUL", "\xa2\xc0\x80", Fault{NotUTF8, 0}},
		{"string cut", "\xa5abc", Fault{LengthBeyondEnd, 0}},
		{"bytes cut", "\xc4\x05abc", Fault{LengthBeyondEnd, 0}},
		{"integer cut", "\xcd\x01", Fault{Truncated, 0}},
		{"float cut", "\xcb\x00", Fault{Truncated, 0}},
		{"length cut", "\xdb\x00\x00", Fault{Truncated, 0}},
		{"list cut", "\x92\x01", Fault{LengthBeyondEnd, 0}},
		{"list cut in an item", "\x92\x01\xa1", Fault{LengthBeyondEnd, 2}},
		{"list ends early", "\x92\xa1a", Fault{Truncated, 3}},
		{"map without its value", "\x81\xa1a", Fault{Truncated, 3}},
		{"uint64 of 2^53", "\xcf\x00\x20\x00\x00\x00\x00\x00\x00", Fault{IntegerTooLarge, 0}},
		{"uint64 of 2^64-1", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", Fault{IntegerTooLarge, 0}},
		{"int64 of -2^53", "\xd3\xff\xe0\x00\x00\x00\x00\x00\x00", Fault{IntegerTooLarge, 0}},
		{"string over 64 KiB", "\xdb\x00\x01\x00\x01" + text(65537), Fault{StringTooLong, 0}},
		{"bytes over 64 KiB", "\xc6\x00\x01\x00\x01" + text(65537), Fault{StringTooLong, 0}},
		{"list over 4,096", "\xdc\x10\x01" + strings.Repeat("\x00", 4097), Fault{ListTooLong, 0}},
		{"frame over 256 KiB", "\x90" + text(256<<10), Fault{FrameTooLong, 256 << 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Scan([]byte(c.frame), session).Fault; got != c.want {
				t.Errorf("got %+v (%v), want %+v (%v)", got, got, c.want, c.want)
			}
		})
	}
}

func TestScan_TakesWhatIsWithinTheBounds(t *testing.T) {
	for name, frame := range map[string]string{
		"no messages":                       "\x90",
		"same key in two maps":              "\x92\x81\xa1a\x01\x81\xa1a\x01",
		"same key inside and outside":       "\x82\xa1a\x81\xa1a\x01\xa1b\x02",
		"key of a sibling that was closed":  "\x82\xa1a\x81\xa1b\x01\xa1b\x02",
		"all scalars":                       "\x9a\xc0\xc2\xc3\x7f\xe0\xcc\xff\xd0\x80\xca\x00\x00\x00\x00\xcb\x00\x00\x00\x00\x00\x00\x00\x00\xa0",
		"integers of 2^53-1 and its minus":  "\x92\xcf\x00\x1f\xff\xff\xff\xff\xff\xff\xd3\xff\xe0\x00\x00\x00\x00\x00\x01",
		"bytes that are no UTF-8":           "\xc4\x02\xff\xfe",
		"string of 64 KiB":                  "\xdb\x00\x01\x00\x00" + strings.Repeat("x", 65536),
		"list of 4,096":                     "\xdc\x10\x00" + strings.Repeat("\x00", 4096),
		"NUL in a string (cleaned later)":   "\xa1\x00",
		"lengths in a longer form than due": "\xdd\x00\x00\x00\x01\xdb\x00\x00\x00\x01a",
	} {
		if report := Scan([]byte(frame), session); !report.Fault.OK() {
			t.Errorf("%s: %v", name, report.Fault)
		}
	}
}

func TestScan_CountsValuesWithoutKeys(t *testing.T) {
	if got := Scan([]byte("\x92\x81\xa1a\x01\xa1b"), session).Nodes; got != 4 {
		t.Errorf("got %d values, want the list, the map and two scalars", got)
	}
	full := append([]byte{0x92, 0xdc, 0x0f, 0xfe}, bytes.Repeat([]byte{0}, 4094)...)
	full = append(full, 0xdc, 0x0f, 0xff)
	full = append(full, bytes.Repeat([]byte{0}, 4095)...)
	if r := Scan(full, session); !r.Fault.OK() || r.Nodes != MaxNodes {
		t.Errorf("%d values: %v, want %d accepted", r.Nodes, r.Fault, MaxNodes)
	}
}

func BenchmarkScan(b *testing.B) {
	for _, bomb := range append(append(bombs(), deepBombs()...), costly()...) {
		b.Run(bomb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Scan(bomb.frame, huge)
			}
		})
	}
}

// openMaps is so many maps within each other, each of as many keys as there may be and
// with a value behind the next; in the one with that number the last key stands twice.
func openMaps(b []byte, maps, twice int) []byte {
	b = append(b, 0xde, 0, MaxKeys)
	for k := range MaxKeys {
		if k == MaxKeys-1 && maps == twice {
			k = 0
		}
		b = fmt.Appendf(append(b, 0xa3), "k%02d", k)
		if k == MaxKeys/2 && maps > 1 {
			b = openMaps(b, maps-1, twice)
		} else {
			b = append(b, 1)
		}
	}
	return b
}

func TestScan_RemembersTheKeysOfEveryOpenMap(t *testing.T) {
	for maps := 1; maps <= MaxDepth; maps++ {
		good := openMaps(nil, maps, 0)
		if report := Scan(good, session); !report.Fault.OK() || report.Nodes != maps*MaxKeys+1 {
			t.Fatalf("%d maps: %+v", maps, report)
		}
		if n := testing.AllocsPerRun(5, func() { Scan(good, session) }); n != 0 {
			t.Errorf("%d maps: the scan allocated %v times", maps, n)
		}
		for twice := 1; twice <= maps; twice++ {
			if fault := Scan(openMaps(nil, maps, twice), session).Fault; fault.Cause != KeyDuplicate {
				t.Errorf("%d maps, a key twice in the %dth: %v", maps, twice, fault)
			}
		}
	}
}

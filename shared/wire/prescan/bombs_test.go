package prescan

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the bombs into testdata/fuzz/FuzzScan")

// session is what a session with a welcome allows; huge lets a bomb of any size
// reach the walk itself.
var (
	session = Limits{Frame: 256 << 10, String: 64 << 10, List: 4096}
	huge    = Limits{Frame: MaxFrame, String: 64 << 10, List: 4096}
)

// bomb is a frame made to hurt a decoder, and the rule that refuses it.
type bomb struct {
	name  string
	frame []byte
	cause Cause
}

// bombs are the frames that were measured to kill or starve the msgpack library,
// bare and wrapped as a message's body, and worst cases for the scan itself.
func bombs() []bomb {
	list := []bomb{
		{"array32_4g_items", unhex("ddffffffff"), LengthBeyondEnd},
		{"array32_16m_items", unhex("dd00ffffff"), LengthBeyondEnd},
		{"map32_4g_pairs", unhex("dfffffffff"), LengthBeyondEnd},
		{"map32_16m_pairs", unhex("df00ffffff"), LengthBeyondEnd},
		{"bin32_4g", unhex("c6ffffffff"), LengthBeyondEnd},
		{"str32_4g", unhex("dbffffffff"), LengthBeyondEnd},
		{"ext32_4g", unhex("c9ffffffff01"), ExtType},
		{"array16_nest_300", nest("dcffff", 300), LengthBeyondEnd},
		{"nest_1000", nest("91", 1_000), TooDeep},
		{"map_nest_1000", nest("81a161", 1_000), TooDeep},
		{"nulls_5000", append(unhex("dd00001388"), bytes.Repeat([]byte{0xc0}, 5000)...), ListTooLong},
		{"lists_of_nothing", listsOfNothing(), TooManyNodes},
		{"maps_of_nothing", mapsOfNothing(), TooManyNodes},
	}
	for _, b := range list {
		list = append(list, bomb{"body_" + b.name, asBody(b.frame), b.cause})
	}
	return list
}

// deepBombs are too large to lie in the tree.
func deepBombs() []bomb {
	return []bomb{
		{"nest_10k", nest("91", 10_000), TooDeep},
		{"nest_32k", nest("91", 32_700), TooDeep},
		{"nest_1m", nest("91", 1<<20), TooDeep},
		{"nest_4m", nest("91", 4<<20), TooDeep},
		{"body_nest_4m", asBody(nest("91", 4<<20)), TooDeep},
	}
}

// costly are frames within every bound that make the scan work hardest.
func costly() []bomb {
	return []bomb{
		{"full_maps", fullMaps(), None},
		{"long_text", asBody(append(unhex("db00010000"), bytes.Repeat([]byte("é"), 32<<10)...)), None},
	}
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// nest repeats a head n times.
func nest(head string, n int) []byte { return bytes.Repeat(unhex(head), n) }

// asBody makes b the body of a hello, in a field that no struct has: the library
// dies even where it skips.
func asBody(b []byte) []byte {
	return append([]byte("\x91\x82\xa1t\xa5hello\xa1b\x81\xa4junk"), b...)
}

// listsOfNothing is 3 lists of 3,000 empty lists: few bytes, many values.
func listsOfNothing() []byte {
	one := append(unhex("dc0bb8"), bytes.Repeat([]byte{0x90}, 3000)...)
	return append([]byte{0x93}, bytes.Repeat(one, 3)...)
}

// mapsOfNothing is 3 lists of 3,000 empty maps.
func mapsOfNothing() []byte {
	one := append(unhex("dc0bb8"), bytes.Repeat([]byte{0x80}, 3000)...)
	return append([]byte{0x93}, bytes.Repeat(one, 3)...)
}

// fullMaps is as many maps of 64 keys as the bounds allow, with equal lengths.
func fullMaps() []byte {
	const maps = 125
	b := append(unhex("dc00"), maps)
	for range maps {
		b = append(b, 0xde, 0, MaxKeys)
		for k := range MaxKeys {
			b = append(b, fmt.Sprintf("\xaakey-%06d\x00", k)...)
		}
	}
	return b
}

// TestSeeds_HoldEveryBomb keeps the fuzz target's committed seeds equal to the table.
func TestSeeds_HoldEveryBomb(t *testing.T) {
	dir := filepath.Join("testdata", "fuzz", "FuzzScan")
	for _, b := range bombs() {
		path := filepath.Join(dir, strings.ReplaceAll(b.name, "/", "_"))
		want := fmt.Sprintf("go test fuzz v1\n[]byte(%q)\n", b.frame)
		if *update {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("no seed for bomb %s (go test -run Seeds -update): %v", b.name, err)
		}
		if string(got) != want {
			t.Errorf("seed %s differs from the table (go test -run Seeds -update)", path)
		}
	}
}

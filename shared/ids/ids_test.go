package ids

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestJobID_TextAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var id JobID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		back, err := ParseJobID(id.String())
		if err != nil || back != id {
			t.Fatalf("ParseJobID(%q) = %v, %v; want the same id", id.String(), back, err)
		}
	})
}

func TestJobID_OrderOfTextIsOrderOfBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b JobID
		copy(a[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "a"))
		copy(b[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "b"))
		if got, want := a.Compare(b), strings.Compare(a.String(), b.String()); got != want {
			t.Fatalf("Compare(%s, %s) = %d, by text %d", a, b, got, want)
		}
	})
}

func TestParseJobID_OneSpelling(t *testing.T) {
	for _, bad := range []string{
		"", "0199c0de", "0199C0DE-0000-7000-8000-000000000000", "{0199c0de-0000-7000-8000-000000000000}",
		"0199c0de0000700080000000000000000000", "0199c0de-0000-7000-8000-00000000000g", "0199c0de-0000-7000-8000-000000000000 ",
		"0199c0de-0000-7000-8000_000000000000",
	} {
		if id, err := ParseJobID(bad); err == nil {
			t.Errorf("ParseJobID(%q) = %v, want an error", bad, id)
		}
	}
	const good = "0199c0de-0000-7000-8000-00000000000f"
	for at := range good {
		for c := range 256 {
			digit := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
			if good[at] == '-' {
				digit = c == '-'
			}
			s := good[:at] + string([]byte{byte(c)}) + good[at+1:]
			if id, err := ParseJobID(s); (err == nil) != digit || err != nil && id != (JobID{}) {
				t.Fatalf("ParseJobID(%q) = %v, %v", s, id, err)
			}
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "pool-7": true, "7": true, "ams-edge-03": true, strings.Repeat("a", 63): true,
		"": false, strings.Repeat("a", 64): false, "-a": false, "A": false, "a_b": false, "a.b": false, "ä": false,
		"a\x00": false, "a b": false, "all": false, "auto": false, "none": false, "__proto__": false, "a/b": false, "../a": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("CheckName(%q) = %v, want ok %v", name, err, ok)
		}
	}
}

package wiretest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"testing"

	"rockpool/shared/wire/prescan"
)

// readable renders a frame as JSON, keys in the order in which they stand. It
// reads the bytes without the codec, so that it shows what really is there.
func readable(t *testing.T, frame []byte) []byte {
	t.Helper()
	if report := prescan.Scan(frame, prescan.Limits{Frame: 1 << 20, String: 1 << 20, List: 1 << 20}); !report.Fault.OK() {
		t.Fatal(report.Fault)
	}
	var dense, pretty bytes.Buffer
	render(&dense, frame, 0)
	if err := json.Indent(&pretty, dense.Bytes(), "", "  "); err != nil {
		t.Fatalf("%v in %s", err, dense.Bytes())
	}
	return append(pretty.Bytes(), '\n')
}

// render writes the value at pos and returns the offset behind it.
func render(out *bytes.Buffer, b []byte, pos int) int {
	h, _ := prescan.ReadHead(b, pos)
	switch h.Kind {
	case prescan.Array:
		return renderList(out, b, h)
	case prescan.Map:
		return renderMap(out, b, h)
	}
	content := b[h.Body : h.Body+h.Len]
	switch h.Kind {
	case prescan.Nil:
		out.WriteString("null")
	case prescan.Bool:
		out.WriteString(strconv.FormatBool(b[pos] == 0xc3))
	case prescan.Int:
		out.WriteString(strconv.FormatInt(integer(b[pos], content), 10))
	case prescan.Str:
		text, _ := json.Marshal(string(content))
		out.Write(text)
	case prescan.Bin:
		out.WriteString(`{"$hex":"` + hex.EncodeToString(content) + `"}`)
	}
	return h.Body + h.Len
}

func renderList(out *bytes.Buffer, b []byte, h prescan.Head) int {
	pos := h.Body
	out.WriteByte('[')
	for i := range h.Len {
		if i > 0 {
			out.WriteByte(',')
		}
		pos = render(out, b, pos)
	}
	out.WriteByte(']')
	return pos
}

func renderMap(out *bytes.Buffer, b []byte, h prescan.Head) int {
	pos := h.Body
	out.WriteByte('{')
	for i := range h.Len {
		if i > 0 {
			out.WriteByte(',')
		}
		pos = render(out, b, pos)
		out.WriteByte(':')
		pos = render(out, b, pos)
	}
	out.WriteByte('}')
	return pos
}

// integer gives the value of an integer with the code c.
func integer(c byte, content []byte) int64 {
	if len(content) == 0 {
		return int64(int8(c))
	}
	wide := make([]byte, 8)
	copy(wide[8-len(content):], content)
	n := binary.BigEndian.Uint64(wide)
	if c < 0xd0 {
		return int64(n)
	}
	shift := 64 - 8*len(content)
	return int64(n<<shift) >> shift
}

package wire

import "rockpool/shared/wire/prescan"

// cursor reads values one after the other, in bytes that passed the pre-scan. What is
// not of the kind that is asked for makes it odd, and from then on it reads nothing:
// zeros, empty texts, and lists and maps without an entry.
type cursor struct {
	b   []byte
	pos int
	odd bool
}

// take steps over a value of that kind and returns its head's first byte and, of a
// scalar, its content.
func (c *cursor) take(kind prescan.Kind) (code byte, h prescan.Head, content []byte) {
	if c.odd {
		return 0, prescan.Head{}, nil
	}
	h, fault := prescan.ReadHead(c.b, c.pos)
	if !fault.OK() || h.Kind != kind || h.Len > len(c.b)-h.Body {
		c.odd = true
		return 0, prescan.Head{}, nil
	}
	end := h.Body
	if kind != prescan.Array && kind != prescan.Map {
		end += h.Len
	}
	code, c.pos = c.b[c.pos], end
	return code, h, c.b[h.Body:end]
}

// keys enters a map, of so many.
func (c *cursor) keys() int {
	_, h, _ := c.take(prescan.Map)
	return h.Len
}

// items enters a list, of so many.
func (c *cursor) items() int {
	_, h, _ := c.take(prescan.Array)
	return h.Len
}

// key reads a map's key; it aliases the frame.
func (c *cursor) key() []byte {
	_, _, content := c.take(prescan.Str)
	return content
}

// skip steps over a value, whatever it is.
func (c *cursor) skip() {
	if !c.odd {
		c.pos = prescan.Skip(c.b, c.pos)
	}
}

func (c *cursor) text() string { return string(c.key()) }

// bytes reads binary data into memory of its own.
func (c *cursor) bytes() []byte {
	_, _, content := c.take(prescan.Bin)
	return append([]byte{}, content...)
}

func (c *cursor) boolean() bool {
	code, _, _ := c.take(prescan.Bool)
	return code == 0xc3
}

func (c *cursor) integer() int64 {
	code, h, content := c.take(prescan.Int)
	if h.Len == 0 {
		return int64(int8(code)) // it is its own head
	}
	var n uint64
	for _, digit := range content {
		n = n<<8 | uint64(digit)
	}
	if code < 0xd0 { // without a sign
		return int64(n)
	}
	unused := 64 - 8*h.Len
	return int64(n<<unused) >> unused
}

// word reads a text that is mostly one of those, of which it spares the copy.
func word[S ~string](c *cursor, usual ...S) S {
	content := c.key()
	for _, w := range usual {
		if string(content) == string(w) {
			return w
		}
	}
	return S(content)
}

package wire

import (
	"encoding/binary"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"rockpool/shared/wire/prescan"
)

// readers are the bodies that can read themselves.
var readers = []Body{Accept{}, Start{}, Result{}, ResultAck{}, Heartbeat{}}

// fataler is a test or a rapid one.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// readTwice decodes a body as a session does and by the library alone, and ends the
// test where they differ. It reports whether the body could read itself, and whether it
// is a good one.
func readTwice(t fataler, empty Body, b []byte) (itself, good bool) {
	t.Helper()
	m := Message{Type: empty.Type(), Body: b}
	fresh := func() reflect.Value { return reflect.New(reflect.TypeOf(empty)) }
	judged := func(v reflect.Value, err error) error {
		if err == nil {
			err = v.Interface().(interface{ Validate() error }).Validate()
		}
		return err
	}
	plain, byShape := fresh(), fresh()
	itself = plain.Interface().(plainReader).readPlain(b)
	want := judged(byShape, readByShape(m, byShape.Interface()))
	if _, got := decodeAny(m); !reflect.DeepEqual(got, want) {
		t.Fatalf("%s %x: is judged %v, want %v", m.Type, b, got, want)
	}
	if !itself {
		return false, want == nil
	}
	if got := judged(plain, nil); !reflect.DeepEqual(got, want) || want == nil && !reflect.DeepEqual(plain.Interface(), byShape.Interface()) {
		t.Fatalf("%s %x: reads itself as %+v, %v\nwant %+v, %v", m.Type, b, plain.Elem(), got, byShape.Elem(), want)
	}
	return true, want == nil
}

func TestPlainRead_IsWhatTheDecoderReads(t *testing.T) {
	for _, body := range readers {
		rapid.Check(t, func(t *rapid.T) {
			b := appendShaped(nil, t, kinds[body.Type()].shape, "")
			if prescan.Scan(b, DefaultLimits().scan()).Fault.OK() {
				readTwice(t, body, b)
			}
		})
	}
}

func TestPlainRead_ReadsWhatIsUsual(t *testing.T) {
	code := int64(-9)
	for _, body := range []Body{
		Accept{Job: job, Attempt: 300}, Start{Job: job, Attempt: 1 << 20}, ResultAck{Job: job, Attempt: 1, Verdict: VerdictFenced},
		Result{Job: job, Attempt: 1, Status: ResultTimedOut, Reason: "r", Detail: "d", ExitCode: &code, Output: []byte("{}"), Tail: []byte("t"), RunMs: 1 << 40},
		Heartbeat{Accepting: true, Running: []RunningWork{{Job: job, Attempt: 1, Phase: PhaseStopping, Percent: 5}}, Health: Health{OK: true}, At: 1 << 41},
	} {
		if itself, good := readTwice(t, body, reflected(t, body)); !itself || !good {
			t.Errorf("%+v reads itself: %v, well: %v", body, itself, good)
		}
	}
}

// FuzzReadPlain compares both ways to read with whatever passes the pre-scan.
func FuzzReadPlain(f *testing.F) {
	for i, body := range readers {
		f.Add(uint8(i), reflected(f, body))
	}
	f.Add(uint8(0), []byte("\x82\xa7attempt\xd3\xff\xff\xff\xff\xff\xff\xff\xff\xa3job\xc0"))
	f.Add(uint8(1), []byte("\xde\x00\x02\xd9\x03job\xda\x00\x01j\xa4more\x81\xa1x\x91\xc0"))
	f.Add(uint8(2), []byte("\x84\xa6output\xc4\x00\xa7outputs\x90\xa9exit_code\xe0\xa4head\xc0"))
	f.Add(uint8(4), []byte("\x83\xa7running\x92\x80\x81\xa7percent\xd1\x80\x00\xa6health\x81\xa7reasons\x91\xa0\xa2at\xcb\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		if prescan.Scan(b, DefaultLimits().scan()).Fault.OK() {
			readTwice(t, readers[int(which)%len(readers)], b)
		}
	})
}

// usualTexts are what stands under keys whose every other text is refused.
var usualTexts = map[string][]string{
	"job": {job}, "status": {"succeeded", "failed", "timed_out"}, "phase": {"accepted", "running", "stopping"}, "verdict": {"stored", "fenced"},
}

// appendShaped draws a value of a shape, or now and then another, in any of its forms.
func appendShaped(b []byte, t *rapid.T, s *shape, key string) []byte {
	if rapid.IntRange(0, 40).Draw(t, "another") == 0 {
		return append(b, rapid.SampledFrom([]string{"\xc0", "\xc2", "\x07", "\xa1x", "\xc4\x01x", "\x90", "\x80", "\xca\x00\x00\x00\x00", "\x91\x81\xa1k\xc3"}).Draw(t, "other")...)
	}
	switch s.kind {
	case prescan.Bool:
		return append(b, rapid.SampledFrom([]byte{0xc2, 0xc3}).Draw(t, "boolean"))
	case prescan.Int:
		return appendWide(b, t)
	case prescan.Str:
		texts := rapid.StringN(0, 4, 40)
		if usual := usualTexts[key]; usual != nil {
			texts = rapid.SampledFrom(usual)
		}
		text := texts.Draw(t, "text")
		return append(appendLong(b, t, 0xd9, 1, len(text)), text...)
	case prescan.Bin:
		data := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes")
		return append(appendLong(b, t, 0xc4, 1, len(data)), data...)
	case prescan.Array:
		n := rapid.IntRange(0, 3).Draw(t, "items")
		b = appendLong(b, t, 0xdc, 2, n)
		for range n {
			b = appendShaped(b, t, s.items, "")
		}
		return b
	}
	fields := rapid.Permutation(append(s.fields[:len(s.fields):len(s.fields)], field{"future", s})).Draw(t, "fields")
	fields = fields[:rapid.IntRange(len(fields)/2, len(fields)).Draw(t, "some")]
	b = appendLong(b, t, 0xde, 2, len(fields))
	for _, f := range fields {
		b = append(appendLong(b, t, 0xd9, 1, len(f.name)), f.name...)
		if f.shape == s {
			b = append(b, "\x92\x81\xa1k\x01\xa1v"...)
			continue
		}
		b = appendShaped(b, t, f.shape, f.name)
	}
	return b
}

// appendLong appends a head whose length has as many bytes as are drawn: least, or
// twice and, of texts and bytes, four times that.
func appendLong(b []byte, t *rapid.T, code byte, least, n int) []byte {
	switch longer := rapid.IntRange(0, 5-least).Draw(t, "longer"); {
	case longer == 1 && least == 1:
		return binary.BigEndian.AppendUint16(append(b, code+1), uint16(n))
	case longer == 1:
		return binary.BigEndian.AppendUint32(append(b, code+1), uint32(n))
	case longer == 2 && least == 1:
		return binary.BigEndian.AppendUint32(append(b, code+2), uint32(n))
	case least == 1:
		return append(b, code, byte(n))
	}
	return binary.BigEndian.AppendUint16(append(b, code), uint16(n))
}

// appendWide draws an integer, of as many bytes as are drawn.
func appendWide(b []byte, t *rapid.T) []byte {
	var all [8]byte
	binary.BigEndian.PutUint64(all[:], uint64(rapid.Int64Range(-MaxInteger, MaxInteger).Draw(t, "integer")))
	if rapid.IntRange(0, 3).Draw(t, "small") > 0 {
		return append(b, rapid.SampledFrom([]byte{1, 1, 1, 0x7f, 0, 0xe0, 0xff}).Draw(t, "digit"))
	}
	code := rapid.SampledFrom([]byte{0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3}).Draw(t, "code")
	return append(append(b, code), all[8-1<<(code&3):]...)
}

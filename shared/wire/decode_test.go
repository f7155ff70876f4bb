package wire

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// decodeAny decodes a message of whatever type, as a session's switch would.
func decodeAny(m Message) (Body, error) {
	switch m.Type {
	case TypeHello:
		return body(Decode[Hello](m))
	case TypeWelcome:
		return body(Decode[Welcome](m))
	case TypeRefused:
		return body(Decode[Refused](m))
	case TypeHeartbeat:
		return body(Decode[Heartbeat](m))
	case TypeHeartbeatAck:
		return body(Decode[HeartbeatAck](m))
	case TypeOffer:
		return body(Decode[Offer](m))
	case TypeAccept:
		return body(Decode[Accept](m))
	case TypeDecline:
		return body(Decode[Decline](m))
	case TypeStart:
		return body(Decode[Start](m))
	case TypeVoid:
		return body(Decode[Void](m))
	case TypeProgress:
		return body(Decode[Progress](m))
	case TypeResult:
		return body(Decode[Result](m))
	case TypeResultAck:
		return body(Decode[ResultAck](m))
	case TypeCancel:
		return body(Decode[Cancel](m))
	case TypeLogRequest:
		return body(Decode[LogRequest](m))
	case TypeLog:
		return body(Decode[Log](m))
	case TypeGoodbye:
		return body(Decode[Goodbye](m))
	case TypeError:
		return body(Decode[Error](m))
	}
	return nil, errors.New("unknown type")
}

func body[T Body](b T, err error) (Body, error) { return b, err }

func TestAttack_A21_WrongTypesNameTheField(t *testing.T) {
	start := func(attempt string) string { return "\x82\xa3job" + "\xd9\x24" + job + "\xa7attempt" + attempt }
	for name, c := range map[string]struct{ frame, want string }{
		"integer is a float":        {string(envelope(TypeStart, start("\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"))), "start: attempt: is a float, not an integer"},
		"integer is a string":       {string(envelope(TypeStart, start("\xa11"))), "start: attempt: is a string, not an integer"},
		"integer is nil":            {string(envelope(TypeStart, start("\xc0"))), "start: attempt: is nil, not an integer"},
		"integer is a boolean":      {string(envelope(TypeStart, start("\xc3"))), "start: attempt: is a boolean, not an integer"},
		"integer is negative":       {string(envelope(TypeStart, start("\xff"))), "start: attempt: must be 1..2147483647"},
		"integer of 2^63":           {string(envelope(TypeStart, start("\xcf\x80\x00\x00\x00\x00\x00\x00\x00"))), "frame: an integer is beyond 2^53"},
		"string is bytes":           {string(envelope(TypeGoodbye, "\x81\xa4kind\xc4\x04stop")), "goodbye: kind: is bytes, not a string"},
		"bytes are a string":        {string(envelope(TypeResult, "\x81\xa4tail\xa1x")), "result: tail: is a string, not bytes"},
		"struct is a list":          {string(envelope(TypeHeartbeat, "\x81\xa6health\x92\xc3\x90")), "heartbeat: health: is a list, not a map"},
		"body is a list of fields":  {string(envelope(TypeGoodbye, "\x91\xa4stop")), "goodbye: b: must be a map"},
		"body is missing":           {"\x91\x81\xa1t\xa7goodbye", "goodbye: b: must be a map"},
		"list is a map":             {string(envelope(TypeHeartbeat, "\x81\xa7running\x80")), "heartbeat: running: is a map, not a list"},
		"item is an integer":        {string(envelope(TypeHeartbeat, "\x81\xa7running\x91\x01")), "heartbeat: running[0]: is an integer, not a map"},
		"field of an item":          {string(envelope(TypeHeartbeat, "\x81\xa7running\x91\x81\xa3job\x01")), "heartbeat: running[0].job: is an integer, not a string"},
		"field of a struct":         {string(envelope(TypeHello, "\x81\xa8capacity\x81\xa5slots\xa14")), "hello: capacity.slots: is a string, not an integer"},
		"enumeration":               {string(envelope(TypeGoodbye, "\x81\xa4kind\xa3bye")), "goodbye: kind: must be one of stop, upgrade, left"},
		"frame is a map":            {"\x81\xa1t\xa5hello", "frame: must be a list of 1..256 messages"},
		"message is a string":       {"\x91\xa5hello", "frame: a message is a string, not a map"},
		"type is an integer":        {"\x91\x81\xa1t\x01", "frame: t: is an integer, not a string"},
		"type is missing":           {"\x91\x81\xa1b\x80", "frame: t: is missing"},
		"type with control bytes":   {"\x91\x81\xa1t\xa3a\x1bb", "frame: t: must be 1..64 letters, digits, _ . : -"},
		"request id is an integer":  {"\x91\x82\xa1t\xa7goodbye\xa1i\x01", "goodbye: i: is an integer, not a string"},
		"request id too long":       {"\x91\x82\xa1t\xa7goodbye\xa1r\xd9\x41" + strings.Repeat("x", 65), "goodbye: r: must be 1..64 letters, digits, _ . : -"},
		"trailing bytes":            {string(envelope(TypeGoodbye, "\x81\xa4kind\xa4stop")) + "\x00", "frame: bytes follow the frame"},
		"duplicate keys of a field": {string(envelope(TypeGoodbye, "\x82\xa4kind\xa4stop\xa4kind\xa4left")), "frame: a map has a key twice"},
	} {
		t.Run(name, func(t *testing.T) {
			messages, err := DecodeFrame([]byte(c.frame), DefaultLimits())
			if err == nil {
				_, err = decodeAny(messages[0])
			}
			var bad *BadMessage
			if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestDecode_TakesTheTypeAskedForOnly(t *testing.T) {
	messages, err := DecodeFrame(frameOf(t, Msg(Start{Job: job, Attempt: 1})), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode[Void](messages[0]); err == nil {
		t.Error("a start was read as a void, which has the same fields")
	}
}

func TestAttack_A19_BombsInABodyAllocateNothing(t *testing.T) {
	for name, bomb := range map[string]string{
		"list of 4G":      "\xdd\xff\xff\xff\xff",
		"map of 4G":       "\xdf\xff\xff\xff\xff",
		"bytes of 4G":     "\xc6\xff\xff\xff\xff",
		"nest of 4M":      strings.Repeat("\x91", 4<<20),
		"list in running": "\x81\xa7running\xdd\xff\xff\xff\xff",
	} {
		limits := DefaultLimits()
		limits.Frame = 16 << 20
		frame := envelope(TypeHeartbeat, "\x81\xa4junk"+bomb)
		if strings.HasPrefix(bomb, "\x81") {
			frame = envelope(TypeHeartbeat, bomb)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := DecodeFrame(frame, limits)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<10 {
			t.Errorf("%s: %d bytes were allocated", name, grown)
		}
	}
}

func TestDecode_OwnsItsMemory(t *testing.T) {
	sent := Result{Job: job, Attempt: 1, Status: ResultSucceeded, Detail: "fine", Output: []byte(`{"a":1}`), Tail: []byte("end")}
	frame := frameOf(t, Msg(sent))
	messages, err := DecodeFrame(frame, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode[Result](messages[0])
	clear(frame)
	if err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestRoundTrip_EveryMessage fills every field of every message with values that
// are valid for its type and expects them back.
func TestRoundTrip_EveryMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, empty := range everyBody() {
			sent := reflect.New(reflect.TypeOf(empty))
			fill(t, sent.Elem())
			frame, err := EncodeFrame(nil, DefaultLimits(), Msg(sent.Interface().(Body)))
			if err != nil {
				t.Fatal(err)
			}
			messages, err := DecodeFrame(frame, DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			got := reflect.New(reflect.TypeOf(empty))
			if _, bad := kinds[empty.Type()].shape.check(messages[0].Body, 0); bad != nil {
				t.Fatalf("%s.%s %s", empty.Type(), bad.field, bad.problem)
			}
			if err := unmarshal(messages[0].Body, got.Interface()); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Interface(), sent.Interface()) {
				t.Fatalf("%s: sent %+v, got %+v", empty.Type(), sent.Elem(), got.Elem())
			}
			if len(messages[0].Unknown) > 0 {
				t.Fatalf("%s: unknown keys %q", empty.Type(), messages[0].Unknown)
			}
		}
	})
}

func everyBody() []Body {
	return []Body{
		Hello{}, Welcome{}, Refused{}, Heartbeat{}, HeartbeatAck{}, Offer{}, Accept{}, Decline{},
		Start{}, Void{}, Progress{}, Result{}, ResultAck{}, Cancel{}, Goodbye{}, Error{},
	}
}

// fill draws a value for every field; lists are never empty but not nil, because
// omitted ones come back as nil.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.StringN(0, 20, 80).Draw(t, "text"))
	case reflect.Int64:
		v.SetInt(rapid.Int64Range(-MaxInteger, MaxInteger).Draw(t, "integer"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "boolean"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes"))
			return
		}
		if n := rapid.IntRange(0, 3).Draw(t, "items"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	}
}

// FuzzDecode must neither die nor accept what it would not send again.
func FuzzDecode(f *testing.F) {
	for _, b := range everyBody() {
		frame, err := EncodeFrame(nil, DefaultLimits(), Outgoing{ID: "1", Body: b})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	f.Add(envelope(TypeHeartbeat, "\x81\xa7running\xdd\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		messages, err := DecodeFrame(b, DefaultLimits())
		if err != nil {
			return
		}
		for _, m := range messages {
			got, err := decodeAny(m)
			if err != nil {
				continue
			}
			again, err := EncodeFrame(nil, DefaultLimits(), Outgoing{ID: m.ID, ReplyTo: m.ReplyTo, Body: got})
			if err != nil {
				t.Fatalf("accepted %+v, but it can't be sent: %v", got, err)
			}
			back, err := DecodeFrame(again, DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := decodeAny(back[0]); err != nil || !reflect.DeepEqual(emptyIsNil(got), emptyIsNil(twice)) {
				t.Fatalf("%+v became %+v, %v", got, twice, err)
			}
		}
	})
}

// emptyIsNil compares lists by content: empty ones are omitted when sent.
func emptyIsNil(b Body) any {
	v := reflect.New(reflect.TypeOf(b)).Elem()
	v.Set(reflect.ValueOf(b))
	dropEmpty(v)
	return v.Interface()
}

func dropEmpty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			dropEmpty(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			dropEmpty(v.Field(i))
		}
	}
}

func TestLimits_OfAPeerAreClamped(t *testing.T) {
	wild := Limits{Frame: math.MaxInt64, String: -1, List: math.MinInt64}.scan()
	if wild.Frame != 1<<24-1 || wild.String != 0 || wild.List != 0 {
		t.Errorf("got %+v", wild)
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	beat := Heartbeat{Accepting: true, Health: Health{OK: true}, LoadMilli: 420, MemoryMiB: 2048}
	for range 4 {
		beat.Running = append(beat.Running, RunningWork{Job: job, Attempt: 1, Phase: PhaseRunning, Percent: 40})
	}
	frame, err := EncodeFrame(nil, DefaultLimits(), Msg(beat))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf, _ = EncodeFrame(buf[:0], DefaultLimits(), Msg(&beat))
		}
	})
	b.Run("frame", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeFrame(frame, DefaultLimits()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("frame+body", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			messages, _ := DecodeFrame(frame, DefaultLimits())
			if _, err := Decode[Heartbeat](messages[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("msgpack alone", func(b *testing.B) {
		messages, _ := DecodeFrame(frame, DefaultLimits())
		b.ReportAllocs()
		for b.Loop() {
			var h Heartbeat
			if err := unmarshal(messages[0].Body, &h); err != nil {
				b.Fatal(err)
			}
		}
	})
}

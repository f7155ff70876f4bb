package wire

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"
)

// reflected is what the encoder writes of a body.
func reflected(t interface{ Fatal(...any) }, body Body) []byte {
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	e.UseCompactInts(true)
	if err := e.Encode(body); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPlain_IsWhatTheEncoderWrites(t *testing.T) {
	for _, body := range []Body{Offer{}, Accept{}, Start{}, ResultAck{}, HeartbeatAck{}} {
		written := false
		rapid.Check(t, func(t *rapid.T) {
			v := reflect.New(reflect.TypeOf(body))
			fill(t, v.Elem())
			if offer, is := v.Interface().(*Offer); is && rapid.Bool().Draw(t, "usual") {
				offer.Payload.Inputs, offer.Demands.Resources, offer.Demands.Memory = nil, nil, nil
			}
			if ack, is := v.Interface().(*HeartbeatAck); is && rapid.Bool().Draw(t, "usual") {
				*ack = HeartbeatAck{OK: ack.OK, LeaseMs: ack.LeaseMs}
			}
			got, ok := v.Elem().Interface().(plain).appendPlain([]byte("before"))
			if !ok && string(got) != "before" {
				t.Fatalf("left %x behind", got)
			}
			if want := reflected(t, v.Elem().Interface().(Body)); ok && string(got) != "before"+string(want) {
				t.Fatalf("wrote %x\nwant  %x", got, want)
			}
			written = written || ok
		})
		if !written {
			t.Errorf("no %s has written itself", body.Type())
		}
	}
}

func TestPlain_HeadsAreTheShortest(t *testing.T) {
	for _, n := range []int{0, 31, 32, 255, 256, 65_535, 65_536} {
		body := Start{Job: strings.Repeat("j", n)}
		if got, _ := body.appendPlain(nil); !bytes.Equal(got, reflected(t, body)) {
			t.Errorf("a text of %d bytes begins %x", n, got[:8])
		}
	}
	for bit := range 63 {
		for _, n := range []int64{1<<bit - 1, 1 << bit, -1 << bit, -1<<bit - 1} {
			body := Start{Attempt: n}
			if got, _ := body.appendPlain(nil); !bytes.Equal(got, reflected(t, body)) {
				t.Errorf("%d is written as %x", n, got)
			}
		}
	}
	many := Offer{Payload: Payload{Params: make([]Pair, maxFixed+1)}}
	if got, ok := many.appendPlain(nil); ok || len(got) > 0 {
		t.Errorf("a list of %d writes itself", maxFixed+1)
	}
}

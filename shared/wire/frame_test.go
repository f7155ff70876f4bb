package wire

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rockpool/shared/wire/prescan"
)

const job = "0199c0de-0000-7000-8000-000000000001"

// frameOf encodes a frame or ends the test.
func frameOf(t *testing.T, messages ...Outgoing) []byte {
	t.Helper()
	b, err := EncodeFrame(nil, DefaultLimits(), messages...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// envelope is a frame of one message with a hand-written body.
func envelope(kind Type, body string) []byte {
	return []byte("\x91\x82\xa1t" + str(string(kind)) + "\xa1b" + body)
}

func str(s string) string { return string([]byte{0xa0 | byte(len(s))}) + s }

func TestFrame_CarriesManyMessagesInOrder(t *testing.T) {
	accept := Accept{Job: job, Attempt: 3}
	b := frameOf(t,
		Outgoing{ID: "7", Body: Goodbye{Kind: GoodbyeStop}},
		Msg(&accept),
		Outgoing{ReplyTo: strings.Repeat("r", MaxID), Body: Error{Code: CodeUnknownType, Detail: "no such message"}},
	)
	got, err := DecodeFrame(b, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Type != TypeGoodbye || got[0].ID != "7" || got[2].ReplyTo != strings.Repeat("r", MaxID) {
		t.Fatalf("got %+v", got)
	}
	if back, err := Decode[Accept](got[1]); err != nil || back != accept {
		t.Errorf("got %+v, %v", back, err)
	}
	if reply := Reply(got[0], Error{Code: "x"}); reply.ReplyTo != "7" {
		t.Errorf("reply goes to %q", reply.ReplyTo)
	}
}

func TestFrame_HoldsOneTo256Messages(t *testing.T) {
	many := slices.Repeat([]Outgoing{Msg(Goodbye{Kind: GoodbyeStop})}, 257)
	for _, n := range []int{1, 15, 16, 256} {
		got, err := DecodeFrame(frameOf(t, many[:n]...), DefaultLimits())
		if err != nil || len(got) != n {
			t.Errorf("%d messages: got %d, %v", n, len(got), err)
		}
	}
	for _, n := range []int{0, 257} {
		if _, err := EncodeFrame(nil, DefaultLimits(), many[:n]...); err == nil {
			t.Errorf("%d messages were encoded", n)
		}
	}
	empty := []byte("\x90")
	over := append([]byte{0xdc, 1, 1}, bytes.Repeat([]byte("\x81\xa1t\xa1x"), 257)...)
	for _, b := range [][]byte{empty, over} {
		if _, err := DecodeFrame(b, DefaultLimits()); err == nil {
			t.Errorf("a frame of %d bytes was accepted", len(b))
		}
	}
}

func TestFrame_UnknownTypeIsAMessage(t *testing.T) {
	got, err := DecodeFrame([]byte("\x91\x83\xa1t\xa6future\xa1i\xa11\xa1b\x93\x01\x02\x03"), DefaultLimits())
	if err != nil || got[0].Type != "future" || got[0].Type.Known() || got[0].ID != "1" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if !TypeHello.Known() || len(Types()) != 29 {
		t.Errorf("%d types are known", len(Types()))
	}
}

func TestAttack_A22_SenderRefusesItsOwnOversizedFrame(t *testing.T) {
	text := func(n int) []byte { return make([]byte, n) }
	result := Result{Job: job, Attempt: 1, Status: ResultSucceeded, Output: text(64 << 10)}
	var big *TooBig
	if _, err := Encode(HelloLimits(), Msg(result)); !errors.As(err, &big) || big.Type != TypeResult || big.Size < 64<<10 {
		t.Errorf("a result over the frame of a hello: %v", err)
	}
	if _, err := EncodeFrame(nil, HelloLimits(), Msg(Goodbye{}), Msg(result)); !errors.As(err, &big) || big.Type != TypeResult {
		t.Errorf("the same among others: %v", err)
	}
	if _, err := Encode(DefaultLimits(), Msg(result)); err != nil {
		t.Errorf("64 KiB of output after the welcome: %v", err)
	}
	result.Output = text(64<<10 + 1)
	if _, err := Encode(DefaultLimits(), Msg(result)); !errors.As(err, &big) || big.Fault.Cause != prescan.StringTooLong {
		t.Errorf("output over 64 KiB: %v", err)
	}
	result.Output = text(64 << 10)
	frame, err := EncodeFrame([]byte("kept"), DefaultLimits(), Msg(result), Msg(result), Msg(result), Msg(result))
	if !errors.As(err, &big) || string(frame) != "kept" {
		t.Errorf("four results in one frame: %v, %d bytes", err, len(frame))
	}
	heartbeat := Heartbeat{Running: make([]RunningWork, 4097)}
	if _, err := Encode(DefaultLimits(), Msg(heartbeat)); !errors.As(err, &big) || big.Fault.Cause != prescan.ListTooLong {
		t.Errorf("a list over 4,096: %v", err)
	}
	if _, err := Encode(DefaultLimits(), Msg(Decline{Reason: "\xff"})); !errors.As(err, &big) {
		t.Errorf("text that is no UTF-8: %v", err)
	}
}

func TestJoin_FillsFramesWithinTheLimits(t *testing.T) {
	small, err := Encode(DefaultLimits(), Msg(Goodbye{Kind: GoodbyeStop}))
	if err != nil {
		t.Fatal(err)
	}
	large, err := Encode(DefaultLimits(), Msg(Result{Job: job, Attempt: 1, Status: ResultFailed, Tail: make([]byte, 60<<10)}))
	if err != nil {
		t.Fatal(err)
	}
	wide, err := Encode(DefaultLimits(), Msg(Heartbeat{Running: slices.Repeat([]RunningWork{{Job: job, Attempt: 1, Phase: PhaseRunning}}, 1000)}))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		queue []Encoded
		taken int
	}{
		"one":                {[]Encoded{small}, 1},
		"256 of many":        {slices.Repeat([]Encoded{small}, 1000), 256},
		"four times 60 KiB":  {slices.Repeat([]Encoded{large}, 9), 4},
		"8,192 values":       {slices.Repeat([]Encoded{wide}, 4), 2},
		"small before large": {[]Encoded{small, large, large, large, large, large}, 5},
	} {
		frame, taken := Join(nil, DefaultLimits(), c.queue)
		if taken != c.taken {
			t.Errorf("%s: took %d, want %d", name, taken, c.taken)
		}
		if got, err := DecodeFrame(frame, DefaultLimits()); err != nil || len(got) != taken {
			t.Errorf("%s: the peer reads %d messages, %v", name, len(got), err)
		}
	}
	if frame, _ := Join(nil, DefaultLimits(), []Encoded{small}); !reflect.DeepEqual(frame, frameOf(t, Msg(Goodbye{Kind: GoodbyeStop}))) {
		t.Error("a joined frame differs from an encoded one")
	}
	if small.Type() != TypeGoodbye || small.Size() == 0 {
		t.Errorf("%v %d", small.Type(), small.Size())
	}
}

func TestAttack_A01_ClaimedPoolIsReported(t *testing.T) {
	plain := frameOf(t, Msg(Start{Job: job, Attempt: 1}))
	withKeys := bytes.Replace(plain, []byte("\xa1b\x82"), []byte("\xa1b\x84\xa4pool\xa3all\xa6userId\x07"), 1)
	got, err := DecodeFrame(withKeys, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"pool", "userId"}; !slices.Equal(got[0].Unknown, want) {
		t.Errorf("reported %q, want %q", got[0].Unknown, want)
	}
	if body, err := Decode[Start](got[0]); err != nil || body != (Start{Job: job, Attempt: 1}) {
		t.Errorf("the claim changed the message: %+v, %v", body, err)
	}
	outside := bytes.Replace(plain, []byte("\x91\x82"), []byte("\x91\x83\xa7poolId\n\x01"), 1)
	outside = bytes.Replace(outside, []byte("\xa7poolId\n"), []byte("\xa6poolId"), 1)
	if got, err = DecodeFrame(outside, DefaultLimits()); err != nil || !slices.Equal(got[0].Unknown, []string{"poolId"}) {
		t.Errorf("beside the body: %+v, %v", got, err)
	}
}

func TestUnknownKeys_AreBoundedButClaimsAreKept(t *testing.T) {
	body := "\xde\x00\x33"
	for i := range 50 {
		body += str("junk\x1b"+string(rune('A'+i))) + "\xc0"
	}
	body += str("poolId") + "\xc0"
	got, err := DecodeFrame(envelope(TypeGoodbye, body), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	names := got[0].Unknown
	if len(names) != MaxUnknown+1 || names[0] != "junkA" || names[MaxUnknown] != "poolId" {
		t.Errorf("reported %q", names)
	}
	plain := frameOf(t, Msg(Goodbye{Kind: GoodbyeStop}))
	if got, _ = DecodeFrame(plain, DefaultLimits()); got[0].Unknown != nil {
		t.Errorf("reported %q of a plain message", got[0].Unknown)
	}
}

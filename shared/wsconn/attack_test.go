package wsconn

import (
	"context"
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"rockpool/shared/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const job = "0199c0de-0000-7000-8000-000000000001"

// ended waits until Receive reports the end and checks the code.
func ended(t *testing.T, c *Conn, code wire.CloseCode, local bool) *End {
	t.Helper()
	_, err := received(t, "the end of the connection", c)
	var end *End
	if !errors.As(err, &end) || end.Code != code || end.Local != local {
		t.Fatalf("ended with %v (local %v), want code %v (local %v)", err, end.Local, code, local)
	}
	within(t, "Closed", c.Closed())
	return end
}

func TestAttack_A26_TextUnmaskedAndReservedBitsAreClosed(t *testing.T) {
	goodbye, _ := wire.EncodeFrame(nil, wire.HelloLimits(), wire.Msg(wire.Goodbye{Kind: wire.GoodbyeStop}))
	for name, c := range map[string]struct {
		first  byte
		masked bool
		want   wire.CloseCode
	}{
		"text frame":             {0x81, true, wire.CloseText},
		"unmasked frame":         {0x82, false, wire.CloseProtocol},
		"reserved bit 1":         {0xc2, true, wire.CloseProtocol},
		"reserved bit 2":         {0xa2, true, wire.CloseProtocol},
		"reserved bit 3":         {0x92, true, wire.CloseProtocol},
		"reserved opcode":        {0x83, true, wire.CloseProtocol},
		"continuation of naught": {0x80, true, wire.CloseProtocol},
		"fragmented ping":        {0x09, true, wire.CloseProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			address, accepted := serve(t, AcceptOptions{})
			client := upgrade(t, address, ours())
			server := next(t, accepted)
			client.write(c.first, c.masked, goodbye)
			go func() { _, _ = server.Receive() }()
			if got, _ := client.closeCode(); got != c.want {
				t.Errorf("closed with %v, want %v", got, c.want)
			}
			_ = client.Close()
			within(t, "the server's end", server.Closed())
		})
	}
}

func TestAttack_A22_FrameOverTheLimitIsClosed1009(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{})
	client := upgrade(t, address, ours())
	server := next(t, accepted)
	go func() { _, _ = server.Receive() }()
	client.write(0x82, true, make([]byte, 64<<10+1))
	if got, reason := client.closeCode(); got != wire.CloseTooBig {
		t.Errorf("closed with %v %q, want %v", got, reason, wire.CloseTooBig)
	}
	_ = client.Close()
	within(t, "the server's end", server.Closed())
}

func TestAttack_A22_LimitRisesAfterHelloAndSenderRefusesLocally(t *testing.T) {
	client, server := pair(t, AcceptOptions{}, DialOptions{})
	large := wire.Msg(wire.Result{Job: job, Attempt: 1, Status: wire.ResultSucceeded, Output: make([]byte, 64<<10)})
	var big *wire.TooBig
	if err := client.Send(large); !errors.As(err, &big) {
		t.Fatalf("a result over 64 KiB before the hello: %v", err)
	}
	server.SetReceiveLimits(wire.DefaultLimits())
	client.SetSendLimits(wire.DefaultLimits())
	if err := client.Send(large); err != nil {
		t.Fatal(err)
	}
	frame, err := received(t, "the large result", server)
	if err != nil || frame.Size < 64<<10 {
		t.Fatalf("got %d bytes, %v", frame.Size, err)
	}
}

func TestAttack_A19_BombsThroughTheSocketAreClosed4002(t *testing.T) {
	for name, bomb := range map[string]string{
		"list of 4G":      "ddffffffff",
		"map of 4G":       "dfffffffff",
		"bytes of 4G":     "c6ffffffff",
		"nest of 10k":     strings.Repeat("91", 10_000),
		"nest in a body":  "9182a174a568656c6c6fa16281a46a756e6b" + strings.Repeat("91", 10_000),
		"no msgpack":      "c1",
		"trailing":        "9181a174a474657374" + "00",
		"not a list":      "80",
		"without a type":  "9180",
		"no message":      "90",
		"extension types": "91d40100",
	} {
		t.Run(name, func(t *testing.T) {
			frame, err := hex.DecodeString(bomb)
			if err != nil {
				t.Fatal(err)
			}
			address, accepted := serve(t, AcceptOptions{})
			client := upgrade(t, address, ours())
			server := next(t, accepted)
			client.write(0x82, true, frame)
			go func() { _, _ = server.Receive() }()
			if got, reason := client.closeCode(); got != wire.CloseBadMessage || reason == "" {
				t.Errorf("closed with %v %q", got, reason)
			}
			_ = client.Close()
			within(t, "the server's end", server.Closed())
		})
	}
}

func TestAttack_A19_AgentRefusesItsServersBombs(t *testing.T) {
	client, server := pair(t, AcceptOptions{}, DialOptions{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := server.ws.Write(context.Background(), websocket.MessageBinary, []byte("\xdd\xff\xff\xff\xff")); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = server.Receive() }()
	end := ended(t, client, wire.CloseBadMessage, true)
	runtime.ReadMemStats(&after)
	var bad *wire.BadMessage
	if !errors.As(end, &bad) {
		t.Errorf("the cause is %v", end.Err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

func TestAttack_A23_CompressionIsNeverAgreedOn(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{})
	header := ours()
	header.Set("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")
	upgrade(t, address, header) // checks the answer
	next(t, accepted)
}

func TestAttack_A30_PeerThatNeverReads(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{Options: Options{OutboxBytes: 256 << 10}})
	client := upgrade(t, address, ours())
	server := next(t, accepted)
	flood(t, server)
	if messages, bytes := server.Waiting(); bytes > 256<<10 || bytes == 0 {
		t.Errorf("%d messages of %d bytes wait", messages, bytes)
	}
	start := time.Now()
	server.Close(wire.CloseSlowConsumer, "reads too slowly")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	ended(t, server, wire.CloseSlowConsumer, true)
	_ = client.Close()
}

// flood sends until the outbox is full.
func flood(t *testing.T, c *Conn) {
	t.Helper()
	e, err := wire.Encode(wire.DefaultLimits(), wire.Msg(wire.Result{Job: job, Attempt: 1, Status: wire.ResultFailed, Tail: make([]byte, 60<<10)}))
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for full := 0; full < 1000; {
		switch err := c.SendEncoded(e); {
		case errors.Is(err, ErrOverflow):
			full++ // the kernel's buffers may take more in a moment
			runtime.Gosched()
		case err != nil || time.Now().After(deadline):
			t.Fatalf("the outbox never filled: %v", err)
		default:
			full = 0
		}
	}
}

func TestAttack_A31_OtherOriginsAreRefused(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{Origins: []string{"console.example"}})
	for origin, ok := range map[string]bool{
		"https://console.example": true, "https://evil.example": false, "null": false,
		"https://console.example.evil.example": false, "https://evilconsole.example": false,
	} {
		c, err := Dial(context.Background(), address, DialOptions{Header: map[string][]string{"Origin": {origin}}})
		if ok != (err == nil) {
			t.Errorf("origin %s: %v", origin, err)
		}
		if err == nil {
			next(t, accepted)
			c.CloseNow()
		}
	}
}

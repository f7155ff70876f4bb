package wsconn

import (
	"fmt"
	"slices"
	"testing"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// However the bytes of frames come, small and large, whole and in fragments, with
// pings among them: each message comes once and in its turn.
func TestReceive_FramesCutAnywhere(t *testing.T) {
	const ping, fragment, rest = 0x89, 0x02, 0x80
	sizes := []int{0, 1, 60, 61, 62, 200, 430, 470, 520, 3000}
	var stream []byte
	for i, size := range sizes {
		message, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(wire.Result{Job: job, Attempt: int64(i + 1), Status: wire.ResultFailed, Tail: make([]byte, size)}))
		if err != nil {
			t.Fatal(err)
		}
		stream = slices.Concat(stream, wsconntest.Frame(wsconntest.Binary, true, message), wsconntest.Frame(ping, true, []byte("there?")),
			wsconntest.Frame(fragment, true, message[:10]), wsconntest.Frame(ping, true, nil), wsconntest.Frame(rest, true, message[10:]))
	}
	for _, cut := range []int{1, 2, 5, 13, 64, 511, 512, 513, len(stream)} {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			address, accepted := serve(t, AcceptOptions{})
			client := upgrade(t, address, ours())
			server := next(t, accepted)
			go func() {
				for part := range slices.Chunk(stream, cut) {
					_, _ = client.Write(part)
				}
			}()
			for i := range 2 * len(sizes) {
				frame, err := received(t, "a frame", server)
				if err != nil {
					t.Fatal(err)
				}
				result, err := wire.Decode[wire.Result](frame.Messages[0])
				if err != nil || result.Attempt != int64(i/2+1) || len(result.Tail) != sizes[i/2] {
					t.Fatalf("message %d is attempt %d with %d bytes, %v", i, result.Attempt, len(result.Tail), err)
				}
			}
		})
	}
}

// A pong that is due while the socket has taken half of a frame waits for the rest.
func TestWrite_NothingStandsWithinAFrame(t *testing.T) {
	address, accepted := serve(t, AcceptOptions{Options: Options{SocketBytes: 16 << 10}})
	client := upgrade(t, address, ours())
	server := next(t, accepted)
	stall(t, server)
	const pings = 3
	for i := range byte(pings) {
		client.write(0x89, true, []byte{i})
	}
	read := make(chan struct{})
	go func() { defer close(read); _, _ = server.Receive() }()
	if err := server.Send(progress(1)); err != nil {
		t.Fatal(err)
	}
	for pongs, last := 0, false; pongs < pings || !last; {
		opcode, payload, err := client.Read()
		switch {
		case err != nil:
			t.Fatal(err)
		case opcode|0x80 == wsconntest.Pong:
			pongs++
			continue
		}
		messages, err := wire.DecodeFrame(payload, wire.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		last = last || messages[len(messages)-1].Type == wire.TypeProgress
	}
	server.CloseNow()
	within(t, "the end of the reading", read)
}

func TestFlushAll_WritesToEachOfMany(t *testing.T) {
	const many = 3*inTurn + 1
	var clients, servers []*Conn
	for i := range int64(many) {
		client, server := pair(t, AcceptOptions{}, DialOptions{})
		if _, err := server.Queue(progress(i)); err != nil {
			t.Fatal(err)
		}
		clients, servers = append(clients, client), append(servers, server)
	}
	FlushAll(servers)
	for i, client := range clients {
		frame, err := received(t, "its frame", client)
		if err != nil || len(frame.Messages) != 1 {
			t.Fatalf("connection %d: %d messages, %v", i, len(frame.Messages), err)
		}
		if p, err := wire.Decode[wire.Progress](frame.Messages[0]); err != nil || p.Percent != int64(i) {
			t.Errorf("connection %d has the message of %d, %v", i, p.Percent, err)
		}
	}
}

// The header's length has one form for each size.
func TestWithHeader_IsTheShortestThatFits(t *testing.T) {
	for size, want := range map[int]string{0: "8200", 125: "827d", 126: "827e007e", 65535: "827effff", 65536: "827f0000000000010000"} {
		frame := withHeader(make([]byte, len(noHeader)+size))
		head := len(frame) - size
		if got := fmt.Sprintf("%x", frame[:head]); got != want {
			t.Errorf("%d bytes: %s, want %s", size, got, want)
		}
	}
}

package session

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// pipes is a listener whose connections have no buffers and no file: what the
// server does not read, the client has not written, in a bubble's own time.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// bubble runs a test with a gateway behind a server of pipes.
func bubble(t *testing.T, change func(*Config), test func(*testing.T, *rig, *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		r := newBareRig(t, change)
		p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: r.gateway}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(p) }()
		r.url = "http://x" + wire.ChannelPath
		test(t, r, p)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.gateway.Close(ctx); err != nil {
			t.Errorf("close the gateway: %v", err)
		}
		_ = server.Close()
		<-served
	})
}

// flooder is a client that writes without end and counts what comes back.
type flooder struct {
	raw     *wsconntest.Raw
	written atomic.Int64 // frames that the server took
	pongs   atomic.Int64
	due     chan []byte // pongs to write with the next frame: a pipe has one writer
	code    wire.CloseCode
	over    chan struct{}
	work    sync.WaitGroup
}

func (p *pipes) join(t *testing.T, header http.Header, hello wire.Body) *flooder {
	t.Helper()
	client, server := net.Pipe()
	p.accepted <- server
	header = header.Clone()
	header.Set("Sec-WebSocket-Protocol", wire.Subprotocol)
	raw, answer, err := wsconntest.Upgrade(client, header)
	if raw == nil {
		t.Fatalf("upgrade: %v, %v", answer, err)
	}
	f := &flooder{raw: raw, due: make(chan []byte, 16), over: make(chan struct{})}
	f.work.Go(f.read)
	if hello != nil {
		f.write(masked(wsconntest.Binary, frameOf(t, hello)))
	}
	return f
}

func (f *flooder) read() {
	defer close(f.over)
	for {
		opcode, payload, err := f.raw.Read()
		if err != nil {
			return
		}
		if code, _ := wsconntest.CloseCode(opcode, payload); code != 0 && f.code == 0 {
			f.code = code
			_ = f.raw.Close()
		}
		switch opcode | 0x80 {
		case wsconntest.Ping:
			f.due <- masked(wsconntest.Pong, payload)
		case wsconntest.Pong:
			f.pongs.Add(1)
		}
	}
}

func (f *flooder) write(frame []byte) bool {
	select {
	case pong := <-f.due:
		frame = slices.Concat(pong, frame)
	default:
	}
	_, err := f.raw.Conn.Write(frame)
	if err == nil {
		f.written.Add(1)
	}
	return err == nil
}

// flood writes frames until the connection is over, and waits for that.
func (f *flooder) flood(frames ...[]byte) (took time.Duration) {
	began := time.Now()
	for i := 0; f.write(frames[i%len(frames)]); i++ {
	}
	<-f.over
	f.work.Wait()
	return time.Since(began)
}

// leave ends the connection.
func (f *flooder) leave() {
	_ = f.raw.Close()
	f.work.Wait()
}

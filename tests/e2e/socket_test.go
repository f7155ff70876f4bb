package e2e

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/shared/wire/wiretest"
	"rockpool/shared/wsconn/wsconntest"
	"rockpool/tests/rig"
)

// target is a node whose credential opens the sockets that the hostile bytes go
// through, and a live one beside it that nothing may touch.
type target struct {
	*tenant
	node *rig.RawNode
	live *rig.RawNode
	rss  int64
}

func newTarget(t *testing.T) *target {
	t.Helper()
	u := newTenant(t, rig.NewServer(t, settings...)) // of its own: its memory is looked at
	x := &target{tenant: u, node: u.node("target", rig.RawOptions{})}
	x.node.Cut()
	x.live = u.node("live", rig.RawOptions{Answer: rig.Diligent})
	x.rss = residentSet(t, u.s.PID())
	return x
}

// once opens a socket, says hello or not, sends, and wants this close code.
func (x *target) once(name string, hello bool, want wire.CloseCode, send func(*rig.Socket)) {
	x.t.Helper()
	socket := x.s.MustUpgrade(x.t, x.node.Credential())
	defer socket.Close()
	if hello {
		socket.Send(x.node.Hello())
		if messages, code := socket.Receive(); code != 0 || messages[0].Type != wire.TypeWelcome {
			x.t.Fatalf("%s: no welcome: %v, %s", name, messages, code)
		}
	}
	send(socket)
	if _, code := socket.Ended(); code != want {
		x.t.Errorf("%s, after a hello: %v: closed %s, want %s", name, hello, code, want)
	}
}

// throw sends the same before and after a hello.
func (x *target) throw(name string, want wire.CloseCode, send func(*rig.Socket)) {
	x.t.Helper()
	x.once(name, false, want, send)
	x.once(name, true, want, send)
}

// throwFrame throws a frame that is no message; before the hello it may also be
// too big.
func (x *target) throwFrame(name string, frame []byte) {
	x.t.Helper()
	send := func(s *rig.Socket) { s.Write(wsconntest.Binary, true, frame) }
	early := wire.CloseBadMessage
	if int64(len(frame)) > wire.HelloLimits().Frame {
		early = wire.CloseTooBig
	}
	x.once(name, false, early, send)
	x.once(name, true, wire.CloseBadMessage, send)
}

// unharmed checks that the server lives, works, and did not grow.
func (x *target) unharmed() {
	x.t.Helper()
	const most = 96 << 20 // with the race detector's own
	if grown := residentSet(x.t, x.s.PID()) - x.rss; grown > most {
		x.t.Errorf("the server grew by %d MiB", grown>>20)
	}
	if job := x.await(x.submit().ID, "succeeded"); job.Node != x.live.Name {
		x.t.Errorf("ran %s", inWords(job))
	}
	if epoch := query[int64](x.t, x.s, `SELECT epoch FROM nodes WHERE id = $1`, x.live.Name); epoch != x.live.Epoch {
		x.t.Errorf("the live node is at epoch %d, was at %d", epoch, x.live.Epoch)
	}
}

// residentSet is a process's memory in bytes.
func residentSet(t testing.TB, pid int) int64 {
	t.Helper()
	resident, err := backendtest.Resident(pid)
	if err != nil {
		t.Skip("memory is read from /proc: ", err)
	}
	return resident
}

// badFrames are the committed frames that every decoder refuses.
func badFrames(t testing.TB) map[string][]byte {
	t.Helper()
	dir := filepath.Join(rig.Root(), "tests/wire/bad")
	content, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index []struct{ Name string }
	if err := json.Unmarshal(content, &index); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, bad := range index {
		text, err := os.ReadFile(filepath.Join(dir, bad.Name+".hex"))
		if err != nil {
			t.Fatal(err)
		}
		frame, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			t.Fatalf("%s: %v", bad.Name, err)
		}
		all[bad.Name] = frame
	}
	if len(all) < 40 {
		t.Fatalf("only %d bad frames found", len(all))
	}
	return all
}

func TestAttack_A19_BombsThroughTheRealSocket(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	for name, bomb := range wiretest.Bombs(t) {
		x.throwFrame(name, bomb)
	}
	x.unharmed()
}

func TestAttack_A20_DepthThroughTheRealSocket(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	for _, depth := range []int{17, 10_000, 60_000} {
		x.throwFrame(fmt.Sprintf("depth %d", depth), bytes.Repeat([]byte{0x91}, depth))
		inside := append([]byte("\x91\x82\xa1t\xa5hello\xa1b\x81\xa4junk"), bytes.Repeat([]byte{0x91}, depth)...)
		x.throwFrame(fmt.Sprintf("depth %d in an unknown key", depth), inside)
	}
	x.throw("depth 4 million", wire.CloseTooBig, func(s *rig.Socket) {
		s.Write(wsconntest.Binary, true, bytes.Repeat([]byte{0x91}, 4<<20))
	})
	x.unharmed()
}

func TestAttack_A21_BadFramesThroughTheRealSocket(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	for name, frame := range badFrames(t) {
		x.throwFrame(name, frame)
	}
	x.unharmed()
}

func TestAttack_A22_FramesOverTheLimit(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	x.throw("1 MiB", wire.CloseTooBig, func(s *rig.Socket) { s.Write(wsconntest.Binary, true, make([]byte, 1<<20)) })
	for name, c := range map[string]struct {
		hello bool
		size  int64
		want  wire.CloseCode
	}{
		"the most before hello":         {false, wire.HelloLimits().Frame, wire.CloseBadMessage}, // read, and no message
		"one more before hello":         {false, wire.HelloLimits().Frame + 1, wire.CloseTooBig},
		"the most after hello":          {true, wire.DefaultLimits().Frame, wire.CloseBadMessage},
		"one more after hello":          {true, wire.DefaultLimits().Frame + 1, wire.CloseTooBig},
		"a hello's limit + 1, after it": {true, wire.HelloLimits().Frame + 1, wire.CloseBadMessage},
	} {
		x.once(name, c.hello, c.want, func(s *rig.Socket) { s.Write(wsconntest.Binary, true, make([]byte, c.size)) })
	}
	x.unharmed()
}

func TestAttack_A26_WhatIsNoBinaryWebSocketFrame(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(x.node.Hello()))
	if err != nil {
		t.Fatal(err)
	}
	x.throw("text", wire.CloseText, func(s *rig.Socket) { s.Write(wsconntest.Text, true, []byte("hello")) })
	x.throw("a message as text", wire.CloseText, func(s *rig.Socket) { s.Write(wsconntest.Text, true, frame) })
	x.throw("unmasked", wire.CloseProtocol, func(s *rig.Socket) { s.Write(wsconntest.Binary, false, frame) })
	x.throw("reserved bit", wire.CloseProtocol, func(s *rig.Socket) { s.Write(wsconntest.RSV1, true, frame) })
	x.throw("reserved opcode", wire.CloseProtocol, func(s *rig.Socket) { s.Write(0x83, true, frame) })
	x.unharmed()
}

func TestAttack_A15_NothingIsHeardBeforeHello(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	victim := u.node("victim", rig.RawOptions{})
	job := u.submit()
	offer := victim.Take(t)
	stranger := rig.NewRawNode(u.s, u.options("stranger", rig.RawOptions{})) // by license code: not registered yet
	before := u.row(job.ID)
	for _, body := range []wire.Body{
		wire.Heartbeat{Accepting: true}, wire.Progress{Job: job.ID, Attempt: offer.Attempt, Percent: 50},
		wire.Accept{Job: job.ID, Attempt: offer.Attempt}, wire.Decline{Job: job.ID, Attempt: offer.Attempt},
		rig.Succeed(offer), wire.Goodbye{Kind: wire.GoodbyeLeft}, wire.Error{Code: "x"}, wire.Welcome{Proto: 1},
	} {
		for _, header := range []http.Header{stranger.Credential(), victim.Credential()} {
			socket := u.s.MustUpgrade(t, header)
			socket.Send(body)
			if _, code := socket.Ended(); code != wire.CloseBadMessage {
				t.Errorf("%s first: closed %s", body.Type(), code)
			}
			socket.Close()
		}
	}
	if nodes := query[int](t, u.s, `SELECT count(*) FROM nodes WHERE license_id = $1`, u.license.ID); nodes != 1 {
		t.Errorf("%d nodes are registered, want the victim alone", nodes)
	}
	if epoch := query[int64](t, u.s, `SELECT epoch FROM nodes WHERE id = $1`, victim.Name); epoch != victim.Epoch {
		t.Errorf("the victim is at epoch %d, was at %d", epoch, victim.Epoch)
	}
	if after := u.row(job.ID); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the job changed\nfrom %v\nto   %v", before, after)
	}
	if verdict := victim.Report(t, rig.Succeed(offer)); verdict != wire.VerdictStored {
		t.Errorf("the victim's own result is %s", verdict)
	}
}

func TestCase_N45_AForgerDoesNotTouchTheLiveNode(t *testing.T) {
	t.Parallel()
	const forgers = "127.0.0.45" // an address of its own: attempts are limited by address
	u := newTenant(t, server(t))
	live := u.node("live", rig.RawOptions{Answer: rig.Diligent})
	statuses := map[int]int{}
	for range 40 {
		forged := rig.NewRawNode(u.s, rig.RawOptions{})
		socket, answer := u.s.Upgrade(t, forgers, http.Header{"Authorization": {"Bearer " + forged.Secret}})
		if socket != nil {
			t.Fatal("a wrong secret was let in")
		}
		statuses[answer.StatusCode]++
		if answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") == "" {
			t.Error("held back without Retry-After")
		}
	}
	if statuses[401] < 20 || statuses[429] < 10 || statuses[401]+statuses[429] != 40 {
		t.Errorf("answers by status: %v", statuses)
	}
	if held := u.s.Metric(t, "rockpool_credentials_held_back_total"); held < 10 {
		t.Errorf("%v held back are shown", held)
	}
	node, err := u.client.Node(t.Context(), live.Name)
	if err != nil || node.Lease != "ready" || node.Epoch != live.Epoch {
		t.Errorf("the live node is %+v, %v", node, err)
	}
	u.await(u.submit().ID, "succeeded")
	// Its owner behind the forger's own address gets in as before.
	socket, answer := u.s.Upgrade(t, forgers, live.Credential())
	if socket == nil {
		t.Fatalf("the right secret was refused: %s", answer.Status)
	}
}

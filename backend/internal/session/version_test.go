package session

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
	"rockpool/shared/wire/wiretest"
)

// hearAll reads to the server's close: the messages before it, and its code.
func (w *raw) hearAll() (heard []wire.Message, code wire.CloseCode) {
	w.t.Helper()
	for {
		messages, code := w.receive()
		if code != 0 {
			return heard, code
		}
		heard = append(heard, messages...)
	}
}

// newer is a recorded hello as the next protocol's agent may say it: with another
// range of versions, and with a key that nobody here knows.
func newer(t *testing.T, recorded string, lowest, highest byte) []byte {
	t.Helper()
	frame := bytes.Clone(wiretest.Golden(t, recorded))
	for key, value := range map[string]byte{"proto_min": lowest, "proto_max": highest} {
		at := bytes.Index(frame, []byte(key))
		if at < 0 || frame[at+len(key)] != 1 {
			t.Fatalf("%s does not say %s 1", recorded, key)
		}
		frame[at+len(key)] = value
	}
	head := bytes.Index(frame, []byte("\xa1b")) + 2
	if frame[head] < 0x80 || frame[head] >= 0x8f {
		t.Fatalf("the body of %s has no room for a key in its head %x", recorded, frame[head])
	}
	frame[head]++
	return append(frame, "\xa6future\x81\xa4plan\x07"...)
}

// TestCase_N10_OldAndNewAgentsAreTakenAsTheyMeantOrRefused: the matrix of recorded
// frames of agents against this server. Nothing is ever read as something else.
func TestCase_N10_OldAndNewAgentsAreTakenAsTheyMeantOrRefused(t *testing.T) {
	recorded := func(names ...string) (frames [][]byte) {
		for _, name := range names {
			frames = append(frames, wiretest.Golden(t, name))
		}
		return frames
	}
	first, future := "0199c0de-0000-7000-8000-000000000001", []byte("\x91\x83\xa1t\xa6future\xa1i\xa17\xa1b\x81\xa3job\x05")
	said := []string{
		"heartbeat ams-1 1 accepting=true", "accept ams-1 1 " + first + "/1", "decline ams-1 1 " + first + "/200 no free slot",
		"progress ams-1 1 " + first + "/1 100", "result ams-1 1 " + first + "/1", "goodbye ams-1 1 left",
	}
	talk := []string{"heartbeat_least", "accept", "decline", "progress", "result_least", "goodbye"}
	for _, c := range []struct {
		name    string
		frames  [][]byte
		told    []string // to the loop, beside hello and the end
		refused bool
	}{
		{"one of before the chain", recorded(append([]string{"hello_least"}, talk...)...), said, false},
		{"one of today", recorded("hello_chain", "heartbeat_least", "inventory", "goodbye"), []string{
			said[0], "inventory ams-1 1 rev=7 Debian GNU/Linux 12, Linux 6.1.0 disk=201344/476940 stale=true", said[5],
		}, false},
		{"one ahead that speaks ours too", append([][]byte{newer(t, "hello_least", 1, 2), future}, recorded(talk...)...), said, false},
		{"one ahead that does not", [][]byte{newer(t, "hello_least", 2, 2)}, nil, true},
		{"one behind", [][]byte{newer(t, "hello_least", 0, 0)}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			a := r.dialRaw(bearer(r.node("ams-1")))
			for _, frame := range c.frames {
				a.send(frame)
			}
			heard, code := a.hearAll()
			if c.refused {
				refusedForItsVersion(t, heard, code)
				if told := r.loop.events(); len(told) != 0 {
					t.Errorf("the loop was told %q", told)
				}
				return
			}
			welcome, err := wire.Decode[wire.Welcome](heard[0])
			if err != nil || welcome.Proto != 1 || code != wire.CloseNormal {
				t.Errorf("welcome %+v, %v; closed %s", welcome, err, code)
			}
			r.loop.await(t, "closed ams-1 1")
			told := slices.DeleteFunc(r.loop.events(), func(s string) bool { return s == "alive ams-1 1" })
			if want := slices.Concat([]string{"hello ams-1 1"}, c.told, []string{"closed ams-1 1"}); !slices.Equal(told, want) {
				t.Errorf("told %q\nwant %q", told, want)
			}
		})
	}
}

// refusedForItsVersion wants a line that says which versions there are, and 4005.
func refusedForItsVersion(t *testing.T, heard []wire.Message, code wire.CloseCode) {
	t.Helper()
	if len(heard) != 1 || code != wire.CloseVersion {
		t.Fatalf("heard %+v, closed %s", heard, code)
	}
	refused, err := wire.Decode[wire.Refused](heard[0])
	if err != nil || refused.Code != string(fleet.CodeVersion) || !strings.Contains(refused.Detail, "protocol 1 to 1, the agent") || refused.RetryAfterMs < 60_000 {
		t.Errorf("refused with %+v, %v", refused, err)
	}
}

// TestCase_N10_ARecordedHelloMeansWhatItMeant: field by field.
func TestCase_N10_ARecordedHelloMeansWhatItMeant(t *testing.T) {
	r := newRig(t, nil)
	a := r.dialRaw(bearer(r.node("ams-1")))
	a.send(wiretest.Golden(t, "hello"))
	a.send(wiretest.Golden(t, "goodbye"))
	a.hearAll()
	hello := r.loop.hellos[0]
	rep := hello.Report
	if rep.AgentVersion != "1.2.3" || rep.OS != "linux" || rep.Arch != "amd64" || rep.BootID != "b0070001" || rep.Region != "eu-west" || rep.Role != "edge" ||
		rep.Backend != "cpu" || rep.Capacity.Slots != 4 || !slices.Equal(rep.Runners, []string{"checksum", "vmaf"}) || rep.MachineID != strings.Repeat("ab", 32) {
		t.Errorf("the report reads %+v", rep)
	}
	if len(hello.Running) != 1 || hello.Running[0].Attempt != 2 || hello.Running[0].Percent != 40 || hello.Spooled != 1 {
		t.Errorf("it runs %+v and has spooled %d", hello.Running, hello.Spooled)
	}
}

// Package wiretest holds the golden frames of the channel; see README.md.
package wiretest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rockpool/shared/wire"
)

var update = flag.Bool("update", false, "write golden/ and bad/ from the tables")

// decoders decode the body of every message type.
var decoders = map[wire.Type]func(wire.Message) (wire.Body, error){
	wire.TypeHello:        as[wire.Hello],
	wire.TypeWelcome:      as[wire.Welcome],
	wire.TypeRefused:      as[wire.Refused],
	wire.TypeHeartbeat:    as[wire.Heartbeat],
	wire.TypeHeartbeatAck: as[wire.HeartbeatAck],
	wire.TypeOffer:        as[wire.Offer],
	wire.TypeAccept:       as[wire.Accept],
	wire.TypeDecline:      as[wire.Decline],
	wire.TypeStart:        as[wire.Start],
	wire.TypeVoid:         as[wire.Void],
	wire.TypeProgress:     as[wire.Progress],
	wire.TypeResult:       as[wire.Result],
	wire.TypeResultAck:    as[wire.ResultAck],
	wire.TypeLogRequest:   as[wire.LogRequest],
	wire.TypeLog:          as[wire.Log],
	wire.TypeCancel:       as[wire.Cancel],
	wire.TypeInventory:    as[wire.Inventory],
	wire.TypeRotate:       as[wire.Rotate],
	wire.TypeRotated:      as[wire.Rotated],
	wire.TypeGoodbye:      as[wire.Goodbye],
	wire.TypeError:        as[wire.Error],

	wire.TypeSubscribe:      as[wire.Subscribe],
	wire.TypeMore:           as[wire.More],
	wire.TypeUnsubscribe:    as[wire.Unsubscribe],
	wire.TypePing:           as[wire.Ping],
	wire.TypePong:           as[wire.Pong],
	wire.TypeWelcomeConsole: as[wire.WelcomeConsole],
	wire.TypeSnapshot:       as[wire.Snapshot],
	wire.TypeDelta:          as[wire.Delta],
}

func as[T any, P interface {
	*T
	wire.Body
	Validate() error
}](m wire.Message) (wire.Body, error) {
	body, err := wire.Decode[T, P](m)
	return P(&body), err
}

// goldenEntry is a line of golden/index.json.
type goldenEntry struct {
	Name  string   `json:"name"`
	Types []string `json:"types"`
}

func TestGolden_FilesHoldTheTable(t *testing.T) {
	var index []goldenEntry
	for _, g := range goldens() {
		frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), g.messages...)
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		entry := goldenEntry{Name: g.name}
		for _, m := range g.messages {
			entry.Types = append(entry.Types, string(m.Body.Type()))
		}
		index = append(index, entry)
		keep(t, "golden/"+g.name+".hex", []byte(hex.EncodeToString(frame)+"\n"))
		keep(t, "golden/"+g.name+".json", readable(t, frame))
	}
	keep(t, "golden/index.json", indented(t, index))
}

func TestGolden_EveryMessageTypeHasAFrame(t *testing.T) {
	shown := map[wire.Type]bool{}
	for _, e := range load[goldenEntry](t, "golden/index.json") {
		for _, name := range e.Types {
			shown[wire.Type(name)] = true
		}
	}
	for _, kind := range wire.Types() {
		if !shown[kind] {
			t.Errorf("no golden frame shows a %s", kind)
		}
		if decoders[kind] == nil {
			t.Errorf("this test does not decode a %s", kind)
		}
	}
}

func TestGolden_DecodesAndEncodesToTheSameBytes(t *testing.T) {
	for _, e := range load[goldenEntry](t, "golden/index.json") {
		frame := frameFile(t, "golden/"+e.Name+".hex")
		messages, err := wire.DecodeFrame(frame, wire.DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		var again []wire.Outgoing
		for _, m := range messages {
			body, err := decoders[m.Type](m)
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
			if len(m.Unknown) > 0 {
				t.Errorf("%s: unknown keys %q", e.Name, m.Unknown)
			}
			again = append(again, wire.Outgoing{ID: m.ID, ReplyTo: m.ReplyTo, Body: body})
		}
		if back, err := wire.EncodeFrame(nil, wire.DefaultLimits(), again...); err != nil || !bytes.Equal(back, frame) {
			t.Errorf("%s: encodes to\n%x, want\n%x (%v)", e.Name, back, frame, err)
		}
	}
}

// TestGolden_SetsEveryField keeps a new field from having no golden frame.
func TestGolden_SetsEveryField(t *testing.T) {
	unset := map[string]bool{}
	set := map[string]bool{}
	for _, g := range goldens() {
		for _, m := range g.messages {
			noteFields(reflect.ValueOf(m.Body), reflect.TypeOf(m.Body).Name(), set, unset)
		}
	}
	for field := range unset {
		if !set[field] {
			t.Errorf("%s is zero in every golden frame", field)
		}
	}
}

func noteFields(v reflect.Value, path string, set, unset map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			noteFields(v.Elem(), path, set, unset)
		}
	case reflect.Slice:
		for i := range v.Len() {
			noteFields(v.Index(i), path, set, unset)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := path + "." + v.Type().Field(i).Name
			if v.Field(i).IsZero() {
				unset[field] = true
			} else {
				set[field] = true
			}
			noteFields(v.Field(i), field, set, unset)
		}
	}
}

func TestAttack_A21_BadFramesAreRefused(t *testing.T) {
	table := badFrames()
	for _, b := range table {
		keep(t, "bad/"+b.Name+".hex", []byte(hex.EncodeToString([]byte(b.frame))+"\n"))
	}
	keep(t, "bad/index.json", indented(t, table))
	for _, b := range load[badFrame](t, "bad/index.json") {
		t.Run(b.Name, func(t *testing.T) {
			messages, err := wire.DecodeFrame(frameFile(t, "bad/"+b.Name+".hex"), wire.DefaultLimits())
			if b.Layer == "frame" {
				if err == nil {
					t.Errorf("accepted, although %s", b.Why)
				}
				return
			}
			if err != nil {
				t.Fatalf("refused as a frame already: %v", err)
			}
			if _, err := decoders[messages[0].Type](messages[0]); err == nil {
				t.Errorf("decoded, although %s", b.Why)
			}
		})
	}
}

// keep compares a file with what it should hold, or writes it.
func keep(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./tests/wire -update writes new frames)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the table: a key or meaning has changed, which old agents would not survive", path)
	}
}

func load[T any](t *testing.T, path string) []T {
	t.Helper()
	var list []T
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil || len(list) == 0 {
		t.Fatalf("read %s: %d entries, %v", path, len(list), err)
	}
	return list
}

func frameFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return frame
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		t.Fatal(fmt.Errorf("encode JSON: %w", err))
	}
	return b.Bytes()
}

package runner

import (
	"bytes"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// Whoever asks piece by piece gets the log's very bytes, each at its place, and
// passes over what is in neither end.
func TestLog_IsReadPieceByPiece(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		out := newOutput(filepath.Join(dir, logFile), 1<<20, nil)
		defer func() { _ = out.close() }()
		var all []byte
		var at int64
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			more := make([]byte, rapid.IntRange(0, 3*logEnd/2).Draw(t, "written"))
			for i := range more {
				more[i] = byte(len(all) + i)
			}
			_, _ = out.Write(more)
			all = append(all, more...)
			limit := rapid.IntRange(1, 2*logEnd).Draw(t, "limit")
			from, part := out.from(at, limit)
			if from < at || len(part) > limit || !bytes.Equal(part, all[from:from+int64(len(part))]) {
				t.Fatalf("asked from %d: %d bytes from %d of %d are not the log's", at, len(part), from, len(all))
			}
			if kept := int64(len(all) - logEnd); from > at && from != kept {
				t.Fatalf("passed over %d to %d, though all from %d on is kept", at, from, kept)
			}
			if len(part) == 0 && at < int64(len(all)) {
				t.Fatalf("nothing from %d of %d", at, len(all))
			}
			at = from + int64(len(part))
		}
		if from, part := out.from(at+99, 10); from > int64(len(all)) || at == int64(len(all)) && len(part) != 0 {
			t.Fatalf("beyond the end: %d bytes from %d", len(part), from)
		}
	})
}

func TestLog_OfARunningAttempt(t *testing.T) {
	r := newRig(t, tool("flood"), nil)
	if _, _, runs := r.Log(nodecore.Ref{Attempt: 1}, 0, 10); runs {
		t.Error("an attempt that there is not runs")
	}
	ref := r.start(wire.Payload{})
	var at int64
	var part []byte
	for runs := true; runs && at < 1<<20; at += int64(len(part)) {
		if at, part, runs = r.Log(ref, at, 8<<10); !runs || len(part) > 8<<10 || len(bytes.Trim(part, "x")) != 0 {
			t.Fatalf("from %d: %d bytes, runs %v", at, len(part), runs)
		}
	}
	r.Stop(ref, 0)
	r.wait()
	if _, part, runs := r.Log(ref, 0, 10); runs || part != nil {
		t.Error("an attempt that has ended runs")
	}
}

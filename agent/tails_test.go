package agent

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// diary is the log of every attempt; ended: none runs.
type diary struct {
	text  string
	ended bool
}

func (d *diary) Log(_ nodecore.Ref, offset int64, limit int) (int64, []byte, bool) {
	if d.ended {
		return offset, nil, false
	}
	rest := d.text[min(offset, int64(len(d.text))):]
	return offset, []byte(rest[:min(limit, len(rest))]), true
}

func request(n byte, offset, most int64) wire.LogRequest {
	return wire.LogRequest{Job: jobID(n), Attempt: 1, Stream: wire.LogOutput, Offset: offset, Max: most}
}

// ticked gives what is answered at the next tick.
func (t *tails) ticked(d *diary) (sent []wire.Log) {
	<-t.ticks()
	t.answer(time.Now(), d, func(_ int64, m wire.Log) { sent = append(sent, m) })
	return sent
}

func TestTails_EachRequestHasOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tl tails
		defer tl.stop()
		d := &diary{text: "0123456789"}
		if tl.ticks() != nil {
			t.Error("nothing was asked, and it ticks")
		}
		began := time.Now()
		tl.ask(time.Now(), 1, request(1, 0, 4))
		tl.ask(time.Now(), 1, request(1, 2, 4)) // the latest counts
		if sent := tl.ticked(d); len(sent) != 1 || sent[0].Offset != 2 || string(sent[0].Bytes) != "2345" || sent[0].End {
			t.Errorf("answered %+v", sent)
		}
		if took := time.Since(began); took != tailEvery {
			t.Errorf("answered after %v", took)
		}
		if tl.ticks() != nil {
			t.Error("all is answered, and it ticks")
		}
	})
}

func TestTails_WaitsForSomethingNewAndNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tl tails
		defer tl.stop()
		d := &diary{text: "01"}
		began := time.Now()
		tl.ask(began, 1, request(1, 2, 4))
		if sent := tl.ticked(d); len(sent) != 0 {
			t.Errorf("answered %+v", sent)
		}
		d.text += "new"
		if sent := tl.ticked(d); len(sent) != 1 || string(sent[0].Bytes) != "new" {
			t.Errorf("answered %+v", sent)
		}
		began = time.Now()
		tl.ask(began, 1, request(1, 5, 4))
		var sent []wire.Log
		for tl.ticks() != nil {
			sent = append(sent, tl.ticked(d)...)
		}
		if len(sent) != 1 || len(sent[0].Bytes) != 0 || sent[0].End || sent[0].Offset != 5 || time.Since(began) != tailWait {
			t.Errorf("after %v %+v", time.Since(began), sent)
		}
	})
}

func TestTails_SaysThatAnAttemptHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tl tails
		defer tl.stop()
		tl.ask(time.Now(), 1, request(1, 7, 4))
		if sent := tl.ticked(&diary{ended: true}); len(sent) != 1 || !sent[0].End || sent[0].Offset != 7 || len(sent[0].Bytes) != 0 {
			t.Errorf("answered %+v", sent)
		}
		for n := range 2 * maxTails {
			tl.ask(time.Now(), 1, request(byte(n), 0, 4))
		}
		if len(tl.waiting) != maxTails {
			t.Errorf("%d requests wait", len(tl.waiting))
		}
	})
}

// A real agent, a real program and a real connection.
func TestLog_OfARunningJobIsToldAsAskedFor(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	begin(t, testConfig(t, c.server.URL))
	s := c.welcome()
	o := offerOf(1, "tool", toolPayload("chatter", t.TempDir()))
	s.run(o)
	var got []byte
	for ask := request(1, 0, 16); ; ask.Offset = int64(len(got)) {
		s.send(ask)
		piece := expect[wire.Log](s)
		if piece.Offset != int64(len(got)) || len(piece.Bytes) > 16 {
			t.Fatalf("asked %+v, got %+v", ask, piece)
		}
		if got = append(got, piece.Bytes...); piece.End {
			t.Fatalf("ended after %q", got)
		}
		if bytes.Equal(got, []byte("chatter begins\nchatter waits\n")) {
			break
		}
	}
	s.send(wire.Cancel{Job: o.Job, Attempt: 1})
	result := expect[wire.Result](s)
	s.send(request(1, int64(len(got)), 16))
	if piece := expect[wire.Log](s); !piece.End || len(piece.Bytes) != 0 {
		t.Errorf("after the end: %+v", piece)
	}
	s.ackResult(result, wire.VerdictCanceled)
}

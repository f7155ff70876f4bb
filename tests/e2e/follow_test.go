package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// speakers: talk numbers its lines until it is released, slowly; flood writes as
// much as it can.
func (w *workshop) speakers() string {
	return fmt.Sprintf(`
[[runner]]
name = "talk"
argv = ["/bin/sh", "-c", "i=0; while [ -e %[1]s/hold ]; do i=$((i+1)); echo line $i; sleep 0.02; done; echo the end"]
[[runner]]
name = "flood"
argv = ["/bin/sh", "-c", "yes & while [ -e %[1]s/hold ]; do sleep 0.05; done; kill $!; wait; echo the end"]
`, w.Path(""))
}

func (u *tenant) speaker(name string, w *workshop) *rig.Agent {
	u.t.Helper()
	return rig.NewAgent(u.t, u.s, rig.AgentOptions{Name: u.name + "-" + name, License: u.license.LicenseCode, Slots: 2, More: w.speakers()})
}

// listener follows a job's log.
type listener struct {
	t     *testing.T
	lines *bufio.Reader
	ended chan error // once, when the log has
}

func (u *tenant) listen(client *backendtest.Client, job string) *listener {
	ctx, cancel := context.WithCancel(u.t.Context())
	r, w := io.Pipe()
	l := &listener{t: u.t, lines: bufio.NewReader(r), ended: make(chan error, 1)}
	go func() {
		err := client.FollowLog(ctx, job, w)
		_ = w.CloseWithError(err)
		l.ended <- err
	}()
	u.t.Cleanup(func() {
		cancel()
		_ = r.Close()
	})
	return l
}

// line waits for the next one.
func (l *listener) line() string {
	l.t.Helper()
	text, err := l.lines.ReadString('\n')
	if err != nil {
		l.t.Fatalf("after %q: %v", text, err)
	}
	return text
}

// talk demands the lines of the speaker from one to another.
func (l *listener) talk(from, to int) {
	l.t.Helper()
	for i := from; i <= to; i++ {
		if got, want := l.line(), fmt.Sprintf("line %d\n", i); got != want {
			l.t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestFollow_ALogIsReadWhileItIsWritten(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	job := u.submit(runner("talk"))
	first := u.listen(u.client, job.ID) // nothing runs yet
	u.speaker("1", w)
	first.talk(1, 40)
	second := u.listen(u.client, job.ID)
	second.talk(1, 60)
	first.talk(41, 80)
	if state := u.job(job.ID).State; state != "running" {
		t.Errorf("the job is %s while its log is read", state)
	}
	w.Release()
	rest, err := io.ReadAll(second.lines)
	if text := string(rest); err != nil || !strings.HasPrefix(text, "line 61\n") || !strings.HasSuffix(text, "\nthe end\n") {
		t.Errorf("the rest is %.50q…%q, %v", text, text[max(0, len(text)-50):], err)
	}
	if _, err := io.ReadAll(first.lines); err != nil {
		t.Errorf("the first one ended with %v", err)
	}
	u.await(job.ID, "succeeded")
	log, err := u.client.JobLog(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	ran := u.s.Run(t, u.token, "job", "logs", job.ID, "--follow")
	if ran.Code != 0 || ran.Out != log.Head+log.Tail || !strings.HasSuffix(ran.Out, "the end\n") {
		t.Errorf("afterwards: ended %d with %d bytes of %d: %s", ran.Code, len(ran.Out), log.Bytes, ran.Err)
	}
}

// A job that writes without end costs its node and the server nothing: who follows
// is told what is left out.
func TestFollow_AFloodCostsNoMemory(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.speaker("1", w)
	job := u.submit(runner("flood"))
	l := u.listen(u.client, job.ID)
	lines, gaps, before := 0, 0, int64(0)
	for gaps < 8 {
		switch text := l.line(); {
		case text == "y\n", text == "\n":
			lines++
		case strings.HasPrefix(text, "[rockpool: "):
			if gaps++; gaps == 1 {
				before = residentSet(t, a.PID())
			}
		case strings.HasSuffix(text, "y\n"): // a piece may begin within a line
		default:
			t.Fatalf("line %q", text)
		}
	}
	if grown := residentSet(t, a.PID()) - before; grown > 16<<20 {
		t.Errorf("the agent grew by %d KiB", grown>>10)
	}
	if lines < 30_000 {
		t.Errorf("%d lines beside %d gaps", lines, gaps)
	}
	w.Release()
	rest, err := io.ReadAll(l.lines)
	if err != nil || !strings.HasSuffix(string(rest), "the end\n") {
		t.Errorf("ended with %q, %v", rest[max(0, len(rest)-50):], err)
	}
}

// A node that is cut and comes back is asked from where the log stopped.
func TestFollow_GoesOnWhenTheNodeIsBack(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	job := u.submit()
	offer := n.Take(t)
	piece := func(offset int64, text string) wire.Log {
		return wire.Log{Job: offer.Job, Attempt: offer.Attempt, Stream: wire.LogOutput, Offset: offset, Bytes: []byte(text)}
	}
	l := u.listen(u.client, job.ID)
	if ask := rig.Hear[wire.LogRequest](t, n); ask.Offset != 0 || ask.Job != job.ID {
		t.Fatalf("asked %+v", ask)
	}
	n.Send(t, piece(0, "one\n"))
	if got := l.line(); got != "one\n" {
		t.Fatalf("got %q", got)
	}
	if ask := rig.Hear[wire.LogRequest](t, n); ask.Offset != 4 {
		t.Fatalf("asked %+v", ask)
	}
	n.Cut()
	n.Join(t)
	if ask := rig.Hear[wire.LogRequest](t, n); ask.Offset != 4 {
		t.Fatalf("asked %+v of the new session", ask)
	}
	n.Send(t, piece(4, "two\n"))
	if got := l.line(); got != "two\n" {
		t.Fatalf("got %q", got)
	}
	result := rig.Succeed(offer)
	result.Head, result.LogBytes = []byte("one\ntwo\nthree\n"), 14
	n.Report(t, result)
	// The request that is open is never answered: the result ends it all the same
	// once the node says so, or is gone.
	end := piece(8, "")
	end.End = true
	n.Send(t, end)
	if rest, err := io.ReadAll(l.lines); string(rest) != "three\n" || err != nil {
		t.Errorf("ended with %q, %v", rest, err)
	}
}

// A log that nobody asked for ends the session, and shows nobody anything.
func TestFollow_ALogThatNobodyAskedForEndsTheNodesSession(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	u.submit()
	offer := n.Take(t)
	n.Send(t, wire.Log{Job: offer.Job, Attempt: offer.Attempt, Stream: wire.LogOutput, Bytes: []byte("listen\n")})
	if code := n.Session().Ended(t); code != wire.CloseBadMessage {
		t.Errorf("closed %s", code)
	}
}

// A server that goes cuts the log, and the next one shows it from its beginning.
func TestFollow_ARestartOfTheServerCutsTheLog(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, enduring...)
	for _, stop := range []struct {
		name string
		end  func()
	}{{"killed", func() { s.Kill(t) }}, {"stopped", func() { s.Stop(t) }}} {
		t.Run(stop.name, func(t *testing.T) {
			u, w := newTenant(t, s), newWorkshop(t)
			a := u.speaker("1", w)
			job := u.submit(runner("talk"))
			l := u.listen(u.client, job.ID)
			l.talk(1, 10)
			stop.end()
			if _, err := io.ReadAll(l.lines); err == nil {
				t.Error("the log that was cut seems whole")
			}
			s.Start(t)
			a.AwaitLease(t, s, "ready")
			again := u.listen(u.client, job.ID)
			again.talk(1, 30)
			w.Release()
			if rest, err := io.ReadAll(again.lines); err != nil || !strings.HasSuffix(string(rest), "the end\n") {
				t.Errorf("ended with %q, %v", rest[max(0, len(rest)-50):], err)
			}
		})
	}
}

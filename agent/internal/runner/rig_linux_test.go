package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

// rig runs attempts of one runner.
type rig struct {
	*Set
	t     *testing.T
	dir   string
	pids  string // folder in which helpers say that they are there
	sink  *sink
	ended chan Done
	next  byte
}

// sink keeps what is handed over; the first errors are those of fails.
type sink struct {
	mu    sync.Mutex
	fails []error
	tries int
	kept  map[string]string // content by the output's name
	part  int64             // bytes that a try which fails leaves
	froms []int64           // where tries began
	onTry func()
}

func (s *sink) Offset(context.Context, nodecore.Ref, string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.part, nil
}

func (s *sink) Put(_ context.Context, _ nodecore.Ref, out wire.Output, from io.ReaderAt, offset int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	s.froms = append(s.froms, offset)
	if s.onTry != nil {
		s.onTry()
	}
	if len(s.fails) > 0 {
		err := s.fails[0]
		s.fails = s.fails[1:]
		return err
	}
	content, err := io.ReadAll(io.NewSectionReader(from, 0, out.Size+1))
	if err == nil && (digestOf(content) != out.Digest || int64(len(content)) != out.Size) {
		err = fmt.Errorf("%s is not what its description says", out.Name)
	}
	s.kept[out.Name] = string(content)
	return err
}

type artifacts map[string][]byte

type notThere struct{}

func (notThere) Error() string { return "404 not found" }
func (notThere) Final() bool   { return true }

func (a artifacts) Open(_ context.Context, digest string, offset int64) (io.ReadCloser, int64, error) {
	content, ok := a[digest]
	if !ok {
		return nil, 0, notThere{}
	}
	return io.NopCloser(bytes.NewReader(content[offset:])), offset, nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func newRig(t *testing.T, spec Spec, source artifacts) *rig {
	t.Helper()
	return newRigAs(t, t.TempDir(), spec, source, nil)
}

func newRigAt(t *testing.T, dir string, spec Spec, source artifacts) *rig {
	t.Helper()
	return newRigAs(t, dir, spec, source, nil)
}

// newRigAs runs jobs as another user, unless that is nil.
func newRigAs(t *testing.T, dir string, spec Spec, source artifacts, account *Account) *rig {
	t.Helper()
	book, err := NewBook([]Spec{spec}, Builtins{Enabled: []string{"checksum"}}, "cpu", append(os.Environ(), "SEEN=yes", "HIDDEN=no"))
	if err != nil {
		t.Fatal(err)
	}
	book.As(account)
	r := &rig{t: t, dir: dir, pids: t.TempDir(), sink: &sink{kept: map[string]string{}}, ended: make(chan Done, 16)}
	if account != nil { // who must be able to pass through
		if err := os.Chmod(filepath.Dir(r.dir), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	r.Set, err = New(Config{
		Book: book, Dir: filepath.Join(r.dir, "jobs"), Source: source, Sink: r.sink, InputLimit: 1 << 20,
		StopGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler), Done: func(d Done) { r.ended <- d },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !r.Close(patience) {
			t.Error("an attempt did not end")
		}
	})
	return r
}

// nothingLeft looks for what a job left in the folder of jobs.
func (r *rig) nothingLeft() {
	r.t.Helper()
	entries, err := os.ReadDir(r.Set.dir)
	if err != nil {
		r.t.Error(err)
	}
	for _, e := range entries {
		if e.Name() != notesFile && !strings.HasPrefix(e.Name(), sparePrefix) {
			r.t.Errorf("left in the folder of jobs: %s", e.Name())
		}
	}
}

// tool is a runner that calls the helper.
func tool(mode string, args ...string) Spec {
	return Spec{Name: "tool", Argv: append([]string{os.Args[0], "helper", mode}, args...)}
}

func (r *rig) offer(payload wire.Payload) (nodecore.Ref, wire.Offer) {
	r.next++
	ref := nodecore.Ref{Job: ids.JobID{15: r.next}, Attempt: 1}
	return ref, wire.Offer{Job: ref.Job.String(), Attempt: 1, App: "cam", Runner: "tool", Payload: payload}
}

func (r *rig) start(payload wire.Payload) nodecore.Ref {
	ref, offer := r.offer(payload)
	r.Start(ref, offer)
	return ref
}

// patience is how long a condition may take before a test gives up.
const patience = time.Minute

func (r *rig) wait() Done {
	r.t.Helper()
	select {
	case d := <-r.ended:
		if !d.Ran && !d.Stopped && d.Result.ExitCode != nil {
			r.t.Errorf("no program ran, and it ended with %d", *d.Result.ExitCode)
		}
		return d
	case <-time.After(patience):
		r.t.Fatalf("no attempt ended within %v", patience)
		return Done{}
	}
}

func (r *rig) run(payload wire.Payload) wire.Result {
	r.t.Helper()
	r.start(payload)
	return r.wait().Result
}

// running waits until so many helpers have said that they are there.
func running(t *testing.T, dir string, n int) []int {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == n {
			return pidsOf(t, entries)
		}
		select {
		case <-deadline.C:
			t.Fatalf("%d processes said that they are there, want %d", len(entries), n)
		case <-poll.C:
		}
	}
}

func pidsOf(t *testing.T, entries []os.DirEntry) (pids []int) {
	t.Helper()
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func mustBeDead(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if stat, ok := readStat(pid); ok && stat.lives() {
			t.Errorf("process %d survived in state %c", pid, stat.state)
		}
	}
}

func minutes(n int) settings.Duration { return settings.Duration(time.Duration(n) * time.Minute) }

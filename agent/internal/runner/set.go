package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// Config of a Set.
type Config struct {
	Book       *Book
	Dir        string // folder of the attempts' folders
	Source     Source // of inputs
	Sink       Sink   // of outputs
	InputLimit int64  // bytes of one input
	StopGrace  time.Duration
	Log        *slog.Logger
	// Done hears of every attempt's end, from a goroutine of the attempt's.
	Done func(Done)
}

// Done is an attempt's end: none of its processes lives.
type Done struct {
	Ref    nodecore.Ref
	Result wire.Result
	// Stopped: it was asked to end, and had not ended by itself before.
	Stopped bool
	// Ran: its program was started. Unstarted says why it could not be.
	Ran       bool
	Unstarted string
}

// Set is the attempts that run. Safe for concurrent use.
type Set struct {
	book       *Book
	cgroups    *cgroups
	folders    folders
	notes      *notes
	dir        string
	source     Source
	sink       Sink
	uploadTime time.Duration // for all outputs of an attempt
	inputLimit int64
	stopGrace  time.Duration
	log        *slog.Logger
	done       func(Done)

	mu      sync.Mutex
	running map[nodecore.Ref]*attempt
	group   sync.WaitGroup
	threads threads
}

// New makes the folder for attempts, kills what an earlier life of the agent left
// running, and removes what it left lying.
func New(cfg Config) (*Set, error) {
	if err := harden(); err != nil {
		return nil, err
	}
	dir, err := makeFolder(cfg.Dir)
	if err != nil {
		return nil, err
	}
	killed, err := ClearLeftovers(dir)
	if killed > 0 {
		cfg.Log.Warn("killed processes of an earlier life of this agent", "processes", killed)
	}
	if err != nil {
		cfg.Log.Warn("leftovers of earlier jobs can't be removed", "error", err)
	}
	if cfg.Book.account != nil { // who passes through, but nobody looks around
		if err := os.Chmod(dir, 0o711); err != nil {
			return nil, fmt.Errorf("open the folder of jobs to job_user: %w", err)
		}
	}
	return &Set{
		book: cfg.Book, cgroups: openCgroups(dir, cfg.Log), folders: folders{dir: dir, account: cfg.Book.account}, notes: openNotes(dir), dir: dir, source: cfg.Source, sink: cfg.Sink, uploadTime: uploadTime, inputLimit: cfg.InputLimit, stopGrace: cfg.StopGrace,
		log: cfg.Log, done: cfg.Done, running: map[nodecore.Ref]*attempt{},
	}, nil
}

// Start runs an attempt; Done tells its end. The caller starts an attempt once.
func (s *Set) Start(ref nodecore.Ref, offer wire.Offer) {
	a := &attempt{
		set: s, ref: ref, offer: offer, task: s.book.tasks[offer.Runner],
		dir: filepath.Join(s.dir, folderName(ref)),
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	s.mu.Lock()
	s.running[ref] = a
	s.mu.Unlock()
	s.group.Add(1)
	go func() {
		defer s.group.Done()
		defer a.stop()
		end := a.run()
		s.mu.Lock()
		delete(s.running, ref)
		s.mu.Unlock()
		s.done(end)
	}()
}

// SelfTest looks whether an attempt could be started: the runners' programs are
// there and pass their self-tests, and a folder of a job can be made and filled.
func (s *Set) SelfTest(ctx context.Context) error {
	if err := s.testFolder(); err != nil {
		return fmt.Errorf("make a job's folder: %w", err)
	}
	if err := s.book.checkPrograms(); err != nil {
		return err
	}
	return s.book.SelfTest(ctx)
}

// testFill is what a self-test writes: a disk that takes it takes a job's first files.
const testFill = 1 << 20

func (s *Set) testFolder() error {
	dir := filepath.Join(s.dir, "selftest")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "fill"), make([]byte, testFill), 0o600)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// Stop asks an attempt to end: TERM, the grace, KILL. Only the first call counts.
func (s *Set) Stop(ref nodecore.Ref, grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.running[ref]; a != nil && a.ctx.Err() == nil {
		a.grace = grace
		a.stop()
	}
}

// Close kills what still runs, and waits until all has ended: at most so long,
// for a process that hangs in the kernel. It reports whether all has ended.
func (s *Set) Close(within time.Duration) bool {
	s.mu.Lock()
	for _, a := range s.running {
		if a.ctx.Err() == nil {
			a.grace = 0
			a.stop()
		}
	}
	s.mu.Unlock()
	s.threads.close()
	ended := make(chan struct{})
	go func() {
		s.group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		s.folders.close()
		s.notes.close()
		return true
	case <-time.After(within):
		return false
	}
}

// Log gives at most limit bytes of a running attempt's log from an offset on, and
// where they begin: beyond the offset when what stood there is not kept. No bytes:
// there are none yet. runs is false of an attempt that does not run here.
func (s *Set) Log(ref nodecore.Ref, offset int64, limit int) (at int64, part []byte, runs bool) {
	s.mu.Lock()
	a := s.running[ref]
	s.mu.Unlock()
	if a == nil {
		return offset, nil, false
	}
	log := a.log.Load()
	if log == nil {
		return offset, nil, true
	}
	at, part = log.from(offset, limit)
	return at, part, true
}

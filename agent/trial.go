package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rockpool/agent/internal/runner"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// Trial is one run of a runner as a job would have it.
type Trial struct {
	Runner string
	Inputs map[string]string // files by the input's name
	Params map[string]string
	Keep   string // folder for the outputs; empty: they are dropped
}

// TestRunner runs the runner's self-test, and then the runner once, as a job of the
// control plane's would: the same folder, environment, limits and rules.
func TestRunner(ctx context.Context, cfg Config, trial Trial) (wire.Result, error) {
	book, err := cfg.book()
	if err != nil {
		return wire.Result{}, err
	}
	if !slices.Contains(book.Names(), trial.Runner) {
		return wire.Result{}, fmt.Errorf("there is no runner %q: declared are %q", trial.Runner, book.Names())
	}
	if err := book.SelfTest(ctx); err != nil {
		return wire.Result{}, err
	}
	files, err := openShelf(ctx, trial)
	if err != nil {
		return wire.Result{}, err
	}
	dir, err := os.MkdirTemp(cfg.JobDir, "rockpool-trial-")
	if err != nil {
		return wire.Result{}, fmt.Errorf("make a folder for the run: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if cfg.JobUser != "" { // who passes through, but nobody looks around
		if err := os.Chmod(dir, 0o711); err != nil {
			return wire.Result{}, fmt.Errorf("open the folder of the run to job_user: %w", err)
		}
	}
	return files.run(ctx, cfg, book, filepath.Join(dir, "jobs"), trial)
}

// run is one attempt, from its folder to its result.
func (s *shelf) run(ctx context.Context, cfg Config, book *runner.Book, dir string, trial Trial) (wire.Result, error) {
	done := make(chan runner.Done, 1)
	set, err := runner.New(runner.Config{
		Book: book, Dir: dir, Source: s, Sink: s, InputLimit: int64(cfg.InputLimit), StopGrace: time.Duration(cfg.StopGrace),
		Log: slog.New(slog.DiscardHandler), Done: func(d runner.Done) { done <- d },
	})
	if err != nil {
		return wire.Result{}, err
	}
	defer set.Close(time.Duration(cfg.StopGrace) + closeWait)
	ref := nodecore.Ref{Attempt: 1}
	_, _ = rand.Read(ref.Job[:]) // it never fails: the runtime ends the process instead
	payload := wire.Payload{Inputs: s.inputs, Params: pairs(trial.Params)}
	set.Start(ref, wire.Offer{Job: ref.Job.String(), Attempt: 1, Runner: trial.Runner, Payload: payload, Demands: wire.Capacity{Slots: 1}})
	select {
	case d := <-done:
		return d.Result, nil
	case <-ctx.Done():
		set.Stop(ref, time.Duration(cfg.StopGrace))
		return (<-done).Result, nil
	}
}

// shelf is where a trial's inputs come from and its outputs go.
type shelf struct {
	inputs []wire.Input
	files  map[string]string // paths by digest
	keep   string
}

func openShelf(ctx context.Context, trial Trial) (*shelf, error) {
	s := &shelf{files: map[string]string{}, keep: trial.Keep}
	for _, name := range slices.Sorted(maps.Keys(trial.Inputs)) {
		path := trial.Inputs[name]
		digest, size, err := runner.DigestFile(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		s.inputs = append(s.inputs, wire.Input{Name: name, Digest: digest, Size: size})
		s.files[digest] = path
	}
	return s, nil
}

// Open implements runner.Source: always from the beginning.
func (s *shelf) Open(_ context.Context, digest string, _ int64) (io.ReadCloser, int64, error) {
	file, err := os.Open(s.files[digest])
	return file, 0, err
}

// Offset implements runner.Sink: a copy that failed left nothing.
func (s *shelf) Offset(context.Context, nodecore.Ref, string) (int64, error) { return 0, nil }

// Put implements runner.Sink.
func (s *shelf) Put(_ context.Context, _ nodecore.Ref, out wire.Output, content io.ReaderAt, _ int64) error {
	if s.keep == "" {
		return nil
	}
	to, err := os.Create(filepath.Join(s.keep, out.Name))
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, io.NewSectionReader(content, 0, out.Size)); err != nil {
		_ = to.Close()
		return err
	}
	return to.Close()
}

package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
)

// Greeting is the first line that a load on demand prints, once it can begin.
type Greeting struct {
	Processes []int  `json:"processes"`          // whose CPU time, with their children's, is the load's
	Database  string `json:"database,omitempty"` // connection string of the owner, for probes and peers
	Postgres  int    `json:"postgres,omitempty"` // the process id of that database's first process
}

// OnDemand sets a stage up like Run, then makes a round for each line of in, which
// is its number of jobs, and prints it as a line of JSON: so that it can take turns
// with others. At the end of in it checks the books and prints them.
func OnDemand(ctx context.Context, o Options, in io.Reader, out io.Writer) (err error) {
	s, err := setStage(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = s.leave(ctx, err) }()
	answers := json.NewEncoder(out)
	if err := takeTurns(ctx, s, in, answers, s.round); err != nil {
		return err
	}
	books, err := s.audit(ctx)
	return errors.Join(err, answers.Encode(books))
}

// LatencyOnDemand is the same for Latency; there are no books.
func LatencyOnDemand(ctx context.Context, o LatencyOptions, in io.Reader, out io.Writer) (err error) {
	return o.onBench(ctx, func(b *bench) error { return takeTurns(ctx, b.stage, in, json.NewEncoder(out), b.turn) })
}

// takeTurns greets, and then does what each line asks for and prints what came of it.
func takeTurns[T any](ctx context.Context, s *stage, in io.Reader, answers *json.Encoder, turn func(context.Context, int) (T, error)) error {
	postmaster, err := s.server.postmaster()
	if err != nil {
		return err
	}
	hello := Greeting{Processes: []int{s.server.child.Process.Pid}, Database: s.server.database(), Postgres: postmaster}
	if err := answers.Encode(hello); err != nil {
		return fmt.Errorf("print the greeting: %w", err)
	}
	for line, err := range linesOf(ctx, in) {
		if err != nil {
			return err
		}
		jobs, err := strconv.Atoi(line)
		if err != nil || jobs < 1 || jobs > MostJobs {
			return fmt.Errorf("%q is no number of jobs from 1 to %d", line, MostJobs)
		}
		done, err := turn(ctx, jobs)
		if err != nil {
			return err
		}
		if err := answers.Encode(done); err != nil {
			return fmt.Errorf("print a round: %w", err)
		}
	}
	return nil
}

// linesOf reads lines until their end, or until ctx is over: the read that waits then
// ends with the process. What ends them before is their last.
func linesOf(ctx context.Context, in io.Reader) iter.Seq2[string, error] {
	type line struct {
		text string
		err  error
	}
	lines := make(chan line)
	go func() {
		defer close(lines)
		give := func(l line) bool {
			select {
			case lines <- l:
				return true
			case <-ctx.Done():
				return false
			}
		}
		scan := bufio.NewScanner(in)
		for scan.Scan() {
			if !give(line{text: scan.Text()}) {
				return
			}
		}
		if err := scan.Err(); err != nil {
			give(line{err: fmt.Errorf("read what to do: %w", err)})
		}
	}()
	return func(yield func(string, error) bool) {
		for {
			select {
			case l, ok := <-lines:
				if !ok || !yield(l.text, l.err) {
					return
				}
			case <-ctx.Done():
				yield("", ctx.Err())
				return
			}
		}
	}
}

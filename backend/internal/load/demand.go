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
	postmaster, err := s.server.postmaster()
	if err != nil {
		return err
	}
	answers := json.NewEncoder(out)
	hello := Greeting{Processes: []int{s.server.child.Process.Pid}, Database: s.server.database(), Postgres: postmaster}
	if err := answers.Encode(hello); err != nil {
		return fmt.Errorf("print the greeting: %w", err)
	}
	for line := range linesOf(ctx, in) {
		jobs, err := strconv.Atoi(line)
		if err != nil || jobs < 1 {
			return fmt.Errorf("%q is no number of jobs", line)
		}
		round, err := s.round(ctx, jobs)
		if err != nil {
			return err
		}
		if err := answers.Encode(round); err != nil {
			return fmt.Errorf("print a round: %w", err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	books, err := s.audit(ctx)
	return errors.Join(err, answers.Encode(books))
}

// linesOf reads lines until their end, or until ctx is over: the read that waits then
// ends with the process.
func linesOf(ctx context.Context, in io.Reader) iter.Seq[string] {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(in); scan.Scan(); {
			select {
			case lines <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return func(yield func(string) bool) {
		for {
			select {
			case line, ok := <-lines:
				if !ok || !yield(line) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

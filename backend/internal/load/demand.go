package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	defer func() { err = errors.Join(err, s.clear()) }()
	postmaster, err := s.server.postmaster()
	if err != nil {
		return err
	}
	answers := json.NewEncoder(out)
	hello := Greeting{Processes: []int{s.server.process.Process.Pid}, Database: s.server.database(), Postgres: postmaster}
	if err := answers.Encode(hello); err != nil {
		return fmt.Errorf("print the greeting: %w", err)
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		jobs, err := strconv.Atoi(lines.Text())
		if err != nil || jobs < 1 {
			return fmt.Errorf("%q is no number of jobs", lines.Text())
		}
		round, err := s.round(ctx, jobs)
		if err != nil {
			return err
		}
		if err := answers.Encode(round); err != nil {
			return fmt.Errorf("print a round: %w", err)
		}
	}
	books, err := s.audit(ctx)
	return errors.Join(err, answers.Encode(books))
}

// Command peers runs what Rockpool is measured beside: River on PostgreSQL, an
// embedded NATS server with JetStream, asynq with Redis. It is a module of its own,
// so that nobody who builds Rockpool needs theirs.
//
//	peers river-bulk|river-bulk-shipped|river-single|nats|nats-sync|asynq [--database URL]
//
// It speaks as `rockpool load --on-demand` does: first a line of JSON with the
// process ids whose CPU time, with their children's, is the peer's; then, for each
// line of standard input, which is a number of jobs, it takes so many through their
// whole life and prints how long that took. A job does nothing.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// peer takes jobs through their life.
type peer interface {
	// run returns when so many jobs are done, and how long they took, without what it
	// takes to begin and to stop.
	run(ctx context.Context, jobs int) (time.Duration, error)
	close() error
}

// peers are the ways to make one, by name.
var peers = map[string]func(ctx context.Context, database string) (peer, error){
	"river-bulk":         riverPeers(riverHasty, insertBulk),
	"river-bulk-shipped": riverPeers(riverShipped, insertBulk),
	"river-single":       riverPeers(riverHasty, insertSingle),
	"nats":               func(ctx context.Context, _ string) (peer, error) { return newNATS(ctx, false) },
	"nats-sync":          func(ctx context.Context, _ string) (peer, error) { return newNATS(ctx, true) },
	"asynq":              func(ctx context.Context, _ string) (peer, error) { return newAsynq(ctx) },
}

func main() {
	if err := play(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func play(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	if len(args) == 0 || peers[args[0]] == nil {
		return errors.New("name a peer: river-bulk, river-bulk-shipped, river-single, nats, nats-sync or asynq")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	database := flags.String("database", "", "connection string of a PostgreSQL where a database may be made")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	p, err := peers[args[0]](ctx, *database)
	if err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	answers := json.NewEncoder(out)
	if err := answers.Encode(map[string]any{"processes": []int{os.Getpid()}}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		jobs, err := strconv.Atoi(lines.Text())
		if err != nil || jobs < 1 {
			return fmt.Errorf("%q is no number of jobs", lines.Text())
		}
		took, err := p.run(ctx, jobs)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if err := answers.Encode(map[string]any{"jobs": jobs, "seconds": took.Seconds()}); err != nil {
			return err
		}
	}
	return lines.Err()
}

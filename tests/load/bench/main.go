// Command bench measures Rockpool's goals of speed, each beside a probe or a peer of
// the same minutes, and prints one table. docs/SPEED.md says what the goals mean.
//
//	bench [--quick] [--write FILE] [V1 V2 …]
//	bench growth [--write FILE] [agents|pools|queue|database …]
//	bench guard [--record]
//
// scripts/bench builds what it needs and runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"rockpool/tests/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(exitCode(run(ctx, os.Args[1:])))
}

// usageError is a command line that is wrong; nothing was measured.
type usageError struct{ error }

func exitCode(err error) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usageError{}):
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 64
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	return 1
}

func run(ctx context.Context, args []string) error {
	if len(args) > 1 && args[0] == "probe" { // bench itself, as a contender
		return load.PlayProbe(ctx, args[1], strings.Join(args[2:], " "), os.Stdin, os.Stdout)
	}
	b := &bench{ctx: ctx, out: os.Stdout}
	verb := "goals"
	if len(args) > 0 && (args[0] == "growth" || args[0] == "guard") {
		verb, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("bench "+verb, flag.ContinueOnError)
	flags.StringVar(&b.bin, "bin", "bin", "folder of the programs")
	flags.BoolVar(&b.quick, "quick", false, "little work and three rounds: whether it runs, and roughly where it stands")
	flags.StringVar(&b.write, "write", "", "put what is printed into this document too, between its marks")
	record := flags.Bool("record", false, "of guard: keep what was measured as what later ones are compared with")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	switch {
	case verb == "guard" && (flags.NArg() > 0 || b.quick || b.write != ""):
		return usageError{errors.New("guard knows --record alone")}
	case verb != "guard" && *record:
		return usageError{errors.New("--record belongs to guard")}
	case verb == "guard":
		return b.guard(*record)
	case verb == "growth":
		return b.growth(flags.Args())
	}
	return b.measure(flags.Args())
}

// choose finds the goals that are named; all of them without a name.
func choose(names []string) ([]goal, error) {
	if len(names) == 0 {
		return goals, nil
	}
	var chosen []goal
	for _, g := range goals {
		if slices.Contains(names, g.name) {
			chosen = append(chosen, g)
		}
	}
	for _, name := range names {
		if !slices.Contains(goalNames(), name) {
			return nil, usageError{fmt.Errorf("there is no goal %q: %s", name, strings.Join(goalNames(), ", "))}
		}
	}
	return chosen, nil
}

// measure measures the goals that are named and prints the table as it grows. What
// did not run is told at its end, and then nothing is written.
func (b *bench) measure(names []string) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	if err := tableMarks.check(b.write, b.quick, names); err != nil {
		return err
	}
	facts := b.facts()
	fmt.Fprintf(b.out, "%s\n\n%s\n", strings.Join(facts, "\n"), row(head))
	var table []line
	var failed []error
	for _, g := range chosen {
		lines, err := g.measure(b)
		if b.ctx.Err() != nil {
			return errors.Join(b.ctx.Err(), err)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", g.name, err))
			lines = append(lines, line{goal: g.name, what: "did not run"})
		}
		for i := range lines {
			lines[i].goal = g.name
		}
		b.print(lines)
		table = append(table, lines...)
	}
	if b.write != "" && failed == nil {
		return tableMarks.write(b.write, tableText(facts, table))
	}
	return errors.Join(failed...)
}

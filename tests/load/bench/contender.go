package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"rockpool/backend/backendtest"
)

// contender is a process that does a number of operations on demand: Rockpool, a
// peer or a probe.
type contender struct {
	name     string
	greeting greeting
	trees    []int // process ids whose CPU time, with their children's, is its own
	process  *exec.Cmd
	in       io.WriteCloser
	answers  *json.Decoder
}

// greeting is what it says once it can begin.
type greeting struct {
	Processes []int
	Database  string
	Postgres  int
}

// turn is one measured piece of work.
type turn struct {
	Jobs    int
	Seconds float64
	Result  quantiles // in milliseconds, where latency is measured
	micros  float64   // of CPU time an operation
}

func (t turn) rate() float64   { return float64(t.Jobs) / t.Seconds }
func (t turn) cpu() float64    { return t.micros }
func (t turn) result() float64 { return t.Result.P50 }

// stopWait is how long a program may take to end once it is interrupted.
const stopWait = 90 * time.Second

// command runs in a process group of its own, which is interrupted as soon as the
// bench is: with it go what it has started and left in its group.
func (b *bench) command(program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(b.ctx, program, args...)
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
	c.WaitDelay = stopWait
	return c
}

// contender runs a program and waits until it can begin. beside are further
// processes whose CPU time it causes.
func (b *bench) contender(name string, beside []int, program string, args ...string) (*contender, error) {
	c := &contender{name: name, process: b.command(program, args...)}
	in, err := c.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.process.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c.in, c.answers = in, json.NewDecoder(bufio.NewReader(out))
	if err := c.answers.Decode(&c.greeting); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), c.close())
	}
	c.trees = append(beside, c.greeting.Processes...)
	return c, nil
}

// take lets it do so many operations.
func (c *contender) take(n int) (t turn, err error) {
	before, err := c.spent()
	if err != nil {
		return t, err
	}
	if _, err := fmt.Fprintln(c.in, n); err != nil {
		return t, fmt.Errorf("%s: %w", c.name, err)
	}
	if err := c.answers.Decode(&t); err != nil {
		return t, fmt.Errorf("%s: %w", c.name, err)
	}
	after, err := c.spent()
	t.micros = float64((after - before).Microseconds()) / float64(n)
	return t, err
}

func (c *contender) spent() (sum time.Duration, err error) {
	for _, pid := range c.trees {
		t, err := backendtest.TreeTime(pid)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.name, err)
		}
		sum += t
	}
	return sum, nil
}

// close ends it. Rockpool compares its books before, and ends badly when they don't
// agree.
func (c *contender) close() error {
	_ = c.in.Close()
	if err := c.process.Wait(); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// entry is a contender with the operations of one turn.
type entry struct {
	*contender
	size int
}

// inTurns lets all of them work one after the other, again and again, after one turn
// of a fifth that is not counted. An interrupt ends the one that works.
func (b *bench) inTurns(rounds int, entries ...entry) ([][]turn, error) {
	turns := make([][]turn, len(entries))
	for i, e := range entries {
		if _, err := e.take(max(1, e.size/5)); err != nil {
			return nil, cmp.Or(b.ctx.Err(), err)
		}
		turns[i] = make([]turn, rounds)
	}
	for r := range rounds {
		for i, e := range entries {
			t, err := e.take(e.size)
			if err != nil {
				return nil, cmp.Or(b.ctx.Err(), err)
			}
			turns[i][r] = t
		}
	}
	return turns, nil
}

// median of what is said of each of a list.
func median[T any](list []T, say func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, item := range list {
		values[i] = say(item)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// ratio is the median, over the rounds, of what is said of ours to the same of theirs.
func ratio(ours, theirs []turn, say func(turn) float64) float64 {
	list := make([]float64, len(ours))
	for i := range ours {
		list[i] = say(ours[i]) / say(theirs[i])
	}
	return median(list, func(f float64) float64 { return f })
}

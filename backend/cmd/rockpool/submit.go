package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

// jobSubmit is a job in a file, in flags, or in a file that flags amend.
type jobSubmit struct {
	File          string            `short:"f" placeholder:"FILE" help:"The job as a REST document; - reads standard input. Flags amend it."`
	App           string            `placeholder:"APP" help:"App that the job belongs to."`
	Role          string            `placeholder:"ROLE" help:"Role of its node."`
	Runner        string            `placeholder:"RUNNER" help:"What runs it."`
	Input         map[string]string `mapsep:"none" placeholder:"NAME=FILE" help:"Input: a file, which is uploaded first, or a digest (sha256:…). Repeat for more."`
	Param         map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Parameter of the runner. Repeat for more."`
	Demand        map[string]int64  `mapsep:"none" placeholder:"NAME=N" help:"What it reserves: slots=N, memoryMib=N. Repeat for more."`
	Pool          string            `placeholder:"POOL" help:"Named pool of a canary job; for superadmins."`
	Backend       *string           `placeholder:"NAME" help:"Backend that its node must have."`
	Region        *string           `placeholder:"NAME" help:"Region that its node must be in."`
	Priority      *int32            `placeholder:"N" help:"0 to 100, high first."`
	MaxAttempts   *int32            `placeholder:"N" help:"Attempts at most."`
	OnNodeLost    string            `enum:",requeue,fail,hold" default:"" placeholder:"requeue|fail|hold" help:"What happens when its node is lost; hold: a person decides."`
	WhenExhausted string            `enum:",wait,fail" default:"" placeholder:"wait|fail" help:"What happens when no node can take it."`
	RunTimeout    *time.Duration    `placeholder:"10m" help:"How long it may run."`
	QueueTimeout  *time.Duration    `placeholder:"1h" help:"How long it may wait for a node, over all its attempts."`
	NotBefore     *time.Time        `placeholder:"2026-12-01T02:00:00Z" help:"Time before which it does not run."`
	RetryBackoff  *time.Duration    `placeholder:"1s" help:"Pause after an attempt that counted; doubled by each further one, 0s: none."`
	AvoidFailed   bool              `name:"avoid-failed-node" help:"Keep it from nodes on which an attempt of it ended without success."`
	Label         map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Label. Repeat for more."`

	Wait           optionalWait `placeholder:"30s" help:"Wait for the end, 30s or as long as --wait=DURATION says; exits 2, 3 or 4 when it did not succeed."`
	DryRun         bool         `help:"Say what would be decided; there is no job afterwards."`
	IdempotencyKey string       `placeholder:"KEY" help:"The same key again answers the same job (default: a new one)."`
}

// optionalWait is a flag with or without a value.
type optionalWait time.Duration

// Decode reads --wait and --wait=30s.
func (w *optionalWait) Decode(ctx *kong.DecodeContext) error {
	*w = optionalWait(defaultWait)
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	given, err := time.ParseDuration(ctx.Scan.Pop().String())
	if err != nil || given <= 0 {
		return errors.New("give a duration with its unit, such as 30s")
	}
	*w = optionalWait(given)
	return nil
}

// IsBool lets the flag stand without a value.
func (w *optionalWait) IsBool() bool { return true }

// Validate refuses what no job can have.
func (c *jobSubmit) Validate() error {
	if c.File == "" && (c.App == "" || c.Runner == "") {
		return errors.New("give the job with -f, or --app and --runner")
	}
	for name := range c.Demand {
		if name != "slots" && name != "memoryMib" {
			return fmt.Errorf("--demand %s: only slots and memoryMib can be reserved", name)
		}
	}
	return nil
}

// Run uploads the inputs, submits the job, and waits for its end when told to.
func (c *jobSubmit) Run(ctx context.Context, d *desk, server *client.Client) error {
	job, err := readDocument[rest.JobRequest](c.File, "job", d.in)
	if err != nil {
		return err
	}
	c.amend(&job)
	if err := c.upload(ctx, server, &job); err != nil {
		return err
	}
	if c.DryRun {
		return showCandidates(d)(server.TryJob(ctx, job))
	}
	submitted, err := server.SubmitJob(ctx, job, newKey(c.IdempotencyKey))
	if err != nil {
		return err
	}
	return showOrWait(ctx, d, server, submitted, c.Wait)
}

// newKey is the idempotency key that was given, or one of this call alone: its tries
// over a refusal that passes are one request.
func newKey(given string) string {
	if given == "" {
		return uuid.NewString()
	}
	return given
}

// readDocument reads a request's document from a file, - standard input, or takes an
// empty one when no file is named. An unknown key is refused.
func readDocument[T any](path, what string, stdin io.Reader) (T, error) {
	var document T
	if path == "" {
		return document, nil
	}
	text, err := readAll(path, stdin)
	if err != nil {
		return document, fmt.Errorf("read the %s: %w", what, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		return document, fmt.Errorf("the %s in %s: %w", what, path, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return document, fmt.Errorf("the %s in %s: one document, nothing behind it", what, path)
	}
	return document, nil
}

func readAll(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

// amend puts what the flags say over the job.
func (c *jobSubmit) amend(job *rest.JobRequest) {
	replace(&job.App, c.App)
	replace(&job.Role, c.Role)
	replace(&job.Runner, c.Runner)
	replace(&job.Pool, c.Pool)
	replace(&job.OnNodeLost, c.OnNodeLost)
	replace(&job.WhenExhausted, c.WhenExhausted)
	override(&job.Backend, c.Backend)
	override(&job.Region, c.Region)
	override(&job.Priority, c.Priority)
	override(&job.MaxAttempts, c.MaxAttempts)
	override(&job.RunTimeout, (*rest.Duration)(c.RunTimeout))
	override(&job.QueueTimeout, (*rest.Duration)(c.QueueTimeout))
	override(&job.RetryBackoff, (*rest.Duration)(c.RetryBackoff))
	override(&job.NotBefore, rest.AtPtr(c.NotBefore))
	job.AvoidFailedNode = job.AvoidFailedNode || c.AvoidFailed
	for name, value := range c.Param {
		put(&job.Params, name, rest.Scalar(value))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Label)) {
		job.Labels = append(job.Labels, rest.Pair{name, c.Label[name]})
	}
	c.amendDemands(job)
}

func (c *jobSubmit) amendDemands(job *rest.JobRequest) {
	if len(c.Demand) > 0 && job.Demands == nil {
		job.Demands = &rest.Demands{}
	}
	if n, ok := c.Demand["slots"]; ok {
		job.Demands.Slots = &n
	}
	if n, ok := c.Demand["memoryMib"]; ok {
		job.Demands.MemoryMib = &n
	}
}

func replace(into *string, flag string) {
	if flag != "" {
		*into = flag
	}
}

func override[T any](into **T, flag *T) {
	if flag != nil {
		*into = flag
	}
}

func put[V any](into *map[string]V, name string, value V) {
	if *into == nil {
		*into = map[string]V{}
	}
	(*into)[name] = value
}

// upload brings the --input files to the server and names their digests in the
// job. Only what stands on the command line is read from the disk: a job's
// document can't make the CLI send files.
func (c *jobSubmit) upload(ctx context.Context, server *client.Client, job *rest.JobRequest) error {
	for _, name := range slices.Sorted(maps.Keys(c.Input)) {
		digest := c.Input[name]
		if !client.IsDigest(digest) {
			kept, err := server.UploadFile(ctx, digest)
			if err != nil {
				return fmt.Errorf("input %s: %w", strconv.Quote(name), err)
			}
			digest = kept.Digest
		}
		put(&job.Inputs, name, digest)
	}
	return nil
}

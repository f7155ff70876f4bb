package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// Sink takes the content of outputs.
type Sink interface {
	// Put hands over a file as an output of the attempt; once it returns nil the
	// control plane has the whole of it. Errors are as those of Source.Open, and
	// may have a method StatusCode() int, as HTTP has it.
	Put(ctx context.Context, ref nodecore.Ref, out wire.Output, path string) error
}

const (
	uploadTime  = time.Hour // for all outputs of an attempt, the control plane's absence included
	uploadPause = 500 * time.Millisecond
	maxPause    = 30 * time.Second // to which it doubles
)

// handOver gives the outputs of a run that went well to the control plane. Only
// then may a result speak of them. The attempt keeps its slot meanwhile.
func (a *attempt) handOver(outputs []wire.Output) error {
	ctx, cancel := context.WithTimeout(a.ctx, a.set.uploadTime)
	defer cancel()
	for _, out := range outputs {
		err := a.put(ctx, out)
		switch {
		case a.ctx.Err() != nil:
			return errStopped
		case statusOf(err) == http.StatusRequestEntityTooLarge:
			return failed(causeOutputTooLarge, fmt.Sprintf("%s of %d bytes: %v", out.Name, out.Size, err))
		case err != nil:
			return failed(causeOutputFailed, fmt.Sprintf("%s could not be handed over: %v", out.Name, err))
		}
	}
	return nil
}

// put tries until it has worked, never will, or the time is up.
func (a *attempt) put(ctx context.Context, out wire.Output) error {
	path := filepath.Join(a.workDir(), out.Name)
	for pause := uploadPause; ; pause = min(2*pause, maxPause) {
		err := a.set.sink.Put(ctx, a.ref, out, path)
		if err == nil || isFinal(err) {
			return err
		}
		a.set.log.Warn("an output is not handed over: it is tried again", "job", a.ref.Job, "output", out.Name, "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

func isFinal(err error) bool {
	var final interface{ Final() bool }
	return errors.As(err, &final) && final.Final()
}

func statusOf(err error) int {
	var answer interface{ StatusCode() int }
	if errors.As(err, &answer) {
		return answer.StatusCode()
	}
	return 0
}

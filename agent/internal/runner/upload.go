package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// Sink takes the content of outputs.
type Sink interface {
	// Put hands over content from an offset on as an output of the attempt; once it
	// returns nil the control plane has the whole of it. Errors are as those of
	// Source.Open, and may have a method StatusCode() int, as HTTP has it.
	Put(ctx context.Context, ref nodecore.Ref, out wire.Output, content io.ReaderAt, offset int64) error
	// Offset asks how much of the file the control plane has got by a Put that failed.
	Offset(ctx context.Context, ref nodecore.Ref, digest string) (int64, error)
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

// put tries until it has worked, never will, or the time is up. What a try brought
// is not sent again.
func (a *attempt) put(ctx context.Context, out wire.Output) error {
	content := a.found[out.Name]
	offset := int64(0) // of a new attempt nothing is there
	var err error
	for pause := uploadPause; ; pause = min(2*pause, maxPause) {
		if err == nil {
			err = a.set.sink.Put(ctx, a.ref, out, content, offset)
		}
		if err == nil || isFinal(err) && statusOf(err) != http.StatusConflict { // of another offset
			return err
		}
		a.set.log.Warn("an output is not handed over: it is tried again", "job", a.ref.Job, "output", out.Name, "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		before := offset
		if offset, err = a.set.sink.Offset(ctx, a.ref, out.Digest); offset > before {
			pause = uploadPause / 2 // it moves
		}
		offset = min(offset, out.Size)
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

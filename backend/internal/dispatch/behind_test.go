package dispatch

import (
	"context"
	"errors"
	"slices"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// manyJobs are so many new ones that they go behind a batch that is under way.
func (w *world) manyJobs() []core.JobInsert {
	jobs := make([]core.JobInsert, behindRows)
	for i := range jobs {
		jobs[i] = w.job()
	}
	return jobs
}

// submitAll posts jobs in one event and gives their answers when there are any.
func (w *world) submitAll(jobs []core.JobInsert) <-chan error {
	answered := make(chan error, 1)
	go func() {
		_, err := w.loop.Submit(context.Background(), jobs)
		answered <- err
	}()
	return answered
}

// twoUnderWay holds two batches on their way: one of first, and one of many jobs.
func (w *world) twoUnderWay(first core.JobInsert) (one, two <-chan error) {
	w.Helper()
	w.holdCommits()
	one = w.submit(first)
	receive(w.T, "the first commit", w.db.began)
	two = w.submitAll(w.manyJobs())
	receive(w.T, "the second commit", w.db.began)
	return one, two
}

// release lets so many commits go on.
func (w *world) release(commits int) {
	for range commits {
		w.db.hold <- struct{}{}
	}
}

func (w *world) failNext(err error) {
	w.db.mu.Lock()
	defer w.db.mu.Unlock()
	w.db.fail = []error{err}
}

// sameAsTheDatabase compares the open jobs that memory has with the database's.
func (w *world) sameAsTheDatabase() {
	w.Helper()
	w.awaitDeciding()
	w.await("memory and database to agree", func(d *core.Dispatch) bool {
		if len(w.loop.inFlight) > 0 || w.loop.pending.effects.Durable() {
			return false
		}
		w.db.mu.Lock()
		defer w.db.mu.Unlock()
		for n := uint16(1); n <= w.jobs; n++ {
			id := ids.JobID{14: byte(n >> 8), 15: byte(n)}
			view, open := d.LiveJobState(id)
			row, there := w.db.jobs[id]
			if open != there || open && (stored(view.State) != stored(row.Row.State) || view.Attempt != row.Row.Attempt) {
				return false
			}
		}
		return true
	})
}

func TestLoop_ALargeBatchGoesBehindTheOneUnderWayAndAThirdGathers(t *testing.T) {
	w := newWorld(t, 4)
	one, two := w.twoUnderWay(w.job())
	three := w.submitAll(w.manyJobs())
	w.awaitQueued(behindRows)
	before := len(w.batchesOf(w.db))
	w.release(1)
	w.release(1)
	receive(t, "the third commit", w.db.began)
	w.release(1)
	for _, answered := range []<-chan error{one, two, three} {
		if err := receive(t, "an answer", answered); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int
	for _, b := range w.batchesOf(w.db)[before:] {
		sizes = append(sizes, len(b))
	}
	if !slices.Equal(sizes, []int{1, behindRows, behindRows}) {
		t.Errorf("batches of %v jobs", sizes)
	}
	w.sameAsTheDatabase()
}

func TestLoop_ABatchBehindOneThatFailsIsNothingAndTheLoadWaitsForBoth(t *testing.T) {
	w := newWorld(t, 4)
	w.failNext(errors.New("connection reset"))
	one, two := w.twoUnderWay(w.job())
	three := w.submit(w.job())
	w.awaitQueued(1)
	for len(w.db.loads) > 0 {
		<-w.db.loads
	}
	w.release(2)
	for _, answered := range []<-chan error{one, two, three} {
		if err := receive(t, "an answer", answered); !isCode(err, fleet.CodeUnavailable) {
			t.Errorf("error %v, want unavailable", err)
		}
	}
	receive(t, "a load", w.db.loads)
	w.sameAsTheDatabase()
	w.db.mu.Lock()
	if n := len(w.db.jobs); n != 0 {
		t.Errorf("%d jobs are in the database, want none", n)
	}
	w.db.mu.Unlock()
	w.free()
	if err := receive(t, "the answer", w.submit(w.job())); err != nil {
		t.Errorf("after the load: %v", err)
	}
}

// The job that the first batch is refused is canceled in the second, which was on its
// way already: the database knows no such job, and memory takes its word.
func TestLoop_ARefusalThatTheBatchBehindBuildsOnIsHealedByALoad(t *testing.T) {
	w := newWorld(t, 4)
	job := w.job()
	w.db.mu.Lock()
	w.db.refuse[job.Spec.ID] = core.RefusedAssignment
	w.db.mu.Unlock()
	w.holdCommits()
	one := w.submit(job)
	receive(t, "the first commit", w.db.began)
	canceled := make(chan error, 1)
	go func() {
		_, err := w.loop.Cancel(context.Background(), job.Spec.ID, "u:1", 0)
		canceled <- err
	}()
	w.await("the cancel gathering", func(*core.Dispatch) bool { return len(w.loop.pending.effects.Updates) == 1 })
	two := w.submitAll(w.manyJobs())
	receive(t, "the second commit", w.db.began)
	w.free()
	if err := receive(t, "the second answer", two); err != nil {
		t.Errorf("what had nothing to do with it: %v", err)
	}
	receive(t, "the cancel's answer", canceled)
	if err := receive(t, "the first answer", one); err != nil && !isCode(err, fleet.CodeUnavailable) {
		t.Errorf("the refused job: %v", err)
	}
	w.sameAsTheDatabase()
}

func TestLoop_FencedWithTwoUnderWayItEndsAndAnswersBoth(t *testing.T) {
	w := newWorld(t, 4)
	w.failNext(errFenced)
	one, two := w.twoUnderWay(w.job())
	w.release(2)
	for _, answered := range []<-chan error{one, two} {
		if err := receive(t, "an answer", answered); !isCode(err, fleet.CodeUnavailable) {
			t.Errorf("error %v, want unavailable", err)
		}
	}
	err := receive(t, "the loop's end", w.ran)
	w.ran <- err // for the cleanup
	if !errors.Is(err, errFenced) {
		t.Errorf("the loop ended with %v, want the fence", err)
	}
}

func TestLoop_AStopCommitsWhatGoesBehindAndWhatHasGathered(t *testing.T) {
	w := newWorld(t, 4)
	one, two := w.twoUnderWay(w.job())
	three := w.submit(w.job())
	w.awaitQueued(1)
	w.stop()
	w.release(3)
	for _, answered := range []<-chan error{one, two, three} {
		if err := receive(t, "an answer", answered); err != nil {
			t.Errorf("a job that was decided got %v", err)
		}
	}
}

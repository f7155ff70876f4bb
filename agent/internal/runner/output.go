package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"

	"rockpool/shared/wire"
)

// logEnd is the most of each end of the log that travels with a result.
const logEnd = 32 << 10

// output keeps what a job writes to stdout and stderr: the head and the tail in
// memory, the beginning on the disk up to a limit. More is counted and dropped;
// the job is never blocked.
type output struct {
	mu    sync.Mutex
	path  string   // of the file
	file  *os.File // nil: nothing is on the disk
	room  int64    // bytes that the file may still take
	total int64
	head  []byte
	tail  []byte // ring of the last bytes behind the head
	mark  int    // oldest byte of the ring, once it is full
	watch *watch // nil: nothing is looked for
}

// newOutput keeps a log at path, from its first byte on; its lines are held against
// refused unless nil.
func newOutput(path string, limit int64, refused *regexp.Regexp) *output {
	o := &output{path: path, room: limit}
	if refused != nil {
		o.watch = &watch{refused: refused}
	}
	return o
}

// Write never fails: a full disk costs the log, not the job.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(len(p))
	o.keepOnDisk(p)
	if o.watch != nil {
		o.watch.read(p)
	}
	rest := p
	if free := logEnd - len(o.head); free > 0 {
		n := min(free, len(rest))
		o.head = append(o.head, rest[:n]...)
		rest = rest[n:]
	}
	o.keepTail(rest)
	return len(p), nil
}

func (o *output) keepOnDisk(p []byte) {
	n := min(int64(len(p)), o.room)
	if n <= 0 {
		return
	}
	var err error
	if o.file == nil {
		o.file, err = os.OpenFile(o.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	}
	if err == nil {
		_, err = o.file.Write(p[:n])
	}
	if err != nil {
		o.room = 0
		return
	}
	o.room -= n
}

func (o *output) keepTail(p []byte) {
	if len(p) > logEnd {
		p = p[len(p)-logEnd:]
	}
	if n := min(logEnd-len(o.tail), len(p)); n > 0 {
		o.tail = append(o.tail, p[:n]...)
		p = p[n:]
	}
	for _, b := range p {
		o.tail[o.mark] = b
		o.mark = (o.mark + 1) % logEnd
	}
}

// ends puts the log into a result, in the room that the result's output leaves.
func (o *output) ends(r *wire.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.LogBytes = o.total
	each := min(logEnd, (wire.MaxResult-len(r.Output))/2)
	tail := o.unrolled()
	r.Head = o.head[:min(len(o.head), each)]
	r.Tail = tail[max(0, len(tail)-each):]
}

// from gives at most limit bytes of the log from an offset on, and where they
// begin: beyond the offset when what stood there is not in memory any more.
func (o *output) from(offset int64, limit int) (at int64, part []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if behind := int64(len(o.head)); offset < behind {
		return offset, slices.Clone(o.head[offset:min(behind, offset+int64(limit))])
	}
	oldest := o.total - int64(len(o.tail))
	offset = min(max(offset, oldest), o.total)
	tail := o.unrolled()[offset-oldest:]
	return offset, tail[:min(limit, len(tail))]
}

// last is the log's end, at most logEnd bytes of it.
func (o *output) last() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := append(slices.Clone(o.head), o.unrolled()...)
	return all[max(0, len(all)-logEnd):]
}

// refused is the first line that must not be there; empty: there is none.
func (o *output) refused() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watch == nil {
		return ""
	}
	if o.watch.found == "" {
		o.watch.over() // the last line may have no end
	}
	return o.watch.found
}

// unrolled is the ring in its order.
func (o *output) unrolled() []byte { return append(slices.Clone(o.tail[o.mark:]), o.tail[:o.mark]...) }

func (o *output) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// pipeBuffer is how much of a log is read at a time.
const pipeBuffer = 32 << 10

var pipeBuffers = sync.Pool{New: func() any { return new([pipeBuffer]byte) }}

// drain reads a pipe to its end.
func (o *output) drain(pipe *os.File, done chan<- struct{}) {
	defer close(done)
	buffer := pipeBuffers.Get().(*[pipeBuffer]byte)
	defer pipeBuffers.Put(buffer)
	var err error
	for n := 0; err == nil; {
		n, err = pipe.Read(buffer[:])
		_, _ = o.Write(buffer[:n])
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
		_, _ = fmt.Fprintf(o, "\n[rockpool: the log ended early: %v]\n", err)
	}
}

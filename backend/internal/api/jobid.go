package api

import (
	"crypto/rand"
	"encoding/binary"
	"sync"

	"rockpool/shared/ids"
)

// jobIDs makes UUIDv7s that rise strictly within this process: what follows the
// milliseconds is a counter, so that a batch keeps its order. A clock that goes
// back doesn't take the ids with it.
type jobIDs struct {
	now clock

	mu   sync.Mutex
	last uint64 // milliseconds << seqBits | counter
}

const seqBits = 12 // rand_a of RFC 9562

func newJobIDs(now clock) *jobIDs { return &jobIDs{now: now} }

func (j *jobIDs) next() ids.JobID {
	j.mu.Lock()
	j.last = max(j.last+1, uint64(j.now().UnixMilli())<<seqBits)
	at := j.last
	j.mu.Unlock()

	var id ids.JobID
	rand.Read(id[8:])
	binary.BigEndian.PutUint64(id[:8], at>>seqBits<<16|0x7000|at&(1<<seqBits-1))
	id[8] = id[8]&0x3f | 0x80
	return id
}

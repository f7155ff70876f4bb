package nodecore

import "slices"

// Handing in the spool.
const (
	page         = 64        // results that wait for an acknowledgement at one time
	pageBytes    = 512 << 10 // that they have together
	unknownBytes = 64 << 10  // what a result of an earlier life may have
	quickTries   = 8
	quickWait    = 2 * second
	slowWaitMax  = minute
)

// spooled is one result on the node's disk that no verdict has freed yet.
type spooled struct {
	ref   Ref
	bytes int
	tries int // in this session
	due   Time
}

// open reports a result that was sent lately and may be answered any moment. One
// that got no answer to its quick tries holds up nobody else.
func (e *spooled) open() bool { return e.tries > 0 && e.tries <= quickTries }

// spool decides the order in which results are handed in: oldest first, a page at
// a time, again and again until there is a verdict.
type spool struct {
	dice *dice
	list []spooled // oldest first
}

func (s *spool) has(ref Ref) bool { return s.index(ref) >= 0 }

func (s *spool) index(ref Ref) int {
	return slices.IndexFunc(s.list, func(e spooled) bool { return e.ref == ref })
}

func (s *spool) put(ref Ref, bytes int) {
	if !s.has(ref) {
		s.list = append(s.list, spooled{ref: ref, bytes: bytes})
	}
}

// free drops a result for which there is a verdict.
func (s *spool) free(ref Ref, verdict string, out *Effects) {
	if i := s.index(ref); i >= 0 {
		s.list = slices.Delete(s.list, i, i+1)
		out.Frees = append(out.Frees, Freed{Ref: ref, Verdict: verdict})
	}
}

// renew forgets what was sent: a new session is handed everything anew.
func (s *spool) renew() {
	for i := range s.list {
		s.list[i].tries, s.list[i].due = 0, 0
	}
}

// underWay is what may be answered any moment.
type underWay struct{ results, bytes int }

func (u *underWay) add(e *spooled) {
	u.results++
	u.bytes += e.bytes
}

// admits reports that one more is within a page.
func (u underWay) admits(e *spooled) bool {
	return u.results < page && u.bytes+e.bytes <= pageBytes
}

func (s *spool) underWay() (u underWay) {
	for i := range s.list {
		if e := &s.list[i]; e.open() {
			u.add(e)
		}
	}
	return u
}

// next is when send has something to do, provided that the session is live.
func (s *spool) next() Time {
	at, fresh := Never, (*spooled)(nil) // the oldest that was not sent
	for i := range s.list {
		switch e := &s.list[i]; {
		case e.tries > 0:
			at = min(at, e.due)
		case fresh == nil:
			fresh = e
		}
	}
	if fresh != nil && s.underWay().admits(fresh) {
		return 0
	}
	return at
}

// send hands in what is due.
func (s *spool) send(now Time, conn int64, out *Effects) {
	u, full := s.underWay(), false
	for i := range s.list {
		e := &s.list[i]
		if now < e.due {
			continue
		}
		if e.tries == 0 {
			if full = full || !u.admits(e); full {
				continue
			}
			u.add(e)
		}
		e.tries++
		e.due = now + s.pause(e.tries)
		out.Sends = append(out.Sends, Send{Kind: SendResult, Conn: conn, Ref: e.ref})
	}
}

// pause after the n-th try of a session.
func (s *spool) pause(n int) Time {
	if n < quickTries {
		return s.dice.around(quickWait)
	}
	longest := min(slowWaitMax, quickWait<<min(n-quickTries+1, 5))
	return longest/2 + s.dice.below(longest/2+1)
}

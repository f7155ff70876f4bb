package nodecore

import "slices"

// Handing in the spool.
const (
	page        = 8 // results that wait for an acknowledgement at one time
	quickTries  = 8
	quickWait   = 2 * second
	slowWaitMax = minute
)

// spooled is one result on the node's disk that no verdict has freed yet.
type spooled struct {
	ref   Ref
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

func (s *spool) put(ref Ref) {
	if !s.has(ref) {
		s.list = append(s.list, spooled{ref: ref})
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

// next is when send has something to do, provided that the session is live.
func (s *spool) next() Time {
	at, open := Never, 0
	for i := range s.list {
		if e := &s.list[i]; e.tries > 0 {
			at = min(at, e.due)
			if e.open() {
				open++
			}
		}
	}
	if open < page && slices.ContainsFunc(s.list, func(e spooled) bool { return e.tries == 0 }) {
		return 0
	}
	return at
}

// send hands in what is due.
func (s *spool) send(now Time, conn int64, out *Effects) {
	open := 0
	for i := range s.list {
		if s.list[i].open() {
			open++
		}
	}
	for i := range s.list {
		e := &s.list[i]
		fresh := e.tries == 0
		if now < e.due || fresh && open >= page {
			continue
		}
		if fresh {
			open++
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

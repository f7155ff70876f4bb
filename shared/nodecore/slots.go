package nodecore

import "slices"

// Why an offer is declined, and why a node is not accepting.
const (
	ReasonNoSlot        = "no_slot"
	ReasonUnknownRunner = "unknown_runner"
	ReasonWrongBackend  = "wrong_backend"
	ReasonStopping      = "stopping"
	ReasonStartsFailing = "starts_failing" // programs can't be started here
	ReasonSpoolFull     = "spool_full"
	ReasonSpoolFailing  = "spool_failing" // results can't be written to the disk
	ReasonStateFailing  = "state_failing" // nor what a welcome brought
	ReasonDiskFull      = "disk_full"
)

// maxDone is how many ended attempts are remembered, so that a repeated offer or
// start of one of them does nothing.
const maxDone = 128

// attempt is what the node holds of one attempt.
type attempt struct {
	ref   Ref
	slots int // 0 once it has ended
	phase Phase
	due   Time     // accepted: forgotten then. Ended: written to the spool again then
	as    ReportAs // why it was stopped, or ReportAsIs
	void  bool     // the server wants to hear nothing of it any more
}

// slots is the attempt machine: what is accepted, runs, stops and has ended, in
// the order of acceptance. Used never exceeds total.
type slots struct {
	total int
	used  int
	work  []attempt
	done  []Ref // ring of the last maxDone that left work
	mark  int   // where the ring goes on
}

func (s *slots) find(ref Ref) *attempt {
	for i := range s.work {
		if s.work[i].ref == ref {
			return &s.work[i]
		}
	}
	return nil
}

// known reports an attempt that is here or was here lately.
func (s *slots) known(ref Ref) bool { return s.find(ref) != nil || slices.Contains(s.done, ref) }

// take accepts an attempt, or reports that its slots are not free.
func (s *slots) take(ref Ref, demand int, due Time) bool {
	demand = max(demand, 1)
	if demand > s.total-s.used {
		return false
	}
	s.used += demand
	s.work = append(s.work, attempt{ref: ref, slots: demand, phase: PhaseAccepted, due: due})
	return true
}

// start lets an accepted attempt run. Everything else than accepted stays as it is.
func (s *slots) start(ref Ref, out *Effects) {
	if a := s.find(ref); a != nil && a.phase == PhaseAccepted {
		a.phase, a.due = PhaseRunning, Never
		out.Starts = append(out.Starts, ref)
	}
}

// stop asks a running attempt to end, once.
func (s *slots) stop(a *attempt, as ReportAs, grace Time, out *Effects) {
	if a.phase != PhaseRunning {
		return
	}
	a.phase, a.as = PhaseStopping, as
	out.Stops = append(out.Stops, Stop{Ref: a.ref, Grace: max(grace, 0)})
}

// cancel ends an attempt that has not ended: a running one is stopped, one that
// never started reports so at once.
func (s *slots) cancel(ref Ref, grace Time, out *Effects) {
	a := s.find(ref)
	switch {
	case a == nil:
	case a.phase == PhaseAccepted:
		a.as = ReportCanceled
		s.end(a, out)
	default:
		s.stop(a, ReportCanceled, grace, out)
	}
}

// voided forgets an attempt; a running one is stopped first.
func (s *slots) voided(ref Ref, grace Time, out *Effects) {
	a := s.find(ref)
	switch {
	case a == nil || a.phase == PhaseEnded:
		// A result on its way to the spool is handed in: the server judges it.
	case a.phase == PhaseAccepted:
		s.forget(ref, out)
	default:
		a.void = true
		s.stop(a, ReportCanceled, grace, out)
	}
}

// finished notes that none of the attempt's processes lives any more. Stopped
// says that they were asked to end and did not end by themselves before.
func (s *slots) finished(ref Ref, stopped bool, out *Effects) {
	a := s.find(ref)
	if a == nil || a.phase != PhaseRunning && a.phase != PhaseStopping {
		return
	}
	if a.void {
		s.forget(ref, out)
		return
	}
	if !stopped {
		a.as = ReportAsIs
	}
	s.end(a, out)
}

// end frees the slots and has the result written.
func (s *slots) end(a *attempt, out *Effects) {
	s.used -= a.slots
	a.slots, a.phase, a.due = 0, PhaseEnded, Never
	out.Reports = append(out.Reports, Report{Ref: a.ref, As: a.as})
}

// stored takes an ended attempt out: the spool has its result.
func (s *slots) stored(ref Ref) bool {
	if a := s.find(ref); a == nil || a.phase != PhaseEnded {
		return false
	}
	s.remove(ref)
	return true
}

// storeFailed plans the next try to write a result.
func (s *slots) storeFailed(ref Ref, due Time) {
	if a := s.find(ref); a != nil && a.phase == PhaseEnded {
		a.due = due
	}
}

func (s *slots) forget(ref Ref, out *Effects) {
	s.remove(ref)
	out.Forgets = append(out.Forgets, ref)
}

func (s *slots) remove(ref Ref) {
	i := slices.IndexFunc(s.work, func(a attempt) bool { return a.ref == ref })
	s.used -= s.work[i].slots
	s.work = slices.Delete(s.work, i, i+1)
	if len(s.done) < maxDone {
		s.done = append(s.done, ref)
		return
	}
	s.done[s.mark] = ref
	s.mark = (s.mark + 1) % maxDone
}

// next is the earliest time at which advance has something to do.
func (s *slots) next() Time {
	at := Never
	for i := range s.work {
		at = min(at, s.work[i].due)
	}
	return at
}

// advance frees accepted attempts whose start never came and writes results again
// that could not be written.
func (s *slots) advance(now Time, out *Effects) {
	for i := len(s.work) - 1; i >= 0; i-- {
		a := &s.work[i]
		switch {
		case now < a.due:
		case a.phase == PhaseAccepted:
			out.note("attempt given up: it was accepted and its start never came: " + a.ref.Job.String())
			s.forget(a.ref, out)
		case a.phase == PhaseEnded:
			a.due = Never
			out.Reports = append(out.Reports, Report{Ref: a.ref, As: a.as})
		}
	}
}

// failing reports that a result could not be written to the disk and waits.
func (s *slots) failing() bool {
	return slices.ContainsFunc(s.work, func(a attempt) bool { return a.phase == PhaseEnded && a.due != Never })
}

// list is what hello and heartbeats say: all that has not ended.
func (s *slots) list() []Work {
	var list []Work
	for i := range s.work {
		if a := &s.work[i]; a.phase != PhaseEnded {
			list = append(list, Work{Ref: a.ref, Phase: a.phase})
		}
	}
	return list
}

// ended counts the attempts whose results are on their way to the spool.
func (s *slots) ended() (n int) {
	for i := range s.work {
		if s.work[i].phase == PhaseEnded {
			n++
		}
	}
	return n
}

package nodecore

// holdAfter is how many attempts in a row could not be started when a node takes no
// work any more: whatever it would take, it could not start.
const holdAfter = 3

// End is how an attempt came to its end. One that was asked to end, or whose
// payload did not fit, tells nothing about starts: it sets neither Ran nor Unstarted.
type End struct {
	Stopped   bool   // it was asked to end, and did not end by itself before
	Ran       bool   // its program was started
	Unstarted string // why its program could not be started; empty: it could, or it did not come to that
}

// selfHold counts starts that failed one after the other. At the third the node
// takes no new work until a self-test passes, or its process begins anew.
type selfHold struct {
	wait     Time // from one self-test to the next
	failures int
	why      string // the newest failure, or what the newest self-test said
	testAt   Time   // held: test then. Never: not held, or a test is under way
}

func (h *selfHold) held() bool { return h.failures >= holdAfter }

// learn counts an attempt's end.
func (h *selfHold) learn(now Time, end End, out *Effects) {
	switch {
	case h.held(): // what was under way before changes nothing: the test decides
	case end.Ran:
		h.failures = 0
	case end.Unstarted != "":
		h.failures++
		h.why = end.Unstarted
		if h.held() {
			h.testAt = now + h.wait
			out.alert("no new work is taken: three attempts in a row could not be started; a self-test that passes ends that, or a restart: " + h.why)
		}
	}
}

// advance asks for the self-test that is due.
func (h *selfHold) advance(now Time, out *Effects) {
	if now >= h.testAt {
		h.testAt = Never
		out.SelfTest = true
	}
}

// tested ends the hold, or keeps it until the next one. Why is empty when the test
// has passed.
func (h *selfHold) tested(now Time, why string, out *Effects) {
	switch {
	case !h.held() || h.testAt != Never: // nobody has asked
	case why == "":
		h.failures, h.why = 0, ""
		out.note("the self-test passed: new work is taken again")
	default:
		h.why, h.testAt = why, now+h.wait
	}
}

// SelfTested tells what came of the self-test; why it failed, or empty.
func (n *Node) SelfTested(now Time, why string, out *Effects) {
	if n.advance(now, out) {
		n.hold.tested(now, why, out)
		n.settle(now, out)
	}
}

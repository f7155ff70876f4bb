package nodecore

// Effects is what a run of events wants done. The driver carries out its lists
// in the order of the fields; an order within a list is to be kept.
type Effects struct {
	Welcomed []Registration // store these: the node is enrolled and has a new session
	Sends    []Send         // messages to the control plane
	Hangups  []Hangup       // close these connections, after what was sent on them
	Starts   []Ref          // run these attempts
	Stops    []Stop         // end these: TERM, grace, KILL until none of the group lives
	Reports  []Report       // write these results to the spool
	Forgets  []Ref          // drop offer, work directory and result of these
	Frees    []Freed        // remove these from the spool
	Dials    []Dial         // dial; at most one is open at a time
	Notes    []Note         // for the log
	SelfTest bool           // look whether work can be started here
	Exit     bool           // all is done: end the process
}

// Reset empties the lists and keeps their memory.
func (e *Effects) Reset() {
	e.Welcomed, e.Sends, e.Hangups, e.Starts, e.Stops = e.Welcomed[:0], e.Sends[:0], e.Hangups[:0], e.Starts[:0], e.Stops[:0]
	e.Reports, e.Forgets, e.Frees, e.Dials, e.Notes = e.Reports[:0], e.Forgets[:0], e.Frees[:0], e.Dials[:0], e.Notes[:0]
	e.SelfTest, e.Exit = false, false
}

// Dial asks for one connection; Conn numbers it in all later events. It must
// have answered after Timeout.
type Dial struct {
	Conn    int64
	Timeout Time
}

// Hangup ends a connection, and a dial that is still under way. Gently: with a
// close frame after what was sent before.
type Hangup struct {
	Conn   int64
	Gently bool
	Why    string
}

// Registration is what a welcome taught. Remembered tells what came of storing it.
type Registration struct {
	NodeID string
	Epoch  int64
	Chain  string // what the next hello says; empty: the control plane gave none, and the old one stays
}

// SendKind tells what a Send carries.
type SendKind uint8

// What a node sends.
const (
	SendHello SendKind = iota
	SendHeartbeat
	SendAccept
	SendDecline
	SendResult // from the spool
	SendGoodbye
	SendRotated
	SendInventory
)

// Send is one message on one connection. Only the fields of its kind are set.
type Send struct {
	Kind   SendKind
	Conn   int64
	Ref    Ref    // accept, decline, result
	Reason string // decline
	State  State  // hello, heartbeat
	Chain  string // hello
	ID     string // rotated
}

// State is what is true of the node now. Reason says why it is not accepting.
type State struct {
	Accepting bool
	Reason    string
	Work      []Work
	Spooled   int // results that are not acknowledged, those still on their way to the disk among them
	// RoundTrip is how long the newest answer to a heartbeat took, 1 at least; 0: the
	// session has none.
	RoundTrip Time
	// Unsaved: what the welcome brought is not on the disk, and the heartbeat is no
	// word that it is.
	Unsaved bool
}

// Work is one line of what a node holds: accepted, running or stopping.
type Work struct {
	Ref   Ref
	Phase Phase
}

// Stop asks for the end of one attempt's processes. There is one for an attempt.
type Stop struct {
	Ref   Ref
	Grace Time
}

// ReportAs says what a result is to say.
type ReportAs uint8

// Usually a result says what happened. An attempt that was stopped reports why
// it was stopped instead.
const (
	ReportAsIs ReportAs = iota
	ReportCanceled
	ReportShutdown // failed, node_shutting_down
)

// Report asks for an attempt's result to be written to the spool. An attempt that
// never started has no result of its own: the driver writes an empty one.
type Report struct {
	Ref Ref
	As  ReportAs
}

// Freed is a result that needs no more sending, and the verdict on it.
type Freed struct {
	Ref     Ref
	Verdict string
}

// Note is one line for the log. Attention marks what an owner should read.
type Note struct {
	Text      string
	Attention bool
}

func (e *Effects) note(text string)  { e.Notes = append(e.Notes, Note{Text: text}) }
func (e *Effects) alert(text string) { e.Notes = append(e.Notes, Note{Text: text, Attention: true}) }

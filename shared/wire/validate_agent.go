package wire

import (
	"fmt"

	"rockpool/shared/ids"
)

// Validate cleans the texts for people in place and checks every field of what an
// agent says; an error is a *BadMessage and names the field. Decode calls it; a
// sender may, before it stores what it will send later.
func (m *Hello) Validate() error {
	c := checker{kind: TypeHello}
	c.optionalName("node_id", m.NodeID)
	c.within("proto_min", m.ProtoMin, 0, maxProto)
	c.within("proto_max", m.ProtoMax, m.ProtoMin, maxProto)
	m.AgentVersion = CleanText(m.AgentVersion, MaxID)
	m.OS = CleanText(m.OS, MaxID)
	m.Arch = CleanText(m.Arch, MaxID)
	c.optionalToken("machine_id", m.MachineID, MaxID)
	c.token("boot_id", m.BootID, MaxID)
	c.count("last_epoch", m.LastEpoch)
	c.chain(m.Chain)
	c.name("role", m.Role)
	c.optionalName("region", m.Region)
	c.endpoints(m.Endpoints)
	c.optionalName("backend", m.Backend)
	c.capacity("capacity", m.Capacity)
	c.runners(m.Runners)
	c.labels(m.Labels)
	c.running(m.Running)
	c.count("spooled", m.Spooled)
	return c.err()
}

const maxProto = 1<<16 - 1

func (c *checker) endpoints(list []Pair) {
	c.list("endpoints", len(list), MaxPairs)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		c.token(item("endpoints", i)+".n", list[i].Name, ids.MaxName)
		c.endpoint(item("endpoints", i)+".v", list[i].Value)
	}
}

func (c *checker) runners(list []string) {
	c.list("runners", len(list), MaxRunners)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		c.name(item("runners", i), list[i])
	}
}

// labels demands short names; values are texts for people. Reserved names are no
// error: the control plane drops them and leaves an audit entry.
func (c *checker) labels(list []Pair) {
	c.list("labels", len(list), MaxPairs)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		name := list[i].Name
		if name == "" || len(name) > MaxID || CleanText(name, MaxID) != name {
			c.fail(item("labels", i)+".n", fmt.Sprintf("must be 1..%d visible characters", MaxID))
		}
		list[i].Value = CleanText(list[i].Value, MaxText)
	}
}

func (c *checker) running(list []RunningWork) {
	c.list("running", len(list), MaxRunning)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		if w := list[i]; !w.plausible() {
			at := item("running", i) + "."
			c.attempt(at, w.Job, w.Attempt)
			oneOf(c, at+"phase", w.Phase, PhaseAccepted, PhaseRunning, PhaseStopping)
			c.within(at+"percent", w.Percent, 0, 100)
		}
	}
}

// plausible is the check of one line without the cost of naming its fields.
func (w RunningWork) plausible() bool {
	_, err := ids.ParseJobID(w.Job)
	phase := w.Phase == PhaseAccepted || w.Phase == PhaseRunning || w.Phase == PhaseStopping
	return err == nil && phase && w.Attempt >= 1 && w.Attempt <= maxAttempt && w.Percent >= 0 && w.Percent <= 100
}

// Validate cleans and checks; see Hello.Validate.
func (m *Heartbeat) Validate() error {
	c := checker{kind: TypeHeartbeat}
	m.Reason = CleanText(m.Reason, MaxText)
	c.running(m.Running)
	c.count("spooled", m.Spooled)
	c.list("health.reasons", len(m.Health.Reasons), MaxHolds)
	for i, r := range m.Health.Reasons {
		m.Health.Reasons[i] = CleanText(r, MaxText)
	}
	c.count("load", m.LoadMilli)
	c.count("memory", m.MemoryMiB)
	c.count("round_trip", m.RoundTrip)
	c.count("at", m.At)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *Accept) Validate() error {
	c := checker{kind: TypeAccept}
	c.attempt("", m.Job, m.Attempt)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *Decline) Validate() error {
	c := checker{kind: TypeDecline}
	c.attempt("", m.Job, m.Attempt)
	m.Reason = CleanText(m.Reason, MaxText)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *Progress) Validate() error {
	c := checker{kind: TypeProgress}
	c.attempt("", m.Job, m.Attempt)
	c.within("percent", m.Percent, 0, 100)
	m.Note = CleanText(m.Note, MaxText)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate. Output and the log's ends are
// data: they are bounded, not cleaned. An agent calls it before it spools a
// result, because a result that is refused would come back for ever.
func (m *Result) Validate() error {
	c := checker{kind: TypeResult}
	c.attempt("", m.Job, m.Attempt)
	oneOf(&c, "status", m.Status, ResultSucceeded, ResultFailed, ResultTimedOut, ResultCanceled)
	c.optionalToken("reason", m.Reason, MaxID)
	m.Detail = CleanText(m.Detail, MaxDetail)
	if m.ExitCode != nil {
		c.within("exit_code", *m.ExitCode, -1<<31, 1<<32-1)
	}
	if size := len(m.Output) + len(m.Head) + len(m.Tail); size > MaxResult {
		c.fail("output", fmt.Sprintf("output, head and tail have %d bytes, at most %d travel in a result", size, MaxResult))
	}
	c.count("log_bytes", m.LogBytes)
	c.list("outputs", len(m.Outputs), MaxFiles)
	for i := 0; i < len(m.Outputs) && c.bad == nil; i++ {
		c.file(item("outputs", i), m.Outputs[i].Name, m.Outputs[i].Digest, m.Outputs[i].Size)
	}
	c.count("fetch_ms", m.FetchMs)
	c.count("run_ms", m.RunMs)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate. The bytes are data: they are
// bounded, not cleaned.
func (m *Log) Validate() error {
	c := checker{kind: TypeLog}
	c.attempt("", m.Job, m.Attempt)
	oneOf(&c, "stream", m.Stream, LogOutput)
	c.within("offset", m.Offset, 0, MaxInteger-MaxLog)
	if len(m.Bytes) > MaxLog {
		c.fail("bytes", fmt.Sprintf("has %d bytes, at most %d travel in a message", len(m.Bytes), MaxLog))
	}
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *Goodbye) Validate() error {
	c := checker{kind: TypeGoodbye}
	oneOf(&c, "kind", m.Kind, GoodbyeStop, GoodbyeUpgrade, GoodbyeLeft)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *Error) Validate() error {
	c := checker{kind: TypeError}
	c.token("code", m.Code, MaxID)
	m.Detail = CleanText(m.Detail, MaxDetail)
	c.count("retry_after_ms", m.RetryAfterMs)
	return c.err()
}

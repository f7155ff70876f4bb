package wire

import "rockpool/shared/ids"

// An agent doesn't trust its server blindly either: whoever answers on a stolen
// name gets no further than these bounds.

// Validate cleans and checks; see Hello.Validate.
func (m *Welcome) Validate() error {
	c := checker{kind: TypeWelcome}
	c.within("proto", m.Proto, 1, maxProto)
	c.name("node_id", m.NodeID)
	c.within("epoch", m.Epoch, 1, MaxInteger)
	c.chain(m.Chain)
	c.within("limits.frame", m.Limits.Frame, 1<<10, 16<<20)
	c.within("limits.string", m.Limits.String, 1<<10, 16<<20)
	c.within("limits.list", m.Limits.List, 16, 1<<20)
	c.within("times.heartbeat", m.Times.Heartbeat, 10, 3_600_000)
	c.within("times.suspect", m.Times.Suspect, m.Times.Heartbeat, 3_600_000)
	c.within("times.lost", m.Times.Lost, m.Times.Suspect, 3_600_000)
	c.within("times.redial_window", m.Times.RedialWindow, 0, 3_600_000)
	c.optionalName("pool", m.Pool)
	c.holds(m.Holds)
	c.refs("void", m.Void)
	return c.err()
}

func (c *checker) holds(list []Hold) {
	c.list("holds", len(list), MaxHolds)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		c.token(item("holds", i)+".kind", list[i].Kind, MaxID)
		c.token(item("holds", i)+".owner", list[i].Owner, MaxID)
		list[i].Reason = CleanText(list[i].Reason, MaxText)
	}
}

func (c *checker) refs(field string, list []AttemptRef) {
	c.list(field, len(list), MaxRefs)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		c.attempt(item(field, i)+".", list[i].Job, list[i].Attempt)
	}
}

// Validate cleans and checks; see Hello.Validate.
func (m *Refused) Validate() error {
	c := checker{kind: TypeRefused}
	c.token("code", m.Code, MaxID)
	m.Detail = CleanText(m.Detail, MaxDetail)
	c.count("retry_after_ms", m.RetryAfterMs)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *HeartbeatAck) Validate() error {
	c := checker{kind: TypeHeartbeatAck}
	c.within("lease_ms", m.LeaseMs, 0, 3_600_000)
	c.holds(m.Holds)
	c.list("cancel", len(m.Cancel), MaxRefs)
	for i := 0; i < len(m.Cancel) && c.bad == nil; i++ {
		c.attempt(item("cancel", i)+".", m.Cancel[i].Job, m.Cancel[i].Attempt)
		c.within(item("cancel", i)+".grace_ms", m.Cancel[i].GraceMs, 0, maxGraceMs)
	}
	c.refs("void", m.Void)
	if m.Reconnect != nil {
		c.within("reconnect.delay_ms", m.Reconnect.DelayMs, 0, 3_600_000)
	}
	return c.err()
}

// maxGraceMs bounds the time between TERM and KILL: a day.
const maxGraceMs = 86_400_000

// Validate cleans and checks; see Hello.Validate. Parameters are data for the
// runner, which types and bounds them: only their names are checked here.
func (m *Offer) Validate() error {
	c := checker{kind: TypeOffer}
	c.attempt("", m.Job, m.Attempt)
	c.name("app", m.App)
	c.name("runner", m.Runner)
	c.optionalName("backend", m.Backend)
	c.list("payload.params", len(m.Payload.Params), MaxFiles)
	for i := 0; i < len(m.Payload.Params) && c.bad == nil; i++ {
		c.token(item("payload.params", i)+".n", m.Payload.Params[i].Name, ids.MaxName)
	}
	c.list("payload.inputs", len(m.Payload.Inputs), MaxFiles)
	for i := 0; i < len(m.Payload.Inputs) && c.bad == nil; i++ {
		in := m.Payload.Inputs[i]
		c.file(item("payload.inputs", i), in.Name, in.Digest, in.Size)
	}
	c.capacity("demands", m.Demands)
	c.count("limits.run_ms", m.Limits.RunMs)
	c.count("deadline_ms", m.DeadlineMs)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *Start) Validate() error {
	c := checker{kind: TypeStart}
	c.attempt("", m.Job, m.Attempt)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *Void) Validate() error {
	c := checker{kind: TypeVoid}
	c.attempt("", m.Job, m.Attempt)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *ResultAck) Validate() error {
	c := checker{kind: TypeResultAck}
	c.attempt("", m.Job, m.Attempt)
	oneOf(&c, "verdict", m.Verdict, VerdictStored, VerdictDuplicate, VerdictFenced, VerdictCanceled)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *Cancel) Validate() error {
	c := checker{kind: TypeCancel}
	c.attempt("", m.Job, m.Attempt)
	c.within("grace_ms", m.GraceMs, 0, maxGraceMs)
	return c.err()
}

// Validate cleans and checks; see Hello.Validate.
func (m *LogRequest) Validate() error {
	c := checker{kind: TypeLogRequest}
	c.attempt("", m.Job, m.Attempt)
	oneOf(&c, "stream", m.Stream, LogOutput)
	c.within("offset", m.Offset, 0, MaxInteger-MaxLog)
	c.within("max", m.Max, 1, MaxLog)
	return c.err()
}

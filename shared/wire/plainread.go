package wire

// plainReader is a body that can read itself, as the msgpack decoder would: of the
// messages of every job and heartbeat, which cost the decoder's reflection most. False:
// what is in it is not usual, and the decoder's work; what was read is worthless, and
// whether it is an error is not decided.
type plainReader interface{ readPlain(b RawBody) (ok bool) }

func (m *Accept) readPlain(b RawBody) bool { return readAttempt(b, &m.Job, &m.Attempt) }

func (m *Start) readPlain(b RawBody) bool { return readAttempt(b, &m.Job, &m.Attempt) }

// readAttempt reads a map of nothing but an attempt's name.
func readAttempt(b RawBody, job *string, attempt *int64) bool {
	c := cursor{b: b}
	for range c.keys() {
		switch string(c.key()) {
		case "job":
			*job = c.text()
		case "attempt":
			*attempt = c.integer()
		default:
			c.skip()
		}
	}
	return !c.odd
}

func (m *ResultAck) readPlain(b RawBody) bool {
	c := cursor{b: b}
	for range c.keys() {
		switch string(c.key()) {
		case "job":
			m.Job = c.text()
		case "attempt":
			m.Attempt = c.integer()
		case "verdict":
			m.Verdict = word(&c, VerdictStored)
		default:
			c.skip()
		}
	}
	return !c.odd
}

func (m *Result) readPlain(b RawBody) bool {
	c := cursor{b: b}
	for range c.keys() {
		switch string(c.key()) {
		case "job":
			m.Job = c.text()
		case "attempt":
			m.Attempt = c.integer()
		case "status":
			m.Status = word(&c, ResultSucceeded, ResultFailed)
		case "reason":
			m.Reason = c.text()
		case "detail":
			m.Detail = c.text()
		case "exit_code":
			code := c.integer()
			m.ExitCode = &code
		case "output":
			m.Output = c.bytes()
		case "head":
			m.Head = c.bytes()
		case "tail":
			m.Tail = c.bytes()
		case "log_bytes":
			m.LogBytes = c.integer()
		case "fetch_ms":
			m.FetchMs = c.integer()
		case "run_ms":
			m.RunMs = c.integer()
		case "outputs":
			c.odd = true // few results have files
		default:
			c.skip()
		}
	}
	return !c.odd
}

func (m *Heartbeat) readPlain(b RawBody) bool {
	c := cursor{b: b}
	for range c.keys() {
		switch string(c.key()) {
		case "accepting":
			m.Accepting = c.boolean()
		case "reason":
			m.Reason = c.text()
		case "running":
			m.Running = make([]RunningWork, c.items())
			for i := range m.Running {
				m.Running[i].read(&c)
			}
		case "spooled":
			m.Spooled = c.integer()
		case "health":
			m.Health.read(&c)
		case "load":
			m.LoadMilli = c.integer()
		case "memory":
			m.MemoryMiB = c.integer()
		case "round_trip":
			m.RoundTrip = c.integer()
		case "unsaved":
			m.Unsaved = c.boolean()
		case "at":
			m.At = c.integer()
		default:
			c.skip()
		}
	}
	return !c.odd
}

func (w *RunningWork) read(c *cursor) {
	for range c.keys() {
		switch string(c.key()) {
		case "job":
			w.Job = c.text()
		case "attempt":
			w.Attempt = c.integer()
		case "phase":
			w.Phase = word(c, PhaseRunning, PhaseAccepted)
		case "percent":
			w.Percent = c.integer()
		default:
			c.skip()
		}
	}
}

func (h *Health) read(c *cursor) {
	for range c.keys() {
		switch string(c.key()) {
		case "ok":
			h.OK = c.boolean()
		case "reasons":
			c.odd = true // few nodes are ill
		default:
			c.skip()
		}
	}
}

package nodecore

// Times of the lease as welcome tells them; the server owns them.
type Times struct {
	Heartbeat    Time
	Suspect      Time // without an acknowledgement for so long the link is dead
	RedialWindow Time
}

// Bounds on what a welcome may ask for, so that no server makes a node spin or
// fall silent.
const (
	minHeartbeat    = 50
	maxHeartbeat    = minute
	maxRedialWindow = 10 * minute
	unackedLimit    = 60 * second // without an accepted heartbeat: register again
)

// defaultTimes hold until the first welcome.
var defaultTimes = Times{Heartbeat: 10 * second, Suspect: 25 * second, RedialWindow: 5 * second}

func (t Times) bounded() Times {
	if t.Heartbeat <= 0 {
		t.Heartbeat = defaultTimes.Heartbeat
	}
	t.Heartbeat = min(max(t.Heartbeat, minHeartbeat), maxHeartbeat)
	t.Suspect = max(t.Suspect, 2*t.Heartbeat+t.Heartbeat/2)
	t.RedialWindow = min(max(t.RedialWindow, 0), maxRedialWindow)
	return t
}

// patience is how long a session lives without an acknowledged heartbeat.
func (t Times) patience() Time {
	return min(t.Suspect, max(unackedLimit, 2*t.Heartbeat+t.Heartbeat/2))
}

// linkState of the one connection that a node has at most.
type linkState uint8

const (
	linkDown     linkState = iota // waits for the next dial
	linkDialing                   // dial, TLS and upgrade are under way
	linkGreeting                  // hello is sent
	linkLive                      // welcome came
)

// keeper holds the session: it dials without end, and gives up what is dead.
type keeper struct {
	state    linkState
	conn     int64 // number of the newest connection
	at       Time  // down: dial then; dialing, greeting: give up then
	beatAt   Time  // send the next heartbeat
	ackBy    Time  // the session is dead then
	planned  Time  // the server asked for a new dial then; Never
	lastBeat Time
	asked    Time // the oldest heartbeat without an answer; Never: all have theirs
	trip     Time // how long the newest answer took; 0: this session has none
	chain    chain

	liveSince Time
	times     Times
	dice      *dice
	redial    redial

	dialTimeout, rpcTimeout Time
}

func newKeeper(cfg *Config, d *dice) keeper {
	return keeper{
		dialTimeout: cfg.DialTimeout, rpcTimeout: cfg.RPCTimeout, dice: d,
		redial: redial{dice: d, window: defaultTimes.RedialWindow}, times: defaultTimes, planned: Never,
		chain: chain{value: cfg.Chain, due: Never},
	}
}

// next is when advance has something to do.
func (k *keeper) next() Time {
	switch {
	case k.state == linkLive && k.chain.holds():
		return min(k.chain.nextLook(), k.ackBy, k.planned)
	case k.state == linkLive:
		return min(k.chain.nextLook(), k.beatAt, k.ackBy, k.planned)
	case k.state == linkDown && k.chain.writing():
		return Never
	}
	return k.at
}

func (k *keeper) live() bool             { return k.state == linkLive }
func (k *keeper) speaks(conn int64) bool { return k.state >= linkGreeting && conn == k.conn }

// advance does what time alone brings, but for the heartbeat.
func (k *keeper) advance(now Time, out *Effects) {
	k.chain.advance(now, out)
	switch {
	case k.state == linkDown && k.chain.writing():
	case k.state == linkDown && now >= k.at:
		k.dial(now, out)
	case k.state == linkDialing && now >= k.at:
		k.drop(now, "no answer to the dial in time", out)
	case k.state == linkGreeting && now >= k.at:
		k.drop(now, "no answer to hello in time", out)
	case k.state == linkLive && now >= k.ackBy:
		k.drop(now, "no heartbeat was acknowledged in time", out)
	case k.state == linkLive && now >= k.planned:
		k.drop(now, "the server asked for a new connection", out)
	}
}

func (k *keeper) dial(now Time, out *Effects) {
	k.conn++
	k.state, k.at = linkDialing, now+k.dialTimeout
	out.Dials = append(out.Dials, Dial{Conn: k.conn, Timeout: k.dialTimeout})
}

// dialed begins the greeting; hello is the caller's to send.
func (k *keeper) dialed(now Time, conn int64) bool {
	if k.state != linkDialing || conn != k.conn {
		return false
	}
	k.state, k.at = linkGreeting, now+k.rpcTimeout
	return true
}

func (k *keeper) welcomed(now Time, times Times) {
	k.state, k.liveSince = linkLive, now
	k.times = times.bounded()
	k.redial.window = k.times.RedialWindow
	k.beatAt, k.lastBeat, k.ackBy = now, now, now+k.times.patience()
	k.asked, k.trip = Never, 0
}

func (k *keeper) acknowledged(now Time) {
	k.ackBy = now + k.times.patience()
	if k.asked != Never {
		k.asked, k.trip = Never, max(1, now-k.asked)
	}
}

// replan notes the server's wish for a new dial; the earliest one holds.
func (k *keeper) replan(now, delay Time) {
	k.planned = min(k.planned, now+bounded(delay))
}

// beat reports whether a heartbeat is due, and sets the time of the next one.
func (k *keeper) beat(now Time) bool {
	if k.state != linkLive || now < k.beatAt || k.chain.holds() {
		return false
	}
	k.lastBeat, k.beatAt = now, now+k.dice.around(k.times.Heartbeat)
	k.asked = min(k.asked, now)
	return true
}

// hurry brings the next heartbeat forward, a tenth of the usual distance from the
// last one at least.
func (k *keeper) hurry(now Time) {
	k.beatAt = min(k.beatAt, max(now, k.lastBeat+k.times.Heartbeat/10))
}

// drop hangs up by our own decision.
func (k *keeper) drop(now Time, why string, out *Effects) {
	k.hangUp(false, why, out)
	out.note("connection given up: " + why)
	k.lost(now, 0)
}

// hangUp ends the connection. A dial that was asked for by the same event is taken
// back instead: hangups are carried out before dials.
func (k *keeper) hangUp(gently bool, why string, out *Effects) {
	if last := len(out.Dials) - 1; last >= 0 && out.Dials[last].Conn == k.conn {
		out.Dials = out.Dials[:last]
		return
	}
	out.Hangups = append(out.Hangups, Hangup{Conn: k.conn, Gently: gently, Why: why})
}

// renew ends the connection gently and dials anew at once.
func (k *keeper) renew(now Time, why string, out *Effects) {
	k.hangUp(k.live(), why, out)
	out.note("connection ended for a new one: " + why)
	k.lost(now, 0)
	k.at = now
}

// lost plans the next dial, after the floor at the earliest.
func (k *keeper) lost(now, floor Time) {
	if k.state == linkLive {
		k.redial.lived(now - k.liveSince)
	}
	k.state = linkDown
	k.chain.drop()
	if k.planned != Never && floor <= 0 {
		k.at = max(now, k.planned)
	} else {
		k.at = now + k.redial.wait(floor)
	}
	k.planned = Never
}

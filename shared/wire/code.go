package wire

import (
	"strconv"
	"time"
)

// CloseCode is the status of a WebSocket's end.
type CloseCode int

// The codes with which a session ends.
const (
	CloseNormal        CloseCode = 1000
	CloseShutdown      CloseCode = 1001 // a planned stop of this side
	CloseProtocol      CloseCode = 1002 // not WebSocket as it should be
	CloseText          CloseCode = 1003 // a text frame
	CloseTooBig        CloseCode = 1009
	CloseRestart       CloseCode = 4000
	CloseHelloTimeout  CloseCode = 4001
	CloseBadMessage    CloseCode = 4002
	CloseRevoked       CloseCode = 4003
	CloseVersion       CloseCode = 4005
	CloseLicenseLimit  CloseCode = 4006
	CloseRateLimited   CloseCode = 4007
	CloseSuperseded    CloseCode = 4008
	CloseSlowConsumer  CloseCode = 4009
	CloseDuplicateNode CloseCode = 4010
)

// closeRule is what a close code means: in words, and for the next dial.
type closeRule struct {
	words string
	wait  time.Duration
}

var closeRules = map[CloseCode]closeRule{
	CloseNormal:        {"normal end", 0},
	CloseShutdown:      {"shutdown", 0},
	CloseProtocol:      {"protocol error", 0},
	CloseText:          {"text frame", 0},
	CloseTooBig:        {"frame too big", 0},
	CloseRestart:       {"restart", 0},
	CloseHelloTimeout:  {"hello timeout", 0},
	CloseBadMessage:    {"bad message", 0},
	CloseRevoked:       {"revoked", time.Hour},
	CloseVersion:       {"version unsupported", 10 * time.Minute},
	CloseLicenseLimit:  {"license limit", 10 * time.Minute},
	CloseRateLimited:   {"rate limited", 0},
	CloseSuperseded:    {"superseded", time.Minute},
	CloseSlowConsumer:  {"slow consumer", 0},
	CloseDuplicateNode: {"duplicate identity", time.Minute},
}

// String gives number and words: "4003 revoked".
func (c CloseCode) String() string {
	number := strconv.Itoa(int(c))
	if rule, ok := closeRules[c]; ok {
		return number + " " + rule.words
	}
	return number
}

// RetryAfter is the least wait before an agent dials again after this code; 0
// leaves it to the usual backoff. Redialing is never given up, and a close never
// causes a new enrollment by itself.
func (c CloseCode) RetryAfter() time.Duration { return closeRules[c].wait }

// Codes of refused and error that both sides of the channel act on. They are the
// codes of REST; the whole table stands with the control plane.
const (
	CodeUnknownType    = "unknown_type"
	CodeBadMessage     = "bad_message"
	CodeOutOfOrder     = "out_of_order"
	CodeNotYours       = "not_yours"
	CodeRateLimited    = "rate_limited"
	CodeVersion        = "version_unsupported"
	CodeNodeIDTaken    = "node_id_taken"
	CodeLicenseLimit   = "license_limit"
	CodeLicenseRefused = "license_refused"
	CodeUnavailable    = "unavailable"
	CodeDuplicate      = "duplicate_identity"
	CodeSecretRefused  = "unauthenticated" // replaced or revoked between upgrade and hello
)

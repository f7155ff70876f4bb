package agent

import (
	"net/http"
	"strconv"
	"time"

	"rockpool/agent/internal/link"
	"rockpool/agent/internal/local"
	"rockpool/shared/wire"
)

// What a person is to do about a refusal.
const (
	duplicateAdvice = "this node's identity is used by another machine too: an operator chooses which one keeps it (rockpool node repair); " +
		"remove the state directory of the other one, which registers as a new node then"
	versionAdvice = "this agent and the control plane speak no common protocol: upgrade the older one; it is retried in minutes"
	secretAdvice  = "this node's secret is not accepted any more: it was replaced, or the node was revoked; remove this state directory if it is a copy of " +
		"another one's, else join anew with a fresh state directory (rockpool-agent join); it is retried in minutes, and never enrolled anew by itself"
	credentialAdvice = "the control plane refuses this node's credential: it is retried in minutes, and never enrolled anew by itself"
)

// helloAdvice is the advice by the code with which a hello is refused.
var helloAdvice = map[string]string{wire.CodeDuplicate: duplicateAdvice, wire.CodeSecretRefused: secretAdvice}

// refusalOf is what the end of a connection says against this node; without a code:
// nothing.
func refusalOf(e link.Closed, registered bool) local.Refusal {
	r := local.Refusal{Detail: e.Err.Error()}
	switch {
	case e.Code == wire.CloseDuplicateNode:
		r.Code, r.Advice = wire.CodeDuplicate, duplicateAdvice
	case e.Code == wire.CloseVersion:
		r.Code, r.Advice = wire.CodeVersion, versionAdvice
	case e.Code.RetryAfter() > 0:
		r.Code = e.Code.String()
	case e.Status == http.StatusUnauthorized && registered:
		r.Code, r.Advice = strconv.Itoa(e.Status), secretAdvice
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		r.Code, r.Advice = strconv.Itoa(e.Status), credentialAdvice
	case e.Status >= http.StatusBadRequest:
		r.Code = strconv.Itoa(e.Status)
	}
	return r
}

// refuse keeps what the control plane has against this node until it welcomes it,
// and marks what takes a person to change.
func (l *loop) refuse(r local.Refusal) {
	r.Since = time.Now().Round(time.Millisecond)
	if l.refusal != nil && l.refusal.Code == r.Code {
		r.Since = l.refusal.Since
	}
	l.refusal = &r
	if r.Advice != "" {
		l.log.Error(r.Advice, "code", r.Code, "reason", r.Detail, "process", local.Short(l.hello.BootID), "machine", local.Short(l.hello.MachineID))
	}
}

// lost notes why there is no connection.
func (l *loop) lost(e link.Closed) {
	r := refusalOf(e, l.id.Record().Registered())
	if r.Code != "" {
		l.refuse(r)
	}
	if r.Advice == "" {
		l.log.Info("no connection", "reason", e.Err)
	}
}
